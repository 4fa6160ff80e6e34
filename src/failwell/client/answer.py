"""`Answer`: how a tool call ended, for the application and for the model."""

import json
from typing import Any

from msgspec import Struct

from failwell.decision import Hints
from failwell.failure import Failure
from failwell.outgoing import canonical
from failwell.rendering import render
from failwell.repairing import Repair


class Answer(Struct, frozen=True, kw_only=True):
    """How a tool call ended after all tries.

    Without a failure, `result` is what the last try returned, untouched. With one, `result` or `exception` is how the
    last try ended, if there was any. Where `is_fallback` is true, `result` is what the fallback gave: the tool failed.
    `repaired` says how the arguments were corrected, whether that helped or not. `attempts` counts all calls made.
    """

    result: Any = None
    exception: Exception | None = None
    failure: Failure | None = None
    attempts: int = 1
    is_fallback: bool = False
    repaired: Repair | None = None
    hints: Hints = Hints()

    @property
    def text(self) -> str:
        """The failure as one text for a model, with one next step; empty without a failure."""
        if self.failure is None:
            return ""
        return render(self.failure, self.hints, attempt=max(self.attempts, 1))

    @property
    def shown(self) -> str:
        """What a model may see in place of a result: the failure, or what the fallback gave and that it is one."""
        if not self.is_fallback:
            return self.text
        value = (
            self.result if isinstance(self.result, str) else json.dumps(self.result, ensure_ascii=False, default=str)
        )
        return f"{self.note}\n{value}"

    @property
    def note(self) -> str:
        """One line that says a fallback stands in for the tool; empty without one."""
        if self.failure is None or not self.is_fallback:
            return ""
        failure = canonical(self.failure)
        reason = failure.code or failure.type
        return f"{failure.tool or 'The tool'} failed ({reason}). This is a fallback and not its result:"
