"""Idempotency keys: one for each call, the same on every try, for servers that take them; and asking afterwards."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import failwell as fw
from failwell.server import MemoryClaims
from failwell.testing import EventLog
from tests.client.scripted import BUSY, FINE, LOST, Naps, Scripted, never, rpc
from tests.client.test_http_refusals import OUTDATED, Credentials
from tests.client.test_wrap import ask, run, text
from tests.matrix import sdks
from tests.matrix.test_http import served

KEY, DECLARED, VERIFIED_BY = (f"dev.failwell/{name}" for name in ("idempotency_key", "idempotency", "verified_by"))
OPEN = fw.encode(fw.Failure(code="OUTCOME_UNKNOWN", message="Nobody knows."))
NO_KEYS = fw.encode(fw.Failure(code="UNAUTHORIZED", message="Authenticated callers only.", outcome="not_executed"))
MISSING = fw.encode(fw.NotFound("There is no such payment.").failure)


class Keyed(Scripted):
    """A server whose tools take keys, and that notes which key came with which call."""

    def __init__(self, *, declares: bool = True) -> None:
        super().__init__()
        self.keys: list[str | None] = []
        self.declares = declares

    def respond(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/call":
            self.keys.append((params.get("_meta") or {}).get(KEY))
        answer = super().respond(method, params)
        if method == "initialize" and self.declares:
            answer["capabilities"]["experimental" if sdks.HAS_MCP_1 else "extensions"] = {DECLARED: {}}
        return answer


def keyed(
    *answers: Any, retention: Any = 60, declares: bool = True, verified_by: Any = None, **described: Any
) -> Keyed:
    server = Keyed(declares=declares)
    meta = {DECLARED: {"retention": retention, "required": False}, VERIFIED_BY: verified_by}
    server.tool("pay", *answers, _meta=meta, **described)
    return server


def test_an_unknown_outcome_is_retried_with_the_same_key() -> None:
    server = keyed(LOST, LOST, FINE)

    result = ask(server, "pay", {"cents": 5})

    assert text(result) == "fine"
    assert len(server.keys) == 3
    assert len(set(server.keys)) == 1
    assert 16 <= len(server.keys[0] or "") <= 255


def test_each_call_has_a_key_of_its_own() -> None:
    server = keyed(FINE)

    async def steps(session: Any) -> None:
        await session.call_tool("pay", {"cents": 5})
        await session.call_tool("pay", {"cents": 5})

    run(server, steps)

    assert len(set(server.keys)) == 2
    assert None not in server.keys


def test_a_server_that_declares_nothing_gets_no_key() -> None:
    server = keyed(LOST, FINE, declares=False)

    result = ask(server, "pay", {"cents": 5})

    assert server.keys == [None]
    assert result.failure.outcome == "unknown"


@pytest.mark.parametrize("retention", [None, 0, -1, "60", True, float("nan"), 1e400])
def test_a_tool_without_a_retention_is_not_called_again(retention: Any) -> None:
    server = keyed(LOST, FINE, retention=None if retention != retention or retention == 1e400 else retention)

    ask(server, "pay", {"cents": 5})

    assert server.count("pay") == 1


def test_a_key_is_not_tried_again_beyond_its_retention(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("failwell.retry._call_key.monotonic", lambda: now[0])

    def late(_: Any) -> Any:
        now[0] += 61
        return LOST

    server = keyed(late, FINE)
    result = ask(server, "pay", {"cents": 5})

    assert server.count("pay") == 1
    assert result.failure.outcome == "unknown"


class Clock:
    """Time that passes only while somebody sleeps, and then a little more than was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, oversleeps: float = 0.0) -> None:
        self.now = 1000.0
        self._oversleeps = oversleeps
        monkeypatch.setattr("failwell.retry._call_key.monotonic", self.tell)

    def tell(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds + self._oversleeps


LATER = fw.encode(fw.Failure(code="TIMEOUT", message="The upstream did not answer.", retry_after=10))


@pytest.mark.parametrize(
    ("retention", "oversleeps", "calls"), [(5, 0.0, 1), (10, 0.0, 1), (11, 2.0, 1), (11, 0.0, 2), (60, 2.0, 2)]
)
@pytest.mark.parametrize("is_outer", [False, True], ids=["by the session", "further out"])
def test_a_key_that_is_forgotten_before_the_next_try_makes_no_call_safe(
    retention: float, oversleeps: float, calls: int, *, is_outer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, clock, log = keyed(LATER, FINE, retention=retention), Clock(monkeypatch, oversleeps=oversleeps), EventLog()

    async def steps(session: Any) -> Any:
        async def pay() -> Any:
            return await session.call_tool("pay", {"cents": 5})

        return await (fw.acall(pay, clock=clock.tell, sleep=clock.sleep, hook=log) if is_outer else pay())

    result = run(server, steps, clock=clock.tell, sleep=clock.sleep, **({} if is_outer else {"hook": log}))

    assert server.count("pay") == calls
    if calls == 1:
        assert result.failure.outcome == "unknown"
        assert "may have taken effect" in text(result)
        assert "does not remember the idempotency key" in (log.events[-1].reason or "")


def test_a_try_within_the_retention_makes_no_later_one_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    server, clock = keyed(LATER, LATER, FINE, retention=15), Clock(monkeypatch)

    async def steps(session: Any) -> Any:
        async def pay() -> Any:
            return await session.call_tool("pay", {"cents": 5})

        return await fw.acall(pay, clock=clock.tell, sleep=clock.sleep)

    run(server, steps)

    assert server.count("pay") == 2


def test_a_server_that_is_not_trusted_is_not_believed_to_remember_keys() -> None:
    server = keyed(LOST, FINE)

    ask(server, "pay", {"cents": 5}, trust=False)

    assert server.count("pay") == 1


def test_a_key_whose_outcome_the_server_does_not_know_is_not_tried_again() -> None:
    server = keyed(LOST, OPEN, FINE)

    result = ask(server, "pay", {"cents": 5})

    assert server.count("pay") == 2
    assert result.failure.outcome == "unknown"
    assert "may have taken effect" in text(result)


def test_a_model_is_not_invited_to_repeat_a_call_whose_key_it_does_not_have() -> None:
    result = ask(keyed(LOST), "pay", {"cents": 5})

    assert "may have taken effect" in text(result)
    assert "safe to repeat" not in text(result)


def test_the_key_that_the_application_gives_stays() -> None:
    server = keyed(LOST, FINE)

    async def steps(session: Any) -> Any:
        return await session.call_tool("pay", {"cents": 5}, meta={KEY: "order-4711-payment-1"})

    assert text(run(server, steps)) == "fine"
    assert server.keys == ["order-4711-payment-1"] * 2


def test_a_server_that_takes_no_keys_from_this_caller_is_called_without() -> None:
    server = keyed(NO_KEYS, FINE)

    async def steps(session: Any) -> Any:
        return [await session.call_tool("pay", {"cents": cents}) for cents in (5, 6)]

    first, second = run(server, steps)

    assert text(first) == text(second) == "fine"
    assert [key is not None for key in server.keys] == [True, False, False]


def test_renewed_credentials_leave_a_call_its_key() -> None:
    server, credentials = keyed(OUTDATED, LOST, FINE), Credentials()

    async def main(url: str) -> Any:
        async with sdks.session("mcp", url) as connected:
            session = fw.wrap(connected, sleep=Naps(), refresh=credentials.refresh)
            return await session.call_tool("pay", {"cents": 5})

    with server.over_http() as url:
        result = anyio.run(main, url)

    assert text(result) == "fine"
    assert (credentials.renewed, len(server.keys), len(set(server.keys))) == (1, 3, 1)
    assert server.keys[0] is not None


def test_retries_further_out_keep_the_key_too() -> None:
    server = keyed(LOST, FINE)

    async def steps(session: Any) -> Any:
        return await fw.acall(lambda: session.call_tool("pay", {"cents": 5}), sleep=Naps(), chance=never)

    assert text(run(server, steps)) == "fine"
    assert len(server.keys) == 2
    assert len(set(server.keys)) == 1


@pytest.mark.parametrize("era", sdks.ERAS)
def test_a_real_server_pays_once_although_the_answer_was_lost(era: str) -> None:
    server, charged, losses = sdks.new("mcp", "shop"), [], [fw.TimedOut("The answer got lost.")]

    @fw.idempotent(MemoryClaims(), principal=lambda _: "ann")
    def pay(cents: int) -> str:
        charged.append(cents)
        return f"paid {cents}"

    server.tool()(pay)
    fw.protect(server)

    async def main(url: str) -> Any:
        async with sdks.session("mcp", url, era) as connected:
            session = getattr(connected, "session", connected)
            bare: Callable[..., Any] = session.call_tool

            async def lossy(*args: Any, **options: Any) -> Any:
                result = await bare(*args, **options)
                if losses:
                    raise sdks.rpc_error(-32000, "Connection closed") from losses.pop()
                return result

            session.call_tool = lossy
            return await fw.wrap(session, sleep=Naps()).call_tool("pay", {"cents": 5})

    with served(server.streamable_http_app()) as url:
        result = anyio.run(main, url)

    assert text(result) == "paid 5"
    assert charged == [5]
    assert not losses


def paired(*answers: Any, verified: Any = FINE, annotations: Any = None) -> Scripted:
    server = Scripted()
    pairing = {"tool": "get_payment", "arguments": {"reference": "order"}}
    server.tool("pay", *answers, _meta={VERIFIED_BY: pairing})
    server.tool("get_payment", verified, annotations=annotations or {"readOnlyHint": True})
    return server


ASKING = fw.Policy(verify=True)


def test_an_unknown_outcome_is_resolved_by_asking_the_tool_that_tells() -> None:
    server, log = paired(LOST), EventLog()

    result = ask(server, "pay", {"order": "4711", "cents": 5}, policy=ASKING, hook=log)

    assert server.calls == [("pay", {"order": "4711", "cents": 5}), ("get_payment", {"reference": "4711"})]
    assert result.failure.outcome == "executed"
    assert "get_payment shows that the call took effect" in text(result)
    assert "Do not repeat it" in text(result)
    assert [event.kind for event in log.events] == ["failure", "verified"]


def test_what_is_not_found_may_still_take_effect() -> None:
    result = ask(paired(LOST, verified=MISSING), "pay", {"order": "4711"}, policy=ASKING)

    assert result.failure.outcome == "unknown"
    assert "get_payment does not show it yet" in text(result)


@pytest.mark.parametrize(
    ("server", "options"),
    [
        (paired(LOST), {}),
        (paired(LOST, annotations={"readOnlyHint": False}), {"policy": ASKING}),
        (paired(LOST), {"policy": ASKING, "trust": False}),
        (paired(BUSY), {"policy": ASKING}),
    ],
    ids=["not asked for", "not read-only", "not trusted", "known"],
)
def test_nothing_is_asked_where_that_is_not_allowed_or_not_needed(server: Scripted, options: dict[str, Any]) -> None:
    ask(server, "pay", {"order": "4711"}, **options)

    assert server.count("get_payment") == 0


def test_a_tool_that_lacks_the_argument_is_not_asked() -> None:
    server = paired(LOST)

    result = ask(server, "pay", {"cents": 5}, policy=ASKING)

    assert server.count("get_payment") == 0
    assert result.failure.outcome == "unknown"


def test_a_question_that_cannot_be_asked_changes_nothing() -> None:
    server = paired(LOST, verified=rpc(-32601, "Method not found"))  # for a call of the agent, an error of the program

    result = ask(server, "pay", {"order": "4711"}, policy=ASKING)

    assert server.count("get_payment") == 1
    assert result.failure.outcome == "unknown"


def test_the_tool_that_tells_is_asked_on_the_new_connection_where_the_old_one_broke() -> None:
    servers: list[Scripted] = []

    @asynccontextmanager
    async def connect() -> AsyncIterator[Any]:
        server = paired(lambda _: server.notify.aclose)  # it is called, and the connection breaks before it answers
        servers.append(server)
        async with server.connected() as session:
            yield session

    async def main() -> Any:
        async with connect() as session:
            return await fw.wrap(session, ASKING, reconnect=connect).call_tool("pay", {"order": "4711"})

    result = anyio.run(main)

    assert [server.calls for server in servers] == [
        [("pay", {"order": "4711"})],
        [("get_payment", {"reference": "4711"})],
    ]
    assert result.failure.outcome == "executed"
