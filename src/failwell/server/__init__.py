"""For server authors: guards, protection of whole servers, contracts, groups of actions, limits, idempotency."""

from failwell._lazy import TYPE_CHECKING
from failwell._lazy import exports as _exports

if TYPE_CHECKING:
    from failwell.schema.validator import Checker
    from failwell.server._claims import ClaimStore, MemoryClaims, open_claims
    from failwell.server._contract import BrokenContract, declared, enforce, raises
    from failwell.server._group import Group
    from failwell.server._guard import guard
    from failwell.server._idempotency import Claim, Idempotency, Resolution, current_claim, idempotent, verified_by
    from failwell.server._limit import Limit
    from failwell.server._protection import Protection, protect

__all__ = [
    "BrokenContract",
    "Checker",
    "Claim",
    "ClaimStore",
    "Group",
    "Idempotency",
    "Limit",
    "MemoryClaims",
    "Protection",
    "Resolution",
    "current_claim",
    "declared",
    "enforce",
    "guard",
    "idempotent",
    "open_claims",
    "protect",
    "raises",
    "verified_by",
]

__getattr__, __dir__ = _exports(
    __name__,
    {
        "failwell.schema.validator": "Checker",
        "_claims": "ClaimStore MemoryClaims open_claims",
        "_contract": "BrokenContract declared enforce raises",
        "_group": "Group",
        "_guard": "guard",
        "_idempotency": "Claim Idempotency Resolution current_claim idempotent verified_by",
        "_limit": "Limit",
        "_protection": "Protection protect",
    },
)
