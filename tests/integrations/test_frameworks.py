"""What the adapters of agent frameworks share. The adapters are tested with their frameworks, in tests/stacks."""

import asyncio
import functools
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

import failwell as fw
from failwell.client._install import adapted
from failwell.integrations._frameworks import FailedResult, adapter_caller, call, connection_name, text_of
from failwell.testing import EventLog
from tests.client.scripted import FINE, LOST, Naps, Scripted, rpc
from tests.client.test_idempotency import ASKING, keyed, paired

RATE_LIMITED = fw.encode(fw.Failure(code="RATE_LIMITED", message="Only 10 searches a minute.", retry_after=0.5))
YEAR = fw.encode(fw.Failure(code="TIMEOUT", message="The bank did not answer.", retry_after=31_536_000))
TIMED_OUT = fw.encode(fw.TimedOut("The mail server did not answer."))
SENT = {"content": [{"type": "text", "text": "Sent."}], "isError": False}


class Paused(Exception):
    """What a framework raises to ask somebody: not a failure of the tool."""


class Tool:
    """A tool that answers in order, and notes what it is called with and whether it was asked what it is."""

    def __init__(self, *answers: Any, description: Any = None) -> None:
        self.answers = list(answers)
        self.description = description
        self.calls: list[dict[str, Any]] = []
        self.asked = 0

    async def make(self, arguments: dict[str, Any]) -> Any:
        self.calls.append(arguments)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def describe(self) -> Any:
        self.asked += 1
        return self.description


def run(tool: Tool, **options: Any) -> tuple[Any, list[float]]:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    caller = fw.client.Caller(sleep=sleep, chance=lambda: 0.0, **options)
    made = call(caller, tool.make, server="mail", tool="send", arguments={"to": "ada"}, describe=tool.describe)
    return asyncio.run(made), waits


def test_a_success_is_the_very_object_and_nobody_asks_what_the_tool_is() -> None:
    tool = Tool(SENT)

    result, waits = run(tool)

    assert result is SENT
    assert (tool.calls, tool.asked, waits) == ([{"to": "ada"}], 0, [])


def test_a_rate_limit_is_waited_out() -> None:
    tool = Tool(RATE_LIMITED, SENT)

    result, waits = run(tool)

    assert result is SENT
    assert waits == [0.5]


@pytest.mark.parametrize(("annotations", "calls"), [({}, 1), ({"readOnlyHint": True}, 2)], ids=["acts", "reads"])
def test_an_ambiguous_failure_is_retried_only_if_the_tool_says_it_is_safe(
    annotations: dict[str, bool], calls: int
) -> None:
    tool = Tool(TIMED_OUT, SENT, description={"name": "send", "annotations": annotations})

    result, _ = run(tool)

    assert len(tool.calls) == calls
    assert tool.asked == 1
    assert isinstance(result, FailedResult) is (calls == 1)


def test_a_json_rpc_error_becomes_a_result_with_a_failure() -> None:
    result, _ = run(Tool(MCPError(-32602, "to must be an address")))

    assert isinstance(result, FailedResult)
    assert result.failure.code == "INVALID_ARGUMENT"
    assert "Next: Correct the value, then call again." in text_of(result)


def test_a_page_that_the_user_must_open_is_named_to_the_model() -> None:
    asked = {"mode": "url", "elicitationId": "1", "url": "https://bank.example/confirm", "message": "Please confirm."}

    result, _ = run(Tool(MCPError(-32042, "Confirm the payment.", {"elicitations": [asked]})))

    assert "Confirm the payment. The user must open https://bank.example/confirm" in text_of(result)
    assert result.failure.outcome == "rejected"


