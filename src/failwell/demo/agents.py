"""The two agents of the demo, without and with failwell. Neither has a model: they follow fixed rules.

The plain agent does what careful harnesses do with flat text. Most harnesses hand every error to the model at once.
Those that retry do it on words that sound like a failure that passes, up to three calls in all, with a growing delay.
So does this one: repeating everything blindly would look worse, and without repeats it would recover from nothing.

The informed agent reads the failure, decides, and repairs the call where the input is wrong.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import failwell as fw
from failwell._spelling import closest
from failwell.demo.client import DemoAnswer, DemoConnection, DemoTool
from failwell.demo.scenes import AgentStep, Scene, arguments_text, story_sleep

TAKE_IT, GO_BY_IT, HAND_OVER = "take it", "go by it", "hand it over"
"""Decisions about an answer that an agent believes, about one that it only looked at, and if it can do no more."""

OnStep = Callable[[AgentStep, DemoAnswer], None]
"""Called with each step of an agent, and the answer before it."""


def make_step(
    tool: str,
    arguments: dict[str, Any],
    answer: DemoAnswer,
    decided: str,
    reason: str,
    *,
    failed: bool,
    got: str | None = None,
) -> AgentStep:
    """Return a step; what was got is the text, without the words that stand before each error, unless it is given."""
    text = " ".join(answer.text.split()).removeprefix(f"Error executing tool {tool}: ")
    return AgentStep(
        tool=tool,
        arguments=arguments,
        failed=failed,
        got=text if got is None else got,
        text=answer.text,
        decided=decided,
        reason=reason,
    )


PASSING_WORDS = (
    "timed out",
    "timeout",
    "rate limit",
    "too many requests",
    "429",
    "502",
    "503",
    "504",
    "temporarily",
    "unavailable",
    "connection",
    "locked",
    "try again",
)
"""Words by which the plain agent takes an error for one that passes."""

PLAIN_DELAYS = (1.0, 2.0)
"""Seconds of the story that the plain agent waits before its second and its third call."""


class PlainDecision(NamedTuple):
    """What to do after an answer, and why; with a delay, make the call again."""

    decided: str
    reason: str
    delay: float | None = None


def decide_by_words(answer: DemoAnswer, attempt: int) -> PlainDecision:
    """Return what to do after the answer to an attempt."""
    if not answer.is_error:
        return PlainDecision(TAKE_IT, "it is not flagged as an error")
    if not any(word in answer.text.lower() for word in PASSING_WORDS):
        return PlainDecision(HAND_OVER, "the text names no temporary problem")
    if attempt > len(PLAIN_DELAYS):
        return PlainDecision(HAND_OVER, f"it failed {attempt} times")
    delay = PLAIN_DELAYS[attempt - 1]
    return PlainDecision(f"retry in {delay:g} s", "the text suggests a temporary problem", delay)


async def run_plain_agent(connection: DemoConnection, scene: Scene, on_step: OnStep) -> DemoAnswer | None:
    """Return the answer that the agent takes for the wanted one; None if it hands the failure over."""
    attempt = 1
    while True:
        answer = await connection.call(scene.tool, scene.arguments)
        decision = decide_by_words(answer, attempt)
        on_step(make_step(scene.tool, scene.arguments, answer, *decision[:2], failed=answer.is_error), answer)
        if decision.delay is None:
            return None if answer.is_error else answer
        await story_sleep(decision.delay)
        attempt += 1


CARELESS = frozenset(("track_parcel",))
"""Tools known to send errors as successes, as an operator tells `failwell proxy --flip-unflagged`."""

_POLICY = fw.Policy(base=1.0)
MOST_CALLS = 3
"""How often the agent makes one call, whatever it changes in it."""

_UNKNOWN = DemoTool({}, {})


class AgentCall(NamedTuple):
    """A call to make."""

    tool: str
    arguments: dict[str, Any]


class _Situation(NamedTuple):
    """A call that failed, and all that is known of it."""

    connection: DemoConnection
    call: AgentCall
    tool: DemoTool
    failure: fw.Failure
    decision: fw.Decision
    answer: DemoAnswer
    on_step: OnStep

    def report(self, decided: str, reason: str | None = None) -> None:
        """Report the step that was decided."""
        got = f"{self.failure.code or self.failure.type}: {self.failure.message}"
        step = make_step(*self.call, self.answer, decided, reason or self.decision.reason, failed=True, got=got)
        self.on_step(step, self.answer)

    def named(self) -> str | None:
        """Return the first tool that the server names and has."""
        return next((name for name in self.decision.actions if name in self.connection.tools), None)


async def run_informed_agent(connection: DemoConnection, scene: Scene, on_step: OnStep) -> DemoAnswer | None:
    """Return the answer that the agent takes for the wanted one; None if it hands the failure over."""
    call, attempt = AgentCall(scene.tool, scene.arguments), 1
    while True:
        answer = await connection.call(*call)
        tool = connection.tools.get(call.tool, _UNKNOWN)
        failure = fw.read(
            answer.received,
            tool=call.tool,
            arguments=call.arguments,
            input_schema=tool.schema,
            unflagged=call.tool in CARELESS,
        )
        if failure is None:
            on_step(make_step(*call, answer, TAKE_IT, "it is no failure", failed=False), answer)
            return answer
        decision = fw.decide(failure, tool.annotations, attempt=attempt, policy=_POLICY)
        step = _STEPS[decision.action] if attempt < MOST_CALLS else _hand_over
        following = await step(_Situation(connection, call, tool, failure, decision, answer, on_step))
        if not isinstance(following, AgentCall):
            return following
        call, attempt = following, attempt + 1


async def _retry(situation: _Situation) -> AgentCall | None:
    """Make the same call again, after the delay that was asked for."""
    decision, delay = situation.decision, situation.decision.delay
    if delay is None:
        return await _hand_over(situation)
    situation.report(f"{decision.action} {'in ' if decision.action == 'retry' else ''}{delay:g} s")
    await story_sleep(delay)
    return situation.call


async def _fix_input(situation: _Situation) -> AgentCall | None:
    """Make the call with corrected arguments, if error and schema determine them."""
    repair = fw.repair(situation.failure, situation.call.arguments, situation.tool.schema)
    if repair is None:
        return await _hand_over(situation)
    changed = {name: value for name, value in repair.arguments.items() if value != situation.call.arguments.get(name)}
    situation.report(f"fix input: {arguments_text(changed)}", "; ".join(change.reason for change in repair.changes))
    return AgentCall(situation.call.tool, repair.arguments)


async def _use(situation: _Situation) -> AgentCall | None:
    """Call what the server names instead, or look there for the name that was meant."""
    named = situation.named()
    if named is None:
        return await _hand_over(situation)
    if situation.failure.code == "UNKNOWN_TOOL":
        situation.report(f"use {named}")
        return AgentCall(named, situation.call.arguments)
    situation.report(f"look in {named}")
    listed = (await _look(situation, named)).text.split()
    for name, value in situation.call.arguments.items():
        if value == situation.failure.details.get(name) and (meant := closest(value, listed, most=1)):
            return AgentCall(situation.call.tool, {**situation.call.arguments, name: meant[0]})
    return None


async def _verify(situation: _Situation) -> DemoAnswer | None:
    """Look whether it happened, where the server says; never make the call again to find out."""
    named = situation.named()
    if named is None:
        await _hand_over(situation)
        return None
    situation.report(f"verify with {named}")
    seen = await _look(situation, named)
    return seen if all(str(value) in seen.text for value in situation.call.arguments.values()) else None


async def _look(situation: _Situation, tool: str) -> DemoAnswer:
    answer = await situation.connection.call(tool, {})
    situation.on_step(
        make_step(tool, {}, answer, GO_BY_IT, "it is what the server named", failed=answer.is_error), answer
    )
    return answer


async def _hand_over(situation: _Situation) -> AgentCall | None:
    """Leave it to a model or a person."""
    words = situation.decision.action.replace("_", " ")
    situation.report(HAND_OVER if words == "stop" else f"{words}: {HAND_OVER}")
    return None


_STEPS: dict[str, Callable[[_Situation], Awaitable[AgentCall | DemoAnswer | None]]] = {
    "retry": _retry,
    "wait": _retry,
    "fix_input": _fix_input,
    "use": _use,
    "verify": _verify,
    "escalate": _hand_over,
    "stop": _hand_over,
}
