"""`Caller`: makes tool calls as its configuration says, and returns a `CallResult` for each."""

import inspect
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, cast

from msgspec import Struct
from msgspec.structs import replace

from failwell._automatic import is_automatic
from failwell._json import is_object
from failwell._log import log
from failwell._spelling import names_slips
from failwell.advice import NO_HINTS, Hints, check_policy, is_timed_conflict
from failwell.client._tool_list import Describe, Pins, ToolDescription, ToolLookup, narrowed, untrusted
from failwell.dialects._placement import META_KEY, is_beside_success
from failwell.event import Event, Observer
from failwell.failure import Failure, is_certain
from failwell.reading.flat_text import Reading
from failwell.reading.reader import explain, returned_failure
from failwell.redact.canonical import canonical
from failwell.renderer import render
from failwell.retry import Ask, Effect, Finish, Limits, Policy, Run, Shared, Try, Wait, _environment, _layers
from failwell.retry._call_key import CallKey
from failwell.retry._layers import Layer, is_retrying, promised_within, report_to_outer_layer, sent_key
from failwell.retry._limits import digest_of
from failwell.retry._time_limit import NoAnswer, TimeLimit
from failwell.schema.repair import Repair, repair

if TYPE_CHECKING:
    from failwell.policy_file import PolicyFile

Fallback = Callable[[Failure, dict[str, Any]], Any]
"""Takes the failure and the arguments; returns a value, or an awaitable that gives one."""

Repairs = bool | Literal["lossless"]
"""Which calls to correct: those where nothing is guessed, on read-only tools; all that are sure enough; or none."""

OtherTool = Callable[[str], tuple[Any, Callable[[dict[str, Any]], Awaitable[Any]]]]
"""Gives the description of another tool of the server, and what makes one call of it."""

AskInside = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Makes one call of another tool of the server through an inner layer, which knows what it is."""

Trust = bool | Collection[str] | Callable[[str], bool]
"""Whose descriptions of tools to believe: all, none, those of servers named, or those it returns true for."""

_DEFAULT = Policy()
_SURE_ENOUGH = 0.7  # the confidence of a repair
_MOST_POLICIES = 1000
_MOST_REJECTIONS = 2
_REPEAT_WINDOW = 60.0
_MOST_REPEATED_CALLS = 1000
_COUNTED_AS_REPEATS = ("VALIDATION", "NOT_FOUND")
_NOT_SENT = "The call was not sent. The same call was refused twice within a minute."
_NO_EFFECT = ("not_executed", "rejected")
_EARLIER_EFFECT = "Note: this is how the last try ended. An earlier one may have taken effect."
# Whatever the input, the tool cannot do its work. The others are answers: the agent corrects its call or its plan.
_UNABLE = ("TRANSIENT", "INTERNAL", "PERMISSION")


_is_approved: ContextVar[bool] = ContextVar("failwell_is_approved", default=False)


@contextmanager
def approved() -> Generator[None]:
    """Make calls in this block exactly as they are: a person has approved their arguments, so none is corrected."""
    token = _is_approved.set(True)
    try:
        yield
    finally:
        _is_approved.reset(token)


class CallResult(Struct, frozen=True, kw_only=True):
    """How a tool call ended after all tries.

    Without a failure, `result` is what the last try returned, untouched. With one, `result` or `exception` is how
    the last try ended, if there was any. Where `is_fallback` is true, `result` is what the fallback gave: the tool
    failed. `repaired` says how the arguments were corrected, whether that helped or not. `attempts` counts all
    calls made. `repeats` is how often the same call found nothing within a minute, from the third time on. Where
    `has_earlier_effect` is true, an earlier try may have taken effect, although the last one did not.
    """

    result: Any = None
    exception: Exception | None = None
    failure: Failure | None = None
    attempts: int = 1
    is_fallback: bool = False
    repaired: Repair | None = None
    hints: Hints = Hints()
    repeats: int = 0
    has_earlier_effect: bool = False

    @property
    def text(self) -> str:
        """The failure as one text for a model, with one next step; empty without a failure."""
        if self.failure is None:
            return ""
        return self.with_notes(render(self.failure, self.hints, attempt=max(self.attempts, 1)))

    def with_notes(self, text: str) -> str:
        """Return a text for a model with what else it should know about the call, a line each."""
        again = f"Note: this call failed the same way {self.repeats} times within a minute." if self.repeats else ""
        earlier = _EARLIER_EFFECT if self.has_earlier_effect else ""
        return "\n".join(filter(None, (text, self.repair_note, again, earlier)))

    @property
    def model_text(self) -> str:
        """What a model may see instead of a result: the failure, or the fallback's answer, marked as such."""
        if not self.is_fallback:
            return self.text
        value = (
            self.result if isinstance(self.result, str) else json.dumps(self.result, ensure_ascii=False, default=str)
        )
        return f"{self.note}\n{value}"

    @property
    def repair_note(self) -> str:
        """One line that says how the arguments were corrected, without their values; empty if they were not."""
        if self.repaired is None:
            return ""
        return f"Note: the call was made with corrected arguments ({_summary(self.repaired)})."

    @property
    def note(self) -> str:
        """One line that says that a fallback answered; empty without one."""
        if self.failure is None or not self.is_fallback:
            return ""
        failure = canonical(self.failure)
        reason = failure.code or failure.type
        return f"{failure.tool or 'The tool'} failed ({reason}). This is a fallback value, not a result:"


