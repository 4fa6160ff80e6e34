"""`Caller`: makes tool calls as its configuration says, and returns a `CallResult` for each."""

import inspect
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, NamedTuple, TypedDict, cast

from msgspec import Struct
from msgspec.structs import replace

from failwell._automatic import is_automatic
from failwell._json import is_object
from failwell._log import log
from failwell.advice import Hints
from failwell.client._tool_list import Describe, Pins, ToolDescription, narrowed
from failwell.dialects._placement import META_KEY
from failwell.failure import Failure, is_certain
from failwell.reading.reader import attempts_below, read, returned_failure
from failwell.redact.canonical import canonical
from failwell.renderer import render
from failwell.retry import Limits, Policy, Run, Shared, _environment, _layers
from failwell.retry._engine import Hook
from failwell.retry._layers import is_retrying, report_to_outer_layer
from failwell.schema.repair import Repair, repair

Fallback = Callable[[Failure, dict[str, Any]], Any]
"""Takes the failure and the arguments; returns a value, or an awaitable that gives one."""

Trust = bool | Collection[str] | Callable[[str], bool]
"""Whose descriptions of tools to believe: all, none, those of servers named, or those it returns true for."""

_DEFAULT = Policy()
_SURE_ENOUGH = 0.7  # the confidence of a repair
_NO_EFFECT = ("not_executed", "rejected")
# Whatever the input, the tool cannot do its work. The others are answers: the agent corrects its call or its plan.
_UNABLE = ("TRANSIENT", "INTERNAL", "PERMISSION")


class CallResult(Struct, frozen=True, kw_only=True):
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
    def model_text(self) -> str:
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


class Attempt(NamedTuple):
    """How one try ended, understood: without a failure it succeeded."""

    result: Any = None
    exception: Exception | None = None
    failure: Failure | None = None
    attempts_below: int = 0


class RawAttempt(NamedTuple):
    """What one try returned or raised."""

    result: Any = None
    exception: Exception | None = None


async def attempt_once(make: Callable[[dict[str, Any]], Awaitable[Any]], arguments: dict[str, Any]) -> RawAttempt:
    """Make a call once and return how it ended; cancellation passes."""
    try:
        return RawAttempt(await make(arguments))
    except Exception as exc:
        return RawAttempt(None, exc)


