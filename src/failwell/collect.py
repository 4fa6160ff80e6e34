"""`Validation`: gather every problem with the arguments before raising."""

from collections.abc import Iterable
from typing import Any, Self

from msgspec import UNSET

from failwell.errors import Invalid
from failwell.failure import Failure, FieldProblem, as_tuple, summary


class Validation:
    """Collects field problems of one call, then raises them all at once.

    ```python
    problems = Validation(tool="claim_task")
    if not task_id:
        problems.add("task_id", task_id, "task_id is required and must be a string", required=True)
    problems.raise_if_any()
    ```
    """

    def __init__(self, *, tool: str | None = None, action: str | None = None) -> None:
        self.tool = tool
        self.action = action
        self._problems: list[FieldProblem] = []

    def add(
        self,
        path: str,
        sent: Any = UNSET,
        message: str | None = None,
        *,
        required: bool | None = None,
        kind: str | None = None,
        expected: str | None = None,
        options: Iterable[Any] = (),
        did_you_mean: str | None = None,
    ) -> Self:
        """Note a problem with one field: its path, what was sent, what is wrong with it. Returns itself."""
        problem = FieldProblem(
            path=path,
            sent=sent,
            message=message or "",
            required=required,
            kind=kind,
            expected=expected,
            options=as_tuple("options", options),
            did_you_mean=did_you_mean,
        )
        self._problems.append(problem)
        return self

    def __bool__(self) -> bool:
        """Whether any problem was noted."""
        return bool(self._problems)

    @property
    def failure(self) -> Failure | None:
        """The failure that holds all problems, or None if there are none."""
        return invalid(self._problems, tool=self.tool, action=self.action) if self._problems else None

    def raise_if_any(self) -> None:
        """Raise the problems noted so far, or do nothing.

        Raises:
            Invalid: a problem was noted.
        """
        if failure := self.failure:
            raise Invalid(failure)


def invalid(problems: Iterable[FieldProblem], *, tool: str | None = None, action: str | None = None) -> Failure:
    """Return the failure of a call whose arguments have these problems."""
    problems = tuple(problems)
    return Failure(code="VALIDATION_FAILED", message=summary(problems), fields=problems, tool=tool, action=action)