class Attempt(NamedTuple):
    """How one try ended, understood: without a failure it succeeded."""

    result: Any = None
    exception: Exception | None = None
    failure: Failure | None = None
    attempts_below: int = 0
    has_earlier_effect: bool = False


class RawAttempt(NamedTuple):
    """What one try returned or raised."""

    result: Any = None
    exception: Exception | None = None


def _before_end(hook: Observer) -> Observer:
    """Return a hook that hears of all but the end: who counts calls counts those of tools."""

    def hear(event: Event) -> None:
        if not event.ends_call:
            hook(event)

    return hear


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
        policy: Policy,
        dialect: str | None,
        unflagged: bool,
        marks_before: int,
        limit: TimeLimit | None,
    ) -> None:
        self._make = make
        self.limit = limit
        self.tool = tool
        self.arguments = arguments
        self.description = ToolDescription()
        self.promised: Hints | None = None
        self.hints = policy.hints(tool, None if description is None else NO_HINTS)
        self.policy = policy
        self._describe = description
        self._is_described = False
        self._pin = pin
        self.is_trusted = is_trusted
        self._wants_schema = wants_schema
        self._dialect = dialect
        self._unflagged = unflagged
        self._marks_before = marks_before

    async def attempt(self, arguments: dict[str, Any]) -> Attempt:
        """Make the call once and return how it ended; cancellation passes."""
        try:
            end = RawAttempt(await self._make(arguments))
        except Exception as exc:
            end = RawAttempt(None, exc)
        return await self.interpret(end, arguments)

    async def interpret(self, end: RawAttempt, arguments: dict[str, Any]) -> Attempt:
        """Return what it means that a try ended like this."""
        result, exception = end
        if exception is not None:
            below = 2 if _layers.is_marked(exception, since=self._marks_before) else 0
            reading = await self._read(exception, arguments)
            failure = None if reading is None else reading.failure
            if failure is not None and isinstance(exception, NoAnswer) and self.hints.read_only:
                failure = failure.replace(outcome="not_executed")  # there is no effect that it could have had
            return Attempt(None, exception, failure, below)
        reads_successes = (self._dialect is not None or self._unflagged) and is_automatic()
        if not reads_successes and not is_failed(result):
            return Attempt(result)
        reading = await self._read(result, arguments, has_failed=not reads_successes)
        if reading is None or (is_beside_success(reading.failure) and not is_failed(result)):
            return Attempt(result)
        return Attempt(result, None, reading.failure, reading.attempts)

    async def _read(self, what: Any, arguments: dict[str, Any], *, has_failed: bool = True) -> Reading | None:
        """Return the failure in a result or an exception, read with what is known of the tool if that matters.

        It is read once, unless the server had to be asked for the tool's schema, which a text may be about.
        """
        known = self._known_description() if has_failed else None
        schema = (known or self.description).input_schema
        reading = self._read_with(schema, what, arguments)
        if reading is None or self._describe is None or not self._matters_for(reading.failure):
            return reading
        await self.look_up(known)
        late = self.description.input_schema
        return reading if late is schema or is_certain(reading.failure) else self._read_with(late, what, arguments)

    def _known_description(self) -> ToolDescription | None:
        """Return what was not looked up yet and is known all the same, so that nobody must be asked for it."""
        if self._is_described or self._describe is None:
            return None
        try:
            if not callable(self._describe):
                self._describe = ToolDescription.of(self._describe)
            found = self._describe.known() if isinstance(self._describe, ToolLookup) else self._describe
        except Exception:  # `look_up` says so, if it matters
            return None
        return found if isinstance(found, ToolDescription) else None

    def _matters_for(self, failure: Failure) -> bool:
        if self._wants_schema and failure.type == "VALIDATION":
            return True
        return not is_certain(failure) or failure.retryable is not False or is_timed_conflict(failure)

    async def look_up(self, known: ToolDescription | None = None) -> None:
        """Learn what the server says of the tool, unless that is *known*."""
        describe = self._describe
        if not callable(describe):
            self._describe = None
        try:
            found = describe.known() if known is None and isinstance(describe, ToolLookup) else known
            if found is None:
                asked = await self._ask(cast(Describe, describe)) if callable(describe) else describe
                found = ToolDescription.of(asked)
            found = found if found.is_pinned else self._pin(found)
            self.description = found if self.is_trusted() else untrusted(found)
            said = self.description.annotations if found.is_known else NO_HINTS
            promised, within = Hints.of(said), promised_within()
            self.promised = promised if found.is_known else None
            if within is not None and within != promised:
                said = narrowed(promised, within)
            hints = self.policy.hints(self.tool, said)
            self.hints = narrowed(self.hints, hints) if self._is_described else hints
            self._is_described = True
        except Exception:
            log.exception("the description of a tool could not be read, so nothing is known about it")

    async def _ask(self, describe: Describe) -> Any:
        return await (describe() if self.limit is None else self.limit.look_up(describe))

    def _read_with(self, schema: dict[str, Any] | None, what: Any, arguments: dict[str, Any]) -> Reading | None:
        return explain(
            what,
            tool=self.tool or None,
            arguments=arguments,
            input_schema=schema,
            annotations=self.description.annotations,
            dialect=self._dialect,
            unflagged=self._unflagged,
        )


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