def test_a_page_is_named_also_where_only_the_session_acts() -> None:
    server, caller = Scripted(), fw.client.Caller()
    asked = {"mode": "url", "elicitationId": "1", "url": "https://bank.example/confirm", "message": "Please confirm."}
    server.tool("pay", rpc(-32042, "Confirm the payment.", {"elicitations": [asked]}))

    async def main() -> Any:
        async with server.connected() as session:
            token = adapted.set(True)  # as the adapter of ADK does
            try:
                return await session.call_tool("pay", {})
            finally:
                adapted.reset(token)

    try:
        adapter_caller(caller)
        result = asyncio.run(main())
    finally:
        fw.uninstall()

    assert "The user must open https://bank.example/confirm" in text_of(result)


def test_what_a_framework_raises_passes_untouched() -> None:
    asking = Paused("may I?")

    with pytest.raises(Paused) as raised:
        run(Tool(asking))

    assert raised.value is asking


def test_a_fallback_is_marked_as_one() -> None:
    tool = Tool(*[TIMED_OUT] * 3, description={"annotations": {"readOnlyHint": True}})

    result, _ = run(tool, fallbacks={"send": lambda failure, arguments: "put in the outbox"})

    assert isinstance(result, FailedResult)
    assert result.is_fallback
    assert "fallback" in text_of(result)
    assert "put in the outbox" in text_of(result)


def test_connections_without_a_name_do_not_share_one() -> None:
    class Connection:
        pass

    one, other = Connection(), Connection()

    assert connection_name(one) == connection_name(one) != connection_name(other)
    assert connection_name({}) != connection_name(one)


def test_a_call_that_succeeded_is_not_made_again_because_the_session_cannot_list_the_tools() -> None:
    server, caller = Scripted(), fw.client.Caller(fw.Policy(repeatable=True), sleep=Naps())
    server.tool("send", FINE)
    server.listing_error = rpc(-32000, "Busy.", RATE_LIMITED["_meta"]["dev.failwell/failure"])

    async def main() -> Any:
        async with server.connected() as session:
            send = functools.partial(session.call_tool, "send")
            return await call(caller, send, server="mail", tool="send", arguments={}, describe=lambda: None)

    try:
        adapter_caller(caller)
        result = asyncio.run(main())
    finally:
        fw.uninstall()

    assert not result.is_error
    assert server.count("send") == 1


@pytest.mark.parametrize(("trust", "calls"), [(True, 3), (False, 1)])
def test_a_call_with_a_key_is_made_again_although_the_framework_does_not_know_what_the_server_says_of_keys(
    calls: int, *, trust: bool
) -> None:
    server, caller = keyed(LOST, LOST, FINE), fw.client.Caller(trust=trust, sleep=Naps())

    async def main() -> Any:
        async with server.connected() as session:
            pay = functools.partial(fw.wrap(session).call_tool, "pay")
            return await call(caller, pay, server="shop", tool="pay", arguments={"cents": 5}, describe=lambda: None)

    result = asyncio.run(main())

    assert result.is_error == (calls == 1)
    assert (len(server.keys), len(set(server.keys))) == (calls, 1)
    assert server.keys[0] is not None


def test_an_unknown_outcome_is_resolved_by_the_session_that_the_framework_calls() -> None:
    server, log = paired(LOST), EventLog()
    caller = fw.client.Caller(ASKING, sleep=Naps(), hook=log)

    async def main() -> Any:
        async with server.connected() as session:
            pay = functools.partial(session.call_tool, "pay")
            return await call(caller, pay, server="shop", tool="pay", arguments={"order": "1"}, describe=lambda: None)

    try:
        adapter_caller(caller)
        result = asyncio.run(main())
    finally:
        fw.uninstall()

    assert server.calls == [("pay", {"order": "1"}), ("get_payment", {"reference": "1"})]
    assert result.failure.outcome == "executed"
    assert "get_payment shows that the call took effect" in text_of(result)
    assert [event.kind for event in log.events] == ["verified", "failure"]


PAIRING = {"tool": "get_payment", "arguments": {"reference": "order"}}


