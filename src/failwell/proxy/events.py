"""`Happening`: what the proxy saw or did; and `Log`, a file with one line of JSON for each."""

import os
import time
from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from failwell.dialects import whole
from failwell.failure import Failure
from failwell.outgoing import canonical, json_safe

Kind = Literal["failure", "unflagged", "flipped", "refused", "retry", "recovered", "died", "restarted", "dropped"]


class Happening(Struct, frozen=True):
    """What the proxy saw or did.

    `failure`: a failing answer. `unflagged`: an error text called a success. `flipped`: the same, made an error.
    `refused`: a call that did not reach the server. `retry`: a call made again after `delay`. `recovered`: a call that
    succeeded after a retry. `died`, `restarted`: the server. `dropped`: a line that nobody could have used.
    """

    event: Kind
    tool: str | None = None
    failure: Failure | None = None
    details: dict[str, Any] = {}


class Log:
    """Appends happenings to an open file, one JSON object a line, redacted. A full disk stops the log, nothing else."""

    def __init__(self, file: int, *, dry_run: bool = False, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._dry_run = dry_run
        self._clock = clock

    def __call__(self, happening: Happening) -> None:
        """Append one line."""
        try:
            os.write(self._file, msgspec.json.encode(self._entry(happening)) + b"\n")
        except OSError:
            return

    def _entry(self, happening: Happening) -> dict[str, Any]:
        now = self._clock()
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
        entry: dict[str, Any] = {"time": moment, "event": happening.event}
        if self._dry_run:
            entry["dry_run"] = True
        if happening.tool is not None:
            entry["tool"] = json_safe(happening.tool)
        entry.update(json_safe(happening.details))
        if happening.failure is not None:
            entry["failure"] = whole.write(canonical(happening.failure))
        return entry