class RepeatGuard:
    """Counts calls that failed alike, by server, tool and arguments, within the last minute.

    `failing` is empty while there are none. Of arguments, which may be long or secret, it keeps a digest only.
    """

    def __init__(self) -> None:
        self.failing: OrderedDict[tuple[str, str, bytes, str], list[float]] = OrderedDict()

    def failed(self, server: str, tool: str, *, arguments: object, failure: Failure, now: float) -> int:
        """Count a failure, and return how often the call failed like this within the last minute."""
        if failure.type not in _COUNTED_AS_REPEATS:
            return 0
        key = (server, tool, digest_of(arguments), failure.type)
        times = [*self._recent(key, now), now]
        self.failing[key] = times[-_MOST_REPEATED_CALLS:]
        self.failing.move_to_end(key)
        if len(self.failing) > _MOST_REPEATED_CALLS:
            self.failing.popitem(last=False)
        return len(times)

    def rejections(self, server: str, tool: str, *, arguments: object, now: float) -> int:
        """Return how often a call was refused because of its arguments within the last minute."""
        key = (server, tool, digest_of(arguments), "VALIDATION")
        recent = self._recent(key, now)
        if not recent:
            self.failing.pop(key, None)
        return len(recent)

    def forget(self, server: str) -> None:
        """Forget the calls of a server: something changed there, and they may succeed now."""
        for key in [key for key in self.failing if key[0] == server]:
            del self.failing[key]

    def _recent(self, key: tuple[str, str, bytes, str], now: float) -> list[float]:
        return [time for time in self.failing.get(key, ()) if now - time < _REPEAT_WINDOW]


