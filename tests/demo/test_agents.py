"""The two agents of the demo: what each does about an answer."""

import asyncio
from typing import Any

import pytest

import failwell as fw
from failwell.demo.agents import decide_by_words, run_informed_agent, run_plain_agent
from failwell.demo.client import DemoAnswer, DemoConnection, DemoTool
from failwell.demo.scenes import AgentStep, Scene

SCENE = Scene(title="a scene", tool="send", arguments={"to": "ann"}, proof="sent")
SENT = DemoAnswer(fw.success("sent to ann"))
NOTHING = DemoAnswer(fw.success("nothing"))


class Scripted:
    """A connection that answers as it is told, the last answer for ever."""

    def __init__(self, *answers: DemoAnswer | fw.ToolFailure) -> None:
        self.tools = {"send": DemoTool({}, {}), "list_sent": DemoTool({}, {"readOnlyHint": True})}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._answers = [one if isinstance(one, DemoAnswer) else DemoAnswer(fw.encode(one)) for one in answers]

    async def call(self, tool: str, arguments: dict[str, Any]) -> DemoAnswer:
        self.calls.append((tool, arguments))
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def flat(text: str, *, is_error: bool = True) -> DemoAnswer:
    return DemoAnswer({"content": [{"type": "text", "text": text}], "isError": is_error})


def attended(attend: Any, connection: Scripted) -> tuple[DemoAnswer | None, list[str]]:
    decided: list[str] = []

    def tell(step: AgentStep, answer: DemoAnswer) -> None:
        decided.append(step.decided)

    return asyncio.run(attend(connection, SCENE, tell)), decided


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("failwell.demo.scenes.PACE", 0.0)


@pytest.mark.parametrize(
    ("text", "attempt", "decided", "delay"),
    [
        ("Request timed out", 1, "retry in 1 s", 1.0),
        ("503 Service Unavailable", 2, "retry in 2 s", 2.0),
        ("database is locked", 3, "hand it over", None),
        ("There is no order o-9.", 1, "hand it over", None),
    ],
)
def test_the_bare_agent_goes_by_words(text: str, attempt: int, decided: str, delay: float | None) -> None:
    following = decide_by_words(flat(text), attempt)

    assert (following.decided, following.delay) == (decided, delay)


def test_the_bare_agent_believes_what_is_not_flagged() -> None:
    assert decide_by_words(flat("Error: timed out", is_error=False), 1).decided == "take it"


def test_the_bare_agent_calls_three_times_at_most() -> None:
    connection = Scripted(flat("timed out"))

    assert attended(run_plain_agent, connection) == (None, ["retry in 1 s", "retry in 2 s", "hand it over"])
    assert len(connection.calls) == 3


class Refusing:
    async def call_tool(self, tool: str, arguments: dict[str, Any]) -> None:
        raise RuntimeError(f"Unknown tool: {tool}")


def test_an_error_of_the_protocol_is_an_answer_too() -> None:
    session: Any = Refusing()

    refused = asyncio.run(DemoConnection(session, {}).call("send", {}))

    assert (refused.is_error, refused.text) == (True, "Unknown tool: send")
    assert attended(run_informed_agent, Scripted(refused))[0] is None


@pytest.mark.parametrize(
    ("failure", "decided"),
    [
        (fw.TimedOut("It took too long."), "verify: hand it over"),
        (fw.Denied("Only owners may."), "escalate: hand it over"),
        (fw.Internal("It is broken."), "hand it over"),
        (fw.Conflict("Somebody holds it."), "wait: hand it over"),
        (fw.Invalid("The address is wrong."), "fix input: hand it over"),
        (fw.NotFound("There is no ann.", actions=["elsewhere"]), "use: hand it over"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, fw.ToolFailure) else "",
)
def test_the_informed_agent_hands_over_what_it_cannot_mend_after_one_call(
    failure: fw.ToolFailure, decided: str
) -> None:
    connection = Scripted(failure)

    assert attended(run_informed_agent, connection) == (None, [decided])
    assert len(connection.calls) == 1


def test_the_informed_agent_gives_up_a_lock_that_stays() -> None:
    connection = Scripted(fw.Locked("Bob is editing it.", retry_after=10))

    assert attended(run_informed_agent, connection) == (None, ["retry in 10 s", "wait 10 s", "wait: hand it over"])


def test_a_mail_that_cannot_be_found_is_not_sent_again() -> None:
    connection = Scripted(fw.TimedOut("It took too long.", actions=["list_sent"]), NOTHING)

    assert attended(run_informed_agent, connection) == (None, ["verify with list_sent", "go by it"])
    assert [tool for tool, _ in connection.calls] == ["send", "list_sent"]


def test_a_name_is_only_replaced_by_one_that_is_alike() -> None:
    missing = fw.NotFound("There is no ann.", details={"to": "ann"}, actions=["list_sent"])
    alike, other = Scripted(missing, DemoAnswer(fw.success("bob anne")), SENT), Scripted(missing, NOTHING)

    assert attended(run_informed_agent, alike)[0] == SENT
    assert alike.calls[-1] == ("send", {"to": "anne"})
    assert attended(run_informed_agent, other)[0] is None