class ToolCall:
    """A call that can be made several times.

    The tool's description is looked up when a failure makes it matter, after each try anew: what it promised before the
    first one may be taken back, and nothing is added.
    """

    def __init__(
        self,
        make: Callable[[dict[str, Any]], Awaitable[Any]],
        *,
        tool: str,
        arguments: dict[str, Any],
        description: Any,
        pin: Callable[[ToolDescription], ToolDescription],
        is_trusted: Callable[[], bool],
        wants_schema: bool,
        dialect: str | None,
        unflagged: bool,
        marks_before: int,
    ) -> None:
        self._make = make
        self.tool = tool
        self.arguments = arguments
        self.description = ToolDescription()
        self.hints = Hints()
        self._describe = description
        self._is_described = False
        self._pin = pin
        self._is_trusted = is_trusted
        self._wants_schema = wants_schema
        self._dialect = dialect
        self._unflagged = unflagged
        self._marks_before = marks_before

    async def attempt(self, arguments: dict[str, Any]) -> Attempt:
        """Make the call once."""
        return await self.interpret(await attempt_once(self._make, arguments), arguments)

    async def interpret(self, end: RawAttempt, arguments: dict[str, Any]) -> Attempt:
        """Return what it means that a try ended like this."""
        result, exception = end
        if exception is not None:
            below = 2 if _layers.is_marked(exception, since=self._marks_before) else 0
            return Attempt(None, exception, await self._failure_in(exception, arguments), below)
        reads_successes = (self._dialect is not None or self._unflagged) and is_automatic()
        if not reads_successes and not is_failed(result):
            return Attempt(result)
        failure = await self._failure_in(result, arguments)
        return Attempt(result, None, failure, attempts_below(result) if failure else 0)

    async def _failure_in(self, what: Any, arguments: dict[str, Any]) -> Failure | None:
        """Return the failure in a result or an exception, read with what is known of the tool if that matters."""
        failure = self._read(what, arguments)
        if failure is None or self._describe is None or not self._matters_for(failure):
            return failure
        await self._look_up()
        return failure if is_certain(failure) else self._read(what, arguments)

    def _matters_for(self, failure: Failure) -> bool:
        if self._wants_schema and failure.type == "VALIDATION":
            return True
        return not is_certain(failure) or failure.retryable is not False

    async def _look_up(self) -> None:
        describe = self._describe
        if not callable(describe):
            self._describe = None
        try:
            found = ToolDescription.of(await cast(Describe, describe)() if callable(describe) else describe)
            found = found if found.is_pinned else self._pin(found)
            self.description = found if self._is_trusted() else replace(found, annotations=None)
            hints = Hints.of(self.description.annotations)
            self.hints = narrowed(self.hints, hints) if self._is_described else hints
            self._is_described = True
        except Exception:
            log.exception("the description of a tool could not be read, so nothing is known of it")

    def _read(self, what: Any, arguments: dict[str, Any]) -> Failure | None:
        failure: Failure | None = read(
            what,
            tool=self.tool or None,
            arguments=arguments,
            input_schema=self.description.input_schema,
            annotations=self.description.annotations,
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
    if flag is False and (not meta or META_KEY not in meta) and "_meta" not in fields:
        return False
    return flag is True or returned_failure(result) is not None


class CallerOptions(TypedDict, total=False):
    """What `Caller` takes beside a policy."""

    shared: Shared | None
    limits: Limits | str | None
    hook: Hook | None
    repair: bool
    fallbacks: Mapping[str, Fallback] | None
    trust: Trust
    dialect: str | None
    unflagged: bool
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]
    chance: Callable[[], float]


