"""`Call`: one tool call, what is known of its tool, and how its tries end."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, cast

from failwell.client.descriptions import Describe, Described
from failwell.decision import Hints
from failwell.dialects import whole
from failwell.failure import Failure
from failwell.json_types import is_object
from failwell.reader import attempts_below, read, returned_failure
from failwell.retry import marks

_log = logging.getLogger("failwell")


class Tried(NamedTuple):
    """How one try ended; without a failure it succeeded."""

    result: Any = None
    exception: Exception | None = None
    failure: Failure | None = None
    attempts_below: int = 0


class Ended(NamedTuple):
    """What one try gave or raised."""

    result: Any = None
    exception: Exception | None = None


async def ended(make: Callable[[dict[str, Any]], Awaitable[Any]], arguments: dict[str, Any]) -> Ended:
    """Make a call once and return how it ended; cancellation passes."""
    try:
        return Ended(await make(arguments))
    except Exception as exc:
        return Ended(None, exc)


class Call:
    """A call that can be made several times. The tool's description is looked up once a failure makes it matter."""

    def __init__(
        self,
        make: Callable[[dict[str, Any]], Awaitable[Any]],
        *,
        tool: str,
        arguments: dict[str, Any],
        described: Any,
        is_trusted: Callable[[], bool],
        wants_schema: bool,
        dialect: str | None,
        unflagged: bool,
        marks_before: int,
    ) -> None:
        self._make = make
        self.tool = tool
        self.arguments = arguments
        self.described = Described()
        self.hints = Hints()
        self._description = described
        self._is_trusted = is_trusted
        self._wants_schema = wants_schema
        self._dialect = dialect
        self._unflagged = unflagged
        self._marks_before = marks_before

    async def attempt(self, arguments: dict[str, Any]) -> Tried:
        """Make the call once."""
        return await self.understood(await ended(self._make, arguments), arguments)

    async def understood(self, end: Ended, arguments: dict[str, Any]) -> Tried:
        """Return what it means that a try ended like this."""
        result, exception = end
        if exception is not None:
            below = 2 if marks.is_marked(exception, since=self._marks_before) else 0
            return Tried(None, exception, await self._failure_in(exception, arguments), below)
        if self._dialect is None and not self._unflagged and not is_failed(result):
            return Tried(result)
        failure = await self._failure_in(result, arguments)
        return Tried(result, None, failure, attempts_below(result) if failure else 0)

    async def _failure_in(self, what: Any, arguments: dict[str, Any]) -> Failure | None:
        """Return the failure in a result or an exception, read with what is known of the tool if that matters."""
        failure = self._read(what, arguments)
        if failure is None or self._description is None or not self._matters_for(failure):
            return failure
        await self._look_up()
        return self._read(what, arguments) if failure.origin == "inferred" else failure

    def _matters_for(self, failure: Failure) -> bool:
        if self._wants_schema and failure.type == "VALIDATION":
            return True
        return failure.origin == "inferred" or failure.retryable is not False

    async def _look_up(self) -> None:
        description, self._description = self._description, None
        try:
            found = Described.of(await cast(Describe, description)() if callable(description) else description)
            self.described = found if self._is_trusted() else Described(None, found.input_schema)
            self.hints = Hints.of(self.described.annotations)
        except Exception:
            _log.exception("the description of a tool could not be read, so nothing is known of it")

    def _read(self, what: Any, arguments: dict[str, Any]) -> Failure | None:
        failure: Failure | None = read(
            what,
            tool=self.tool or None,
            arguments=arguments,
            input_schema=self.described.input_schema,
            annotations=self.described.annotations,
            dialect=self._dialect,
            unflagged=self._unflagged,
        )
        return failure


def is_failed(result: Any) -> bool:
    """Return whether a result says that it is a failure. Most say at once that they are none."""
    fields: Any = result if is_object(result) else getattr(result, "__dict__", None)
    if fields is None:
        return returned_failure(result) is not None
    flag = fields.get("is_error", fields.get("isError"))
    meta = fields.get("meta")
    if flag is False and (not meta or whole.META_KEY not in meta) and "_meta" not in fields:
        return False
    return flag is True or returned_failure(result) is not None
