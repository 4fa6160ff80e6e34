"""`ProxyEvent`: what the proxy saw or did."""

from typing import Any, Literal

from msgspec import Struct

from failwell.event import CallArguments
from failwell.failure import Failure

EventKind = Literal[
    "started",
    "success",
    "failure",
    "unflagged",
    "flipped",
    "refused",
    "retry",
    "recovered",
    "died",
    "restarted",
    "dropped",
]


class ProxyEvent(Struct, frozen=True):
    """What the proxy saw or did.

    `failure`: a failing answer. `unflagged`: an error text called a success. `flipped`: the same, made an error.
    `refused`: a call that did not reach the server. `retry`: a call made again after `delay`. `recovered`: a call that
    succeeded after a retry. `died`, `restarted`: the server. `dropped`: a line that no client could have used. Only
    where records are kept: `started`, the client made a call; `success`, it succeeded.

    `call` is the id of a call in its `session`; `hints` say whether its tool may run twice, `sent` identifies equal
    calls.
    """

    kind: EventKind
    tool: str | None = None
    failure: Failure | None = None
    details: dict[str, Any] = {}
    call: Any = None
    session: str = ""
    hints: Any = None
    sent: CallArguments | None = None