class Caller:
    """Calls tools: reads how a call ended, tries again where that is safe, and says how it ended after all.

    Share one between tasks and threads: it holds its configuration, and what retries of many calls have in common.

    Args:
        policy: how often and how long.
        shared: budget, breaker and repeats, to share them with other callers.
        limits: the URL of a Redis or Valkey that holds them for many processes, or a `FleetLimits`; *shared* has their
            figures, and takes over while it is away; callers with the same URL and figures have all that in common.
        hook: told an `Event` after each try.
        repair: make one corrected call if the arguments were wrong and what is right follows from error and schema.
        fallbacks: by tool, a function of the failure and the arguments that gives something in place of the result.
        trust: whether to believe what servers say of their tools: all, none, those named, or those it returns true for.
        dialect: what the servers are known to speak, if it does not flag errors.
        unflagged: look for failures in results that are not flagged as errors too.
        clock: tells seconds.
        sleep: waits.
        chance: gives a number from 0 to 1.
    """

    def __init__(
        self,
        policy: Policy = _DEFAULT,
        *,
        shared: Shared | None = None,
        limits: Limits | str | None = None,
        hook: Hook | None = None,
        repair: bool = False,
        fallbacks: Mapping[str, Fallback] | None = None,
        trust: Trust = True,
        dialect: str | None = None,
        unflagged: bool = False,
        clock: Callable[[], float] = _environment.clock,
        sleep: Callable[[float], Awaitable[object]] = _environment.asleep,
        chance: Callable[[], float] = _environment.chance,
    ) -> None:
        self.policy = policy
        self.shared = limits_of(limits, shared)
        self.hook = hook
        self.repair = repair
        self.fallbacks = dict(fallbacks or {})
        self.trust = trust
        self.dialect = dialect
        self.unflagged = unflagged
        self._reads_successes = unflagged or dialect is not None
        self.clock = clock
        self.sleep = sleep
        self.chance = chance
        self._pins = Pins()

    async def run(
        self,
        make_call: Callable[[dict[str, Any]], Awaitable[Any]],
        *,
        server: str = "",
        tool: str,
        arguments: dict[str, Any] | None = None,
        description: Any = None,
    ) -> CallResult:
        """Make a call until it succeeds or another try is not worth it or not safe. Cancellation passes at once.

        Inside another retried call it is made once: who retries further out also repairs and falls back.

        Args:
            make_call: makes one call with the arguments it is given; returns its result or raises.
            server: whose budget a retry is paid from.
            tool: which tool it is.
            arguments: what it is called with.
            description: the tool's annotations and input schema, an SDK's description of the tool, or an async function
                that gives one; it is called only after a failure that it matters for. What it promises counts from
                the first time on, for this server and tool: later it may promise less, and not more.
        """
        arguments = {} if arguments is None else arguments
        marks_before = _layers.latest
        if is_retrying.get():
            call = self._call(make_call, server, tool, arguments, description, marks_before)
            call_result = _call_result(call, await call.attempt(arguments), attempts=1)
            if call_result.failure:
                report_to_outer_layer(call_result.failure)
            return call_result
        started = self.clock()
        layer: list[str | Failure] = ["under way"]
        token = is_retrying.set(layer)
        try:
            first: RawAttempt | None = None
            if self._success_changes_nothing:  # most calls succeed, and then there is nothing to decide
                first = await attempt_once(make_call, arguments)
                if first.exception is None and not self._reads_successes and not is_failed(first.result):
                    return CallResult(result=first.result)
            call = self._call(make_call, server, tool, arguments, description, marks_before)
            run = Run(self.policy, self.shared, server, tool, arguments, None, self.hook, started)
            attempt = await self._attempt_until_settled(call, run, first)
            call_result = _call_result(call, attempt, attempts=run.attempt)
            if call_result.failure and self.repair and is_automatic():
                call_result = await self._repair(call, run, call_result, call_result.failure)
        finally:
            layer.clear()
            is_retrying.reset(token)
        if call_result.exception and call_result.attempts > 1:
            _layers.mark(call_result.exception)
        if call_result.failure and tool in self.fallbacks and is_automatic():
            return await self._fall_back(call, run, call_result, call_result.failure)
        return call_result

    @property
    def _success_changes_nothing(self) -> bool:
        """Whether a success would change nothing, and there is no hook to tell."""
        one, other, third = self.shared.failure_state
        return self.hook is None and not (one or other or third)

    def _call(
        self,
        make_call: Callable[[dict[str, Any]], Awaitable[Any]],
        server: str,
        tool: str,
        arguments: dict[str, Any],
        description: Any,
        marks_before: int,
    ) -> ToolCall:
        return ToolCall(
            make_call,
            tool=tool,
            arguments=arguments,
            description=description,
            pin=lambda said: self._pins.pin((server, tool), said),
            is_trusted=lambda: self._trusts(server),
            wants_schema=self.repair,
            dialect=self.dialect,
            unflagged=self.unflagged,
            marks_before=marks_before,
        )

    async def _attempt_until_settled(self, call: ToolCall, run: Run, first: RawAttempt | None) -> Attempt:
        """Return how the last try ended, or the refusal of an open breaker if none was made."""
        last: Attempt | None = None
        refusal: Failure | None = None
        if first is not None:
            run.attempt = 1
        while first or not (refusal := await run.abegin(self.clock())):
            try:
                last = await (call.interpret(first, call.arguments) if first else call.attempt(call.arguments))
            except BaseException:
                run.cancelled()
                raise
            first = None
            if last.failure is None:
                run.succeeded(self.clock())
                return last
            run.hints = call.hints
            decision = await run.afailed(
                last.failure, self.clock(), jitter=self.chance(), retried_below=last.attempts_below > 1
            )
            last = last._replace(failure=run.last)
            if decision.retry_delay is None:
                return last
            await self.sleep(decision.retry_delay)
        return last or Attempt(failure=refusal)

    async def _repair(self, call: ToolCall, run: Run, call_result: CallResult, failure: Failure) -> CallResult:
        """Return how one corrected call ended, or the result so far if there is none to make or it helped nothing."""
        repeatable = call.hints.repeatable or self.policy.repeatable
        if failure.type != "VALIDATION" or not (repeatable or _had_no_effect(failure)):
            return call_result
        if call.description.has_new_schema:
            return call_result
        found = repair(failure, call.arguments, call.description.input_schema)
        if found is None or found.confidence < _SURE_ENOUGH:
            return call_result
        attempt = await call.attempt(found.arguments)
        if attempt.failure:
            attempt = attempt._replace(failure=run.with_gravest_outcome(attempt.failure))
        run.follow_up(self.clock(), "repaired", attempt.failure, reason=_summary(found))
        attempts = call_result.attempts + 1
        still_wrong = attempt.failure is not None and attempt.failure.type == "VALIDATION"
        if attempt.failure and still_wrong and (repeatable or _had_no_effect(attempt.failure)):
            # The model knows the arguments it sent itself.
            return _call_result(
                call, Attempt(call_result.result, call_result.exception, failure), attempts=attempts, repaired=found
            )
        return _call_result(call, attempt, attempts=attempts, repaired=found)

    async def _fall_back(self, call: ToolCall, run: Run, call_result: CallResult, failure: Failure) -> CallResult:
        repeatable = call.hints.repeatable or self.policy.repeatable
        if not is_fallback_due(failure, repeatable=repeatable):
            return call_result
        try:
            value = self.fallbacks[call.tool](failure, call.arguments)
            if inspect.isawaitable(value):
                value = await value
        except Exception:
            log.exception("the fallback of a tool failed, so the tool's own failure stands")
            return call_result
        run.follow_up(self.clock(), "fallback", failure, reason="the fallback answered in place of the tool")
        return CallResult(
            result=value,
            exception=call_result.exception,
            failure=failure,
            attempts=call_result.attempts,
            is_fallback=True,
            repaired=call_result.repaired,
            hints=call_result.hints,
        )

    def _trusts(self, server: str) -> bool:
        if isinstance(self.trust, bool):
            return self.trust
        if not callable(self.trust):
            return server in self.trust
        try:
            return self.trust(server) is True
        except Exception:
            log.exception("nobody could say whether a server is trusted, so it is not")
            return False


