"""`Happening`: what the proxy saw or did."""

from typing import Any, Literal

from msgspec import Struct

from failwell.event import CallArguments
from failwell.failure import Failure

Kind = Literal[
    "begun",
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


class Happening(Struct, frozen=True):
    """What the proxy saw or did.

    `failure`: a failing answer. `unflagged`: an error text called a success. `flipped`: the same, made an error.
    `refused`: a call that did not reach the server. `retry`: a call made again after `delay`. `recovered`: a call that
    succeeded after a retry. `died`, `restarted`: the server. `dropped`: a line that nobody could have used. Only where
    somebody keeps records: `begun`, a call came; `success`, it succeeded.

    `call` is the id of a call in its `session`; `hints` say whether its tool may run twice, `sent` tells equal calls.
    """

    event: Kind
    tool: str | None = None
    failure: Failure | None = None
    details: dict[str, Any] = {}
    call: Any = None
    session: str = ""
    hints: Any = None
    sent: CallArguments | None = None
