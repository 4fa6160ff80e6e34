"""The agent with failwell: it reads the failure, decides, and repairs the call where the input is wrong."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import failwell as fw
from failwell._spelling import closest
from failwell.demo import clock
from failwell.demo.client import DemoAnswer, DemoConnection, DemoTool
from failwell.demo.scenes import GO_BY_IT, HAND_OVER, TAKE_IT, Scene, Tell, shown, step_of

CARELESS = frozenset(("track_parcel",))
"""Tools known to send errors as successes, as an operator tells `failwell proxy --flip-unflagged`."""

MOST_CALLS = 3
"""How often the agent makes one call, whatever it changes in it."""

_UNKNOWN = DemoTool({}, {})


class AgentCall(NamedTuple):
    """A call to make."""

    tool: str
    arguments: dict[str, Any]


class _Situation(NamedTuple):
    connection: DemoConnection
    call: AgentCall
    tool: DemoTool
    failure: fw.Failure
    decision: fw.Decision
    answer: DemoAnswer
    tell: Tell

    def decide(self, decided: str, reason: str | None = None) -> None:
        got = f"{self.failure.code or self.failure.type}: {self.failure.message}"
        step = step_of(*self.call, self.answer, decided, reason or self.decision.reason, failed=True, got=got)
        self.tell(step, self.answer)

    def named(self) -> str | None:
        """Return the first tool that the server names and has."""
        return next((name for name in self.decision.actions if name in self.connection.tools), None)


async def attend(connection: DemoConnection, scene: Scene, tell: Tell) -> DemoAnswer | None:
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
            tell(step_of(*call, answer, TAKE_IT, "it is no failure", failed=False), answer)
            return answer
        decision = fw.decide(failure, tool.annotations, attempt=attempt)
        step = _STEPS[decision.action] if attempt < MOST_CALLS else _hand_over
        following = await step(_Situation(connection, call, tool, failure, decision, answer, tell))
        if not isinstance(following, AgentCall):
            return following
        call, attempt = following, attempt + 1


async def _again(now: _Situation) -> AgentCall | None:
    """Make the same call again, after the delay that was asked for."""
    if now.decision.delay is None:
        return await _hand_over(now)
    now.decide(f"{now.decision.action} {'in ' if now.decision.action == 'retry' else ''}{now.decision.delay:g} s")
    await clock.wait(now.decision.delay)
    return now.call


async def _mend(now: _Situation) -> AgentCall | None:
    """Make the call with corrected arguments, if error and schema determine them."""
    repair = fw.repair(now.failure, now.call.arguments, now.tool.schema)
    if repair is None:
        return await _hand_over(now)
    changed = {name: value for name, value in repair.arguments.items() if value != now.call.arguments.get(name)}
    now.decide(f"fix input: {shown(changed)}", "; ".join(change.reason for change in repair.changes))
    return AgentCall(now.call.tool, repair.arguments)


async def _use(now: _Situation) -> AgentCall | None:
    """Call what the server names instead, or look there for the name that was meant."""
    named = now.named()
    if named is None:
        return await _hand_over(now)
    if now.failure.code == "UNKNOWN_TOOL":
        now.decide(f"use {named}")
        return AgentCall(named, now.call.arguments)
    now.decide(f"look in {named}")
    listed = (await _look(now, named)).text.split()
    for name, value in now.call.arguments.items():
        if value == now.failure.details.get(name) and (meant := closest(value, listed, most=1)):
            return AgentCall(now.call.tool, {**now.call.arguments, name: meant[0]})
    return None


async def _verify(now: _Situation) -> DemoAnswer | None:
    """Look whether it happened, where the server says; never make the call again to find out."""
    named = now.named()
    if named is None:
        await _hand_over(now)
        return None
    now.decide(f"verify with {named}")
    seen = await _look(now, named)
    return seen if all(str(value) in seen.text for value in now.call.arguments.values()) else None


async def _look(now: _Situation, tool: str) -> DemoAnswer:
    answer = await now.connection.call(tool, {})
    now.tell(step_of(tool, {}, answer, GO_BY_IT, "it is what the server named", failed=answer.is_error), answer)
    return answer


async def _hand_over(now: _Situation) -> AgentCall | None:
    """Leave it to a model or a person."""
    words = now.decision.action.replace("_", " ")
    now.decide(HAND_OVER if words == "stop" else f"{words}: {HAND_OVER}")
    return None


_STEPS: dict[str, Callable[[_Situation], Awaitable[AgentCall | DemoAnswer | None]]] = {
    "retry": _again,
    "wait": _again,
    "fix_input": _mend,
    "use": _use,
    "verify": _verify,
    "escalate": _hand_over,
    "stop": _hand_over,
}
