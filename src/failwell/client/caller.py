"""`Caller`: makes tool calls as its configuration says, and answers each with an `Answer`."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, TypedDict

from failwell.client.answer import Answer
from failwell.client.call import Call, Ended, Tried, ended, is_failed
from failwell.client.fallback import Fallback, is_due
from failwell.failure import Failure
from failwell.repairing import Repair, repair
from failwell.retry import Limits, Policy, Run, Shared, marks, surroundings
from failwell.retry.layer import is_retrying, tell
from failwell.retry.run import Hook

_log = logging.getLogger("failwell")

_DEFAULT = Policy()
_SURE_ENOUGH = 0.7
_NO_EFFECT = ("not_executed", "rejected")

Trust = bool | Collection[str] | Callable[[str], bool]


class Options(TypedDict, total=False):
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
        clock: Callable[[], float] = surroundings.clock,
        sleep: Callable[[float], Awaitable[object]] = surroundings.asleep,
        chance: Callable[[], float] = surroundings.chance,
    ) -> None:
        self.policy = policy
        self.shared = limits_of(limits, shared)
        self.hook = hook
        self.repair = repair
        self.fallbacks = dict(fallbacks or {})
        self.trust = trust
        self.dialect = dialect
        self.unflagged = unflagged
        self._looks_closer = unflagged or dialect is not None
        self.clock = clock
        self.sleep = sleep
        self.chance = chance

    async def run(
        self,
        make_call: Callable[[dict[str, Any]], Awaitable[Any]],
        *,
        server: str = "",
        tool: str,
        arguments: dict[str, Any] | None = None,
        described: Any = None,
    ) -> Answer:
        """Make a call until it succeeds or another try is not worth it or not safe. Cancellation passes at once.

        Inside another retried call it is made once: who retries further out also repairs and falls back.

        Args:
            make_call: makes one call with the arguments it is given; returns its result or raises.
            server: whose budget a retry is paid from.
            tool: which tool it is.
            arguments: what it is called with.
            described: the tool's annotations and input schema, an SDK's description of the tool, or an async function
                that gives one; it is called only after a failure that it matters for.
        """
        arguments = {} if arguments is None else arguments
        marks_before = marks.latest
        if is_retrying.get():
            call = self._call(make_call, server, tool, arguments, described, marks_before)
            answer = _answer(call, await call.attempt(arguments), attempts=1)
            if answer.failure:
                tell(answer.failure)
            return answer
        started = self.clock()
        layer: list[str | Failure] = ["under way"]
        token = is_retrying.set(layer)
        try:
            first: Ended | None = None
            if self._is_calm:  # most calls succeed, and then there is nothing to decide
                first = await ended(make_call, arguments)
                if first.exception is None and not self._looks_closer and not is_failed(first.result):
                    return Answer(result=first.result)
            call = self._call(make_call, server, tool, arguments, described, marks_before)
            run = Run(self.policy, self.shared, server, tool, arguments, None, self.hook, started)
            tried = await self._tried(call, run, first)
            answer = _answer(call, tried, attempts=run.attempt)
            if answer.failure and self.repair:
                answer = await self._repaired(call, run, answer, answer.failure)
        finally:
            layer.clear()
            is_retrying.reset(token)
        if answer.exception and answer.attempts > 1:
            marks.mark(answer.exception)
        if answer.failure and tool in self.fallbacks:
            return await self._fallen_back(call, run, answer, answer.failure)
        return answer

    @property
    def _is_calm(self) -> bool:
        """Whether a success would change nothing, and nobody wants to be told of it."""
        one, other, third = self.shared.troubles
        return self.hook is None and not (one or other or third)

    def _call(
        self,
        make_call: Callable[[dict[str, Any]], Awaitable[Any]],
        server: str,
        tool: str,
        arguments: dict[str, Any],
        described: Any,
        marks_before: int,
    ) -> Call:
        return Call(
            make_call,
            tool=tool,
            arguments=arguments,
            described=described,
            is_trusted=lambda: self._trusts(server),
            wants_schema=self.repair,
            dialect=self.dialect,
            unflagged=self.unflagged,
            marks_before=marks_before,
        )

    async def _tried(self, call: Call, run: Run, first: Ended | None) -> Tried:
        """Return how the last try ended, or the refusal of an open breaker if none was made."""
        last: Tried | None = None
        refusal: Failure | None = None
        if first is not None:
            run.attempt = 1
        while first or not (refusal := await run.abegin(self.clock())):
            try:
                last = await (call.understood(first, call.arguments) if first else call.attempt(call.arguments))
            except BaseException:
                run.cancelled()
                raise
            first = None
            if last.failure is None:
                run.succeeded(self.clock())
                return last
            run.hints = call.hints
            verdict = await run.afailed(
                last.failure, self.clock(), jitter=self.chance(), retried_below=last.attempts_below > 1
            )
            if verdict.delay is None:
                return last
            await self.sleep(verdict.delay)
        return last or Tried(failure=refusal)

    async def _repaired(self, call: Call, run: Run, answer: Answer, failure: Failure) -> Answer:
        """Return how one corrected call ended, or the answer so far if there is none to make or it is no better."""
        repeatable = call.hints.repeatable or self.policy.repeatable
        if failure.type != "VALIDATION" or not (repeatable or _had_no_effect(failure)):
            return answer
        found = repair(failure, call.arguments, call.described.input_schema)
        if found is None or found.confidence < _SURE_ENOUGH:
            return answer
        tried = await call.attempt(found.arguments)
        run.follow_up(self.clock(), "repaired", tried.failure, reason=_told(found))
        attempts = answer.attempts + 1
        still_wrong = tried.failure is not None and tried.failure.type == "VALIDATION"
        if tried.failure and still_wrong and (repeatable or _had_no_effect(tried.failure)):
            # The model knows the arguments it sent itself.
            return _answer(call, Tried(answer.result, answer.exception, failure), attempts=attempts, repaired=found)
        return _answer(call, tried, attempts=attempts, repaired=found)

    async def _fallen_back(self, call: Call, run: Run, answer: Answer, failure: Failure) -> Answer:
        repeatable = call.hints.repeatable or self.policy.repeatable
        if not is_due(failure, repeatable=repeatable):
            return answer
        try:
            value = self.fallbacks[call.tool](failure, call.arguments)
            if inspect.isawaitable(value):
                value = await value
        except Exception:
            _log.exception("the fallback of a tool failed, so the tool's own failure stands")
            return answer
        run.follow_up(self.clock(), "fallback", failure, reason="the fallback answered in place of the tool")
        return Answer(
            result=value,
            exception=answer.exception,
            failure=failure,
            attempts=answer.attempts,
            is_fallback=True,
            repaired=answer.repaired,
            hints=answer.hints,
        )

    def _trusts(self, server: str) -> bool:
        if isinstance(self.trust, bool):
            return self.trust
        if not callable(self.trust):
            return server in self.trust
        try:
            return self.trust(server) is True
        except Exception:
            _log.exception("nobody could say whether a server is trusted, so it is not")
            return False


def limits_of(limits: Limits | str | None, shared: Shared | None) -> Limits:
    """Return what calls share: in this process, or in many if the limits are somewhere else."""
    if isinstance(limits, str):
        from failwell.fleet.opened import limits_at  # only here: most calls share nothing beyond their process

        return limits_at(limits, shared)
    return limits or shared or Shared.new()


def _answer(call: Call, tried: Tried, *, attempts: int, repaired: Repair | None = None) -> Answer:
    return Answer(
        result=tried.result,
        exception=tried.exception,
        failure=tried.failure,
        attempts=max(attempts, tried.attempts_below),
        repaired=repaired,
        hints=call.hints,
    )


def _had_no_effect(failure: Failure) -> bool:
    return failure.outcome in _NO_EFFECT and failure.origin != "inferred"


def _told(found: Repair) -> str:
    """Return what was corrected, without the values, which may be secret."""
    return "; ".join(f"{change.path}: {change.reason}" for change in found.changes)