def pay_by_adapter(server: Scripted, call_other: Any = None, describe: Any = lambda: None, **options: Any) -> Any:
    """Let an adapter pay, and ask by the session too, or by *call_other*."""
    caller = fw.client.Caller(ASKING, sleep=Naps(), **options)

    async def main() -> Any:
        async with server.connected() as session:
            return await call(
                caller,
                functools.partial(session.call_tool, "pay"),
                server="shop",
                tool="pay",
                arguments={"order": "1"},
                describe=describe,
                call_other=call_other or session.call_tool,
            )

    try:
        adapter_caller(caller)
        return asyncio.run(main())
    finally:
        fw.uninstall()


@pytest.mark.parametrize(
    ("answers", "asked", "outcome"),
    [((LOST, FINE), 0, None), ((LOST, LOST, LOST), 1, "executed"), ((LOST, YEAR), 1, "executed")],
    ids=["another try succeeds", "no tries left", "too long a wait"],
)
def test_whether_a_call_with_a_key_took_effect_is_asked_after_its_last_try(
    answers: tuple[Any, ...], asked: int, outcome: str | None
) -> None:
    server, log = keyed(*answers, verified_by=PAIRING), EventLog()
    server.tool("get_payment", FINE, annotations={"readOnlyHint": True})

    result = pay_by_adapter(server, hook=log)

    assert [name for name, _ in server.calls] == ["pay"] * len(answers) + ["get_payment"] * asked
    assert len(set(server.keys[: len(answers)])) == 1
    assert (result.failure.outcome if outcome else None) == outcome
    assert log.events[-1].kind == ("verified" if asked else "recovered")


def test_a_tool_that_is_not_known_to_change_nothing_is_not_asked() -> None:
    server = keyed(LOST, verified_by=PAIRING)
    server.tool("get_payment", FINE)

    result = pay_by_adapter(server)

    assert server.count("get_payment") == 0
    assert result.failure.outcome == "unknown"


def test_a_question_that_the_framework_cannot_ask_does_not_end_the_run() -> None:
    server = keyed(LOST, verified_by=PAIRING)
    server.tool("get_payment", FINE, annotations={"readOnlyHint": True})

    async def refuse(name: str, arguments: dict[str, Any]) -> Any:
        raise Paused(name, arguments)

    result = pay_by_adapter(server, refuse)

    assert isinstance(result, FailedResult)
    assert result.failure.outcome == "unknown"


@pytest.mark.parametrize(("now", "calls"), [({"readOnlyHint": True}, 2), ({}, 1)], ids=["as before", "taken back"])
def test_what_a_tool_no_longer_promises_counts_although_the_framework_still_believes_it(
    now: dict[str, bool], calls: int
) -> None:
    server = Scripted()
    server.tool("pay", LOST, FINE, annotations=now)

    result = pay_by_adapter(server, describe=lambda: {"annotations": {"readOnlyHint": True}})

    assert server.count("pay") == calls
    assert isinstance(result, FailedResult) is (calls == 1)


@pytest.mark.parametrize(
    ("answers", "calls", "seen"),
    [
        ((RATE_LIMITED, SENT), 2, "Sent."),
        ((TIMED_OUT, RATE_LIMITED), 2, "may have taken effect"),
        ((RATE_LIMITED, RATE_LIMITED, SENT), 3, "Sent."),
    ],
    ids=["and succeeds", "and may have had an effect before", "and fails again"],
)
def test_a_call_that_the_framework_repeats_by_itself_is_not_made_once_too_often(
    answers: tuple[Any, ...], calls: int, seen: str
) -> None:
    server, caller = Scripted(), fw.client.Caller(sleep=Naps())
    server.tool("send", *answers, *[SENT] * 3)

    async def main() -> Any:
        async with server.connected() as session:

            async def repeat(arguments: dict[str, Any]) -> Any:
                result = await session.call_tool("send", arguments)
                return await session.call_tool("send", arguments) if result.is_error else result

            return await call(caller, repeat, server="mail", tool="send", arguments={}, describe=lambda: None)

    try:
        adapter_caller(caller)
        result = asyncio.run(main())
    finally:
        fw.uninstall()

    assert server.count("send") == calls
    assert seen in text_of(result)
