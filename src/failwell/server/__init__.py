"""For server authors: guards, protection of whole servers, contracts, groups of actions, limits."""

from failwell._lazy import TYPE_CHECKING
from failwell._lazy import exports as _exports

if TYPE_CHECKING:
    from failwell.schema.validator import Checker
    from failwell.server._contract import BrokenContract, declared, enforce, raises
    from failwell.server._group import Group
    from failwell.server._guard import guard
    from failwell.server._limit import Limit
    from failwell.server._protection import Protection, protect

__all__ = [
    "BrokenContract",
    "Checker",
    "Group",
    "Limit",
    "Protection",
    "declared",
    "enforce",
    "guard",
    "protect",
    "raises",
]

__getattr__, __dir__ = _exports(
    __name__,
    {
        "failwell.schema.validator": "Checker",
        "_contract": "BrokenContract declared enforce raises",
        "_group": "Group",
        "_guard": "guard",
        "_limit": "Limit",
        "_protection": "Protection protect",
    },
)