class CallerOptions(TypedDict, total=False):
    """What `Caller` takes beside a policy."""

    shared: Shared | None
    limits: Limits | str | None
    hook: Observer | None
    repair: Repairs
    fallbacks: Mapping[str, Fallback] | None
    trust: Trust
    dialect: str | None
    unflagged: bool
    policy_file: "PolicyFile | str | Path | None"
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]
    chance: Callable[[], float]


class Caller:
    """Calls tools, reads how each call ended, and retries where that is safe.

    Share one between tasks and threads: it holds the configuration and the limits that retries share.

    Args:
        policy: how often and how long.
        shared: budget, breaker and repeats, to share them with other callers.
        limits: the URL of a Redis or Valkey that holds them for many processes, or a `FleetLimits`; *shared* sets
            their values, and takes over while the store is unavailable.
        hook: called with an `Event` after each try.
        repair: make one corrected call if the arguments were wrong and what is right follows from error and schema. By
            default only if nothing is guessed (`5` for `"5"`), the schema proves the call wrong, and the tool is
            read-only; True: whatever is sure enough, where the call had no effect; False: never.
        fallbacks: by tool, a function of the failure and the arguments that gives something in place of the result.
        trust: whose annotations to trust: all servers, none, those named, or those it returns true for.
        dialect: the format that the servers are known to use, if it does not flag errors.
        unflagged: look for failures in results that are not flagged as errors too.
        policy_file: a policy file or its path: what it says about a server or a tool beats *policy*, *trust* and
            *unflagged*; its limits count where there are no other ones.
        clock: tells seconds.
        sleep: waits.
        chance: gives a number from 0 to 1.
    """

    @names_slips
    def __init__(
        self,
        policy: Policy = _DEFAULT,
        *,
        shared: Shared | None = None,
        limits: Limits | str | None = None,
        hook: Observer | None = None,
        repair: Repairs = "lossless",
        fallbacks: Mapping[str, Fallback] | None = None,
        trust: Trust = True,
        dialect: str | None = None,
        unflagged: bool = False,
        policy_file: "PolicyFile | str | Path | None" = None,
        clock: Callable[[], float] = _environment.clock,
        sleep: Callable[[float], Awaitable[object]] = _environment.asleep,
        chance: Callable[[], float] = _environment.chance,
    ) -> None:
        check_policy(policy)
        self.policy = policy
        self.policy_file = _loaded(policy_file)
        self.shared = limits_of(limits or (self.policy_file.limits_url if self.policy_file else None), shared)
        self.hook = hook
        self.repair = repair
        self.fallbacks = dict(fallbacks or {})
        self.trust = trust
        self.dialect = dialect
        self.unflagged = unflagged
        self.clock = clock
        self.sleep = sleep
        self.chance = chance
        self._pins = Pins()
        self._repeats = RepeatGuard()
        self._policies: dict[tuple[str, str], Policy] = {}

    def with_own_pins(self) -> "Caller":
        """Return the same caller with its own record of what servers promise about their tools."""
        other = copy(self)
        other._pins = Pins()
        return other

    async def run(
        self,
        make_call: Callable[[dict[str, Any]], Awaitable[Any]],
        *,
        server: str = "",
        tool: str,
        arguments: dict[str, Any] | None = None,
        description: Any = None,
        cancellable: bool = True,
        other_tool: OtherTool | None = None,
        ask_inside: AskInside | None = None,
        is_continuation: bool = False,
        is_tool_call: bool = True,
        is_once: bool = False,
        is_pending: Callable[[Any], bool] | None = None,
        started: float | None = None,
    ) -> CallResult:
        """Make a call, and retry it while that is worthwhile and safe. Cancellation passes at once.

        Inside another retried call it is made once: who retries further out also repairs and falls back.

        Args:
            make_call: makes one call with the arguments it is given; returns its result or raises.
            server: whose budget a retry is paid from.
            tool: which tool it is.
            arguments: what it is called with.
            description: the tool's annotations and input schema, an SDK's description of the tool, or an async function
                that gives one; it is called only after a failure that it matters for. What it promises counts from
                the first time on, for this server and tool: later it may promise less, and not more.
            cancellable: whether a try may be ended when its time is up; the first request of a session may not.
            other_tool: gives the description of another tool of the server and a function that makes one call of it, to
                ask whether this call took effect.
            ask_inside: makes one call of another tool through the layer that makes this call further in, to ask what
                that layer would have asked, had another try not been safe.
            is_continuation: whether the call goes on with an earlier one, so that it is no repeat of it.
            is_tool_call: whether the hook and an outer layer hear how it ends; of other requests, the hook only hears
                that they are made again.
            is_once: whether it is made once, whatever comes of it: it only waits for a call that was made before.
            is_pending: tells whether a result only says that the call goes on; another run waits for its end then, and
                tells the hook and the limits of it.
            started: when the call started, if that was before.
        """
        arguments = {} if arguments is None else arguments
        marks_before = _layers.latest
        started = self.clock() if started is None else started
        policy = self._policy_of(server, tool)
        limit = TimeLimit.of(policy, started=started, clock=self.clock) if cancellable else None
        make = make_call if limit is None else _limited(make_call, limit)
        if is_retrying.get():
            call = self._call(make, server, tool, arguments, description, marks_before, limit)
            call_result = _call_result(call, await call.attempt(arguments), attempts=1)
            if not is_tool_call:  # that no tools could be listed does not fail a call
                return call_result
            return await self._finish_inside(call, call_result, server, other_tool, started)
        if self._repeats.failing and not is_continuation:
            refused = self._answer_repeat(server, tool, arguments, description, started)
            if refused is not None:
                return refused
        breakers, budgets, repeats, paces = self.shared.failure_state
        layer: Layer = ["under way"]
        token = is_retrying.set(layer)
        try:
            first: RawAttempt | None = None
            is_silent = self.hook is None
            # Most calls succeed. Where nothing failed lately and nobody is told, there is nothing to decide then.
            if is_once or (is_silent and not (breakers or budgets or repeats or paces)):
                try:
                    first = RawAttempt(await make(arguments))
                except Exception as exc:
                    first = RawAttempt(None, exc)
                if first.exception is None and is_pending is not None and is_pending(first.result):
                    return CallResult(result=first.result)
                is_plain = self.dialect is None and not self._is_unflagged(server, tool)
                if first.exception is None and is_plain and is_silent and not is_failed(first.result):
                    if self._repeats.failing:
                        self._note_success(server, tool, description)
                    if breakers or budgets or repeats or paces:  # something failed meanwhile
                        self.shared.succeeded((server, tool), arguments, self.clock(), paid=0.0)
                    return CallResult(result=first.result)
            call = self._call(make, server, tool, arguments, description, marks_before, limit)
            if is_once:
                call.policy = replace(call.policy, attempts=1)
            hook = self.hook if is_tool_call or self.hook is None else _before_end(self.hook)
            run = Run(call.policy, self.shared, server, tool, arguments, None, hook, started, source="client")
            attempt = await self._attempt_until_settled(call, run, limit, first, is_pending)
            call_result = _call_result(call, attempt, attempts=run.attempt)
            may_repair = self.repair and not is_once and is_automatic() and not _is_approved.get()
            if call_result.failure and may_repair:
                call_result = await self._repair(call, run, call_result, call_result.failure, layer)
            question = await self._question(call, server, call_result, other_tool, ask_inside)
            if question is not None:
                call_result = await self._verify(question, run, call_result)
        finally:
            layer.clear()
            is_retrying.reset(token)
        if call_result.failure is None and self._repeats.failing:
            self._note_success(server, tool, description)
        elif call_result.failure is not None and not is_continuation:
            call_result = self._note_failure(server, tool, arguments, call_result, call_result.failure)
        if call_result.exception and call_result.attempts > 1:
            _layers.mark(call_result.exception)
        if call_result.failure and tool in self.fallbacks and is_automatic():
            return await self._fall_back(call, run, call_result, call_result.failure)
        return call_result

    async def _finish_inside(
        self, call: ToolCall, call_result: CallResult, server: str, other_tool: OtherTool | None, started: float
    ) -> CallResult:
        """Ask whether a failed call took effect, and leave its failure for the layer that retries further out.

        If its key makes another try safe, that layer asks, after the last one.
        """
        key, policy, hook = _note_retention(call, is_inner=True), call.policy, self.hook
        question = await self._question(call, server, call_result, other_tool)
        if question is not None and key is not None and call_result.failure and key.protects(call_result.failure):
            key.question = (question.tool, question.arguments)
        elif question is not None:
            run = Run(policy, self.shared, server, call.tool, call.arguments, None, hook, started, source="client")
            call_result = await self._verify(question, run, call_result)
        report_to_outer_layer(call_result.failure, call.promised)
        return call_result

    def _answer_repeat(
        self, server: str, tool: str, arguments: dict[str, Any], description: Any, now: float
    ) -> CallResult | None:
        """Return the answer to a call that was refused twice within a minute and that the schema proves wrong."""
        if (
            self._repeats.rejections(server, tool, arguments=arguments, now=now) < _MOST_REJECTIONS
            or not is_automatic()
        ):
            return None
        known = description.known() if isinstance(description, ToolLookup) else None
        found = None if known is None else _proof(arguments, known.input_schema)
        if known is None or found is None:
            return None
        message = f"{found.message.rstrip('.')}. {_NOT_SENT}"
        failure = found.replace(message=message, outcome="not_executed", tool=tool)
        run = Run(self.policy, self.shared, server, tool, arguments, None, self.hook, now, source="client")
        run.follow_up(self.clock(), "refused", failure, reason="the same call was refused twice within a minute")
        return CallResult(failure=failure, attempts=0)

    def _note_success(self, server: str, tool: str, description: Any) -> None:
        """Forget what failed on a server, unless the tool that succeeded cannot have changed anything."""
        known = description.known() if isinstance(description, ToolLookup) else None
        annotations = known.annotations if known is not None and self._trusts(server) else NO_HINTS
        if not self._policy_of(server, tool).hints(tool, annotations).read_only:
            self._repeats.forget(server)

    def _note_failure(
        self, server: str, tool: str, arguments: dict[str, Any], call_result: CallResult, failure: Failure
    ) -> CallResult:
        count = self._repeats.failed(server, tool, arguments=arguments, failure=failure, now=self.clock())
        if failure.type != "NOT_FOUND" or count <= _MOST_REJECTIONS or failure.severity == "warning":
            return call_result
        return replace(call_result, repeats=count)

    def _call(
        self,
        make_call: Callable[[dict[str, Any]], Awaitable[Any]],
        server: str,
        tool: str,
        arguments: dict[str, Any],
        description: Any,
        marks_before: int,
        limit: TimeLimit | None,
    ) -> ToolCall:
        return ToolCall(
            make_call,
            tool=tool,
            arguments=arguments,
            description=description,
            pin=lambda said: self._pins.pin((server, tool), said),
            is_trusted=lambda: self._trusts(server),
            wants_schema=self.repair is not False,
            policy=self._policy_of(server, tool),
            dialect=self.dialect,
            unflagged=self._is_unflagged(server, tool),
            marks_before=marks_before,
            limit=limit,
        )

    async def _attempt_until_settled(
        self,
        call: ToolCall,
        run: Run,
        limit: TimeLimit | None,
        first: RawAttempt | None,
        is_pending: Callable[[Any], bool] | None,
    ) -> Attempt:
        """Return how the last try ended, or the refusal of an open breaker if none was made."""
        last: Attempt | None = None
        effect: Effect = Try() if first else run.begin(self.clock(), jitter=self.chance())
        run.attempt = run.attempt or int(first is not None)
        while not isinstance(effect, Finish):
            if isinstance(effect, Ask):
                effect = run.answered(await effect.question.arun())
            elif isinstance(effect, Wait):
                await self.sleep(effect.delay)
                is_late = limit is not None and limit.left() <= 0
                effect = run.expired(self.clock()) if is_late else run.begin(self.clock(), jitter=self.chance())
            else:
                try:
                    last = await (call.interpret(first, call.arguments) if first else call.attempt(call.arguments))
                    if _drop_refused_key(last):
                        run.attempt += 1
                        last = await call.attempt(call.arguments)
                except BaseException:
                    run.cancelled()
                    raise
                first = None
                if limit is not None:
                    run.started = limit.started
                if last.failure is None and is_pending is not None and is_pending(last.result):
                    run.cancelled()  # without an answer so far
                    return last
                effect = self._next(run, call, last)
        if last is None:
            return Attempt(failure=effect.refusal)
        if last.failure is None or run.last is None:
            return last
        is_graver = last.failure.outcome in _NO_EFFECT and run.last.outcome == "unknown"
        return last._replace(failure=run.last, has_earlier_effect=is_graver and not call.hints.read_only)

    def _next(self, run: Run, call: ToolCall, attempt: Attempt) -> Effect:
        """Return what to do after a try that ended like this."""
        if attempt.failure is None:
            return run.succeeded(self.clock())
        key, below = _note_retention(call, is_inner=False), attempt.attempts_below > 1
        run.hints = call.hints
        return run.failed(attempt.failure, self.clock(), jitter=self.chance(), retried_below=below, key=key)

    async def _repair(
        self, call: ToolCall, run: Run, call_result: CallResult, failure: Failure, layer: Layer
    ) -> CallResult:
        """Return how one corrected call ended, or the result so far if there is none to make or it helped nothing."""
        repeatable = call.hints.repeatable or run.policy.repeatable
        if failure.type != "VALIDATION" or not (repeatable or _had_no_effect(failure)):
            return call_result
        if call.description.has_new_schema:
            return call_result
        if self.repair == "lossless" and not (call.hints.read_only and _is_proven_wrong(call, failure)):
            return call_result
        found = repair(failure, call.arguments, call.description.input_schema)
        if found is None or found.confidence < _SURE_ENOUGH or not (found.is_lossless or self.repair is True):
            return call_result
        if call.limit is not None and call.limit.left() <= 0:
            return call_result
        layer[0] = "under way"  # a corrected call is another one, with a key of its own
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

    async def _question(
        self,
        call: ToolCall,
        server: str,
        call_result: CallResult,
        other_tool: OtherTool | None,
        ask_inside: AskInside | None = None,
    ) -> ToolCall | None:
        """Return a call that changes nothing and tells whether the failed one took effect, if that is not known."""
        key = sent_key()
        if call_result.failure is None or call_result.failure.outcome != "unknown":
            return None
        if ask_inside is not None and key is not None and key.question is not None:
            tool, asked = key.question
            return self._beside(call, server, tool, asked, None, partial(ask_inside, tool))
        pairing = call.description.verified_by if call.policy.verify and is_automatic() else None
        if other_tool is None or pairing is None or call.hints.repeatable:
            return None
        sent = call_result.repaired.arguments if call_result.repaired else call.arguments
        wanted = pairing.arguments_for(sent)
        if wanted is None:
            return None
        question = self._beside(call, server, pairing.tool, wanted, *other_tool(pairing.tool))
        await question.look_up()
        return question if question.hints.read_only else None

    def _beside(
        self,
        call: ToolCall,
        server: str,
        tool: str,
        arguments: dict[str, Any],
        description: Any,
        make: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> ToolCall:
        """Return a call of another tool within the time of a call."""
        limited = make if call.limit is None else _limited(make, call.limit)
        return self._call(limited, server, tool, arguments, description, _layers.latest, call.limit)

    async def _verify(self, question: ToolCall, run: Run, call_result: CallResult) -> CallResult:
        """Return the result of a failed call with what the answer to a question says of its effect."""
        failure = cast(Failure, call_result.failure)
        token = is_retrying.set(["under way"])  # a question is another call, with a key of its own
        try:
            answer = await question.attempt(question.arguments)
        finally:
            is_retrying.reset(token)
        found = answer.failure
        if found is None and answer.exception is None:
            message = f"{failure.message} {question.tool} shows that the call took effect."
            failure = failure.replace(message=message, outcome="executed", suggestion=None)
        elif found is not None and found.type == "NOT_FOUND" and is_certain(found):  # it may still take effect
            failure = failure.replace(message=f"{failure.message} {question.tool} does not show it yet.")
        else:
            return call_result
        run.follow_up(
            self.clock(), "verified", failure, reason=f"{question.tool} was asked whether the call took effect"
        )
        return replace(call_result, failure=failure)

    async def _fall_back(self, call: ToolCall, run: Run, call_result: CallResult, failure: Failure) -> CallResult:
        repeatable = call.hints.repeatable or run.policy.repeatable
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

    def _policy_of(self, server: str, tool: str) -> Policy:
        if self.policy_file is None and not self.policy.tools:
            return self.policy
        found = self._policies.get((server, tool))
        if found is None:
            file = self.policy_file
            found = self.policy.for_tool(tool) if file is None else file.policy(server, tool, base=self.policy)
            if len(self._policies) < _MOST_POLICIES:
                self._policies[server, tool] = found
        return found

    def _is_unflagged(self, server: str, tool: str) -> bool:
        said = None if self.policy_file is None else self.policy_file.tool(server, tool).flip
        return self.unflagged if said is None else said

    def _trusts(self, server: str) -> bool:
        said = None if self.policy_file is None else self.policy_file.server(server).trust_annotations
        if said is not None:
            return said
        if isinstance(self.trust, bool):
            return self.trust
        if not callable(self.trust):
            return server in self.trust
        try:
            return self.trust(server) is True
        except Exception:
            log.exception("the function `trust` failed, so the server is not trusted")
            return False


def _limited(
    make_call: Callable[[dict[str, Any]], Awaitable[Any]], limit: TimeLimit
) -> Callable[[dict[str, Any]], Awaitable[Any]]:
    async def make(arguments: dict[str, Any]) -> Any:
        return await limit.run(lambda: make_call(arguments))

    return make


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


def _loaded(policy_file: "PolicyFile | str | Path | None") -> "PolicyFile | None":
    if not isinstance(policy_file, str | Path):
        return policy_file
    from failwell.policy_file import PolicyFile  # only here: reading TOML takes long to load

    return PolicyFile.load(policy_file)


def _call_result(call: ToolCall, attempt: Attempt, *, attempts: int, repaired: Repair | None = None) -> CallResult:
    return CallResult(
        result=attempt.result,
        exception=attempt.exception,
        failure=attempt.failure,
        attempts=max(attempts, attempt.attempts_below),
        repaired=repaired,
        hints=call.hints,
        has_earlier_effect=attempt.has_earlier_effect,
    )


def _note_retention(call: ToolCall, *, is_inner: bool) -> CallKey | None:
    """Return the key of a call, which now knows for how long its tool remembers it.

    A session that is called by a framework knows that better than what the framework tells of the tool further out.
    """
    key = sent_key()
    if key is None:
        return None
    if is_inner or not key.is_known_within:
        key.retention, key.is_known_within = call.description.retention or 0.0, is_inner
    elif not call.is_trusted():
        key.retention = 0.0
    return key


def _drop_refused_key(attempt: Attempt) -> bool:
    """Return whether the server refused the call only for its key, which is taken off then."""
    failure = attempt.failure
    if failure is None or failure.code != "UNAUTHORIZED" or failure.outcome != "not_executed" or failure.retryable:
        return False  # that the credentials were renewed says nothing of the key
    key = sent_key()
    if key is None or not key.is_sent or key.on_refusal is None or not is_certain(failure):
        return False
    key.refuse()
    return True


def _had_no_effect(failure: Failure) -> bool:
    return failure.outcome in _NO_EFFECT and is_certain(failure)


def _is_proven_wrong(call: ToolCall, failure: Failure) -> bool:
    """Return whether the server refused a call that its own schema refuses, so that nothing of it ran."""
    return failure.outcome in _NO_EFFECT and _proof(call.arguments, call.description.input_schema) is not None


def _proof(arguments: dict[str, Any], schema: dict[str, Any] | None) -> Failure | None:
    """Return what a tool's schema finds wrong with arguments; None: nothing, or it can't be checked."""
    if schema is None:
        return None
    try:
        from failwell.schema.validator import check_arguments  # needs an optional package
    except ImportError:
        return None
    return check_arguments(arguments, schema)


def _summary(found: Repair) -> str:
    """Return what was corrected, without the values, which may be secret."""
    return "; ".join(f"{change.path}: {change.reason}" for change in found.changes)