def is_fallback_due(failure: Failure, *, repeatable: bool) -> bool:
    """Return whether something may stand in for the tool; *repeatable* says that it does no harm if it ran as well."""
    if failure.type not in _UNABLE or failure.severity == "warning" or failure.outcome == "executed":
        return False
    return repeatable or (failure.outcome != "unknown" and is_certain(failure))


def limits_of(limits: Limits | str | None, shared: Shared | None) -> Limits:
    """Return what calls share: in this process, or in many if the limits are somewhere else."""
    if isinstance(limits, str):
        from failwell.retry._fleet import limits_at  # only here: most calls share nothing beyond their process

        return limits_at(limits, shared)
    return limits or shared or Shared.new()


def _call_result(call: ToolCall, attempt: Attempt, *, attempts: int, repaired: Repair | None = None) -> CallResult:
    return CallResult(
        result=attempt.result,
        exception=attempt.exception,
        failure=attempt.failure,
        attempts=max(attempts, attempt.attempts_below),
        repaired=repaired,
        hints=call.hints,
    )


def _had_no_effect(failure: Failure) -> bool:
    return failure.outcome in _NO_EFFECT and is_certain(failure)


def _summary(found: Repair) -> str:
    """Return what was corrected, without the values, which may be secret."""
    return "; ".join(f"{change.path}: {change.reason}" for change in found.changes)
