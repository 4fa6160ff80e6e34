"""Effects happen once: the contract of docs/howto/idempotency.md, seen by a client of a real server of each SDK."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp
import pytest
from cryptography.fernet import Fernet
from fastmcp import FastMCP
from mcp.server import MCPServer

import failwell as fw
from failwell.server import (
    ClaimStore,
    Idempotency,
    MemoryClaims,
    Resolution,
    current_claim,
    idempotent,
    open_claims,
    verified_by,
)
from failwell.server._claims import StoreDown
from failwell.server._idempotency import Refusal, begin

KEY = "dev.failwell/idempotency_key"
REPLAYED = "dev.failwell/replayed"
A, B = "a-key-of-16-char", "b-key-of-16-char"

Call = Callable[..., Awaitable[Any]]


@pytest.fixture(params=["mcp", "fastmcp"])
def sdk(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


class Shop:
    """A server with one tool, `pay`, that counts its effects."""

    def __init__(self, sdk: str, pay: Callable[..., Any], **settings: Any) -> None:
        self.server: Any = MCPServer("shop") if sdk == "mcp" else FastMCP("shop")
        self.server.tool(name="pay")(pay)
        fw.protect(self.server, **settings)

    def run(self, *calls: tuple[int, str | None]) -> list[Any]:
        """What a client gets for these calls, one after another."""

        async def ask() -> list[Any]:
            async with mcp.Client(_of(self.server)) as client:
                return [await _pay(client, amount, key) for amount, key in calls]

        return asyncio.run(ask())


def _of(server: Any) -> Any:
    return server._mcp_server if isinstance(server, FastMCP) else server


async def _pay(client: Any, amount: int, key: str | None) -> Any:
    return await client.call_tool("pay", {"amount": amount}, meta={} if key is None else {KEY: key})


def _code(result: Any) -> str | None:
    failure = fw.read(result)
    return failure.code if failure else None


def test_the_same_key_gets_the_same_answer_and_no_second_effect(sdk: str) -> None:
    effects: list[int] = []

    @idempotent(MemoryClaims())
    def pay(amount: int) -> dict[str, int]:
        effects.append(amount)
        return {"receipt": len(effects)}

    first, again = Shop(sdk, pay).run((5, A), (5, A))

    assert effects == [5]
    assert (again.content, again.structured_content) == (first.content, first.structured_content)
    assert REPLAYED not in (first.meta or {})
    assert again.meta[REPLAYED] is True


def test_without_a_key_every_call_counts(sdk: str) -> None:
    effects: list[int] = []

    @idempotent(MemoryClaims())
    def pay(amount: int) -> str:
        effects.append(amount)
        return "paid"

    Shop(sdk, pay).run((5, None), (5, None))

    assert effects == [5, 5]


def test_a_tool_that_requires_a_key_refuses_calls_without(sdk: str) -> None:
    effects: list[int] = []

    @idempotent(MemoryClaims(), required=True)
    def pay(amount: int) -> str:
        effects.append(amount)
        return "paid"

    refused, taken = Shop(sdk, pay).run((5, None), (5, A))

    assert _code(refused) == "MISSING_REQUIRED_FIELD"
    assert not taken.is_error
    assert effects == [5]


@pytest.mark.parametrize("key", ["", "short", "x" * 256])
def test_a_key_has_16_to_255_characters(sdk: str, key: str) -> None:
    effects: list[int] = []

    @idempotent(MemoryClaims())
    def pay(amount: int) -> str:
        effects.append(amount)
        return "paid"

    (refused,) = Shop(sdk, pay).run((5, key))

    failure = fw.read(refused)
    assert failure is not None
    assert (failure.code, failure.outcome) == ("INVALID_FIELD_VALUE", "not_executed")
    assert effects == []


def test_other_arguments_under_a_key_are_refused(sdk: str) -> None:
    effects: list[int] = []

    @idempotent(MemoryClaims())
    def pay(amount: int) -> str:
        effects.append(amount)
        return "paid"

    _, other = Shop(sdk, pay).run((5, A), (6, A))

    failure = fw.read(other)
    assert failure is not None
    assert (failure.code, failure.retryable, failure.outcome) == ("IDEMPOTENCY_MISMATCH", False, "not_executed")
    assert effects == [5]


def test_keys_of_two_tools_do_not_meet(sdk: str) -> None:
    store = MemoryClaims()
    effects: list[str] = []

    @idempotent(store)
    def pay(amount: int) -> str:
        effects.append("pay")
        return "paid"

    @idempotent(store)
    def refund(amount: int) -> str:
        effects.append("refund")
        return "refunded"

    shop = Shop(sdk, pay)
    shop.server.tool(name="refund")(refund)

    async def ask() -> Any:
        async with mcp.Client(_of(shop.server)) as client:
            await _pay(client, 5, A)
            return await client.call_tool("refund", {"amount": 5}, meta={KEY: A})

    assert not asyncio.run(ask()).is_error
    assert effects == ["pay", "refund"]


def test_a_call_that_had_no_effect_may_be_made_again_with_its_key(sdk: str) -> None:
    tries: list[int] = []

    @idempotent(MemoryClaims())
    def pay(amount: int) -> str:
        tries.append(amount)
        if len(tries) == 1:
            raise fw.Locked("The account is locked.")
        return "paid"

    refused, taken = Shop(sdk, pay).run((5, A), (5, A))

    assert _code(refused) == "LOCKED"
    assert not taken.is_error
    assert REPLAYED not in (taken.meta or {})


def test_arguments_that_are_refused_do_not_use_up_the_key(sdk: str) -> None:
    effects: list[int] = []

    @idempotent(MemoryClaims())
    def pay(amount: int) -> str:
        effects.append(amount)
        return "paid"

    async def ask() -> Any:
        async with mcp.Client(_of(Shop(sdk, pay).server)) as client:
            wrong = await client.call_tool("pay", {"amount": "many"}, meta={KEY: A})
            return wrong, await _pay(client, 5, A)

    wrong, right = asyncio.run(ask())

    assert wrong.is_error
    assert not right.is_error
    assert effects == [5]


def test_an_unknown_outcome_stays_unknown(sdk: str) -> None:
    tries: list[int] = []

    @idempotent(MemoryClaims())
    def pay(amount: int) -> str:
        tries.append(amount)
        raise RuntimeError("lost the bank")

    answers = Shop(sdk, pay).run((5, A), (5, A), (5, A))

    assert [_code(answer) for answer in answers[1:]] == ["OUTCOME_UNKNOWN"] * 2
    later = fw.read(answers[1])
    assert later is not None
    assert (later.outcome, later.retryable) == ("unknown", False)
    assert fw.decide(later).action == "verify"
    assert tries == [5]


def test_an_executed_failure_is_replayed(sdk: str) -> None:
    tries: list[int] = []

    @idempotent(MemoryClaims())
    def pay(amount: int) -> str:
        tries.append(amount)
        raise fw.Internal("The card was charged, the mail was not sent.", outcome="executed")

    first, again = Shop(sdk, pay).run((5, A), (5, A))

    assert tries == [5]
    assert again.content == first.content
    assert again.meta[REPLAYED] is True


def test_a_call_that_still_runs_is_in_progress(sdk: str) -> None:
    effects: list[int] = []

    async def ask() -> Any:
        entered, go = anyio.Event(), anyio.Event()

        @idempotent(MemoryClaims())
        async def pay(amount: int) -> str:
            effects.append(amount)
            entered.set()
            await go.wait()
            return "paid"

        found: list[Any] = []
        async with mcp.Client(_of(Shop(sdk, pay).server)) as client, anyio.create_task_group() as group:

            async def first() -> None:
                found.append(await _pay(client, 5, A))

            group.start_soon(first)
            await entered.wait()
            busy = await _pay(client, 5, A)
            go.set()
        return busy, found[0]

    busy, first = asyncio.run(ask())

    failure = fw.read(busy)
    assert failure is not None
    assert (failure.code, failure.retryable, failure.outcome) == ("IDEMPOTENCY_IN_PROGRESS", True, "not_executed")
    assert failure.retry_after is not None
    assert fw.decide(failure).action == "retry"
    assert not first.is_error
    assert effects == [5]


def test_a_cancelled_call_is_unknown() -> None:
    effects: list[int] = []

    async def ask() -> Any:
        entered = anyio.Event()

        @idempotent(MemoryClaims())
        async def pay(amount: int) -> str:
            effects.append(amount)
            entered.set()
            await anyio.sleep_forever()
            return "paid"

        shop = Shop("mcp", pay)
        async with mcp.Client(shop.server) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(_pay, client, 5, A)
                await entered.wait()
                group.cancel_scope.cancel()
            while _code(found := await _pay(client, 5, A)) == "IDEMPOTENCY_IN_PROGRESS":
                await anyio.sleep(0.01)
            return found

    assert _code(asyncio.run(ask())) == "OUTCOME_UNKNOWN"
    assert effects == [5]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("happened", [False, True])
def test_a_resolver_settles_what_is_unknown(sdk: str, *, is_async: bool, happened: bool) -> None:
    tries: list[int] = []
    asked: list[tuple[str, Any]] = []

    def found(key: str, arguments: dict[str, Any]) -> Resolution | None:
        asked.append((key, arguments))
        return Resolution("receipt 7") if happened else None

    async def find(key: str, arguments: dict[str, Any]) -> Resolution | None:
        return found(key, arguments)

    @idempotent(MemoryClaims(), resolve=find if is_async else found)
    def pay(amount: int) -> str:
        tries.append(amount)
        if len(tries) == 1:
            raise RuntimeError("lost the bank")
        return "paid"

    _, again, third = Shop(sdk, pay).run((5, A), (5, A), (5, A))

    assert asked == [(A, {"amount": 5})]
    assert again.content[0].text == ("receipt 7" if happened else "paid")
    assert ((again.meta or {}).get(REPLAYED) is True) == happened
    assert third.meta[REPLAYED] is True
    assert len(tries) == (1 if happened else 2)


def test_a_resolver_that_cannot_tell_leaves_it_unknown(sdk: str) -> None:
    tries: list[int] = []

    def find(key: str, arguments: dict[str, Any]) -> Resolution | None:
        raise ConnectionError("the bank does not answer")

    @idempotent(MemoryClaims(), resolve=find)
    def pay(amount: int) -> str:
        tries.append(amount)
        raise RuntimeError("lost the bank")

    answers = Shop(sdk, pay).run((5, A), (5, A), (5, A))

    assert [_code(answer) for answer in answers[1:]] == ["OUTCOME_UNKNOWN"] * 2
    assert tries == [5]


def test_a_tool_that_passes_its_key_on_may_run_again(sdk: str) -> None:
    sent: list[str] = []

    @idempotent(MemoryClaims(), downstream=True)
    def pay(amount: int) -> str:
        claim = current_claim()
        assert claim is not None
        sent.append(claim.key)
        if len(sent) == 1:
            raise RuntimeError("lost the bank")
        return "paid"

    _, again = Shop(sdk, pay).run((5, A), (5, A))

    assert not again.is_error
    assert sent == [A, A]


def test_a_claim_settled_in_the_transaction_of_its_effect_is_sure(sdk: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE payments (amount INTEGER)")
    crashes = ["before commit", "after commit"]

    @idempotent(f"sqlite:///{path}", transactional=True)
    def pay(amount: int) -> str:
        crash = crashes.pop(0)
        claim = current_claim()
        assert claim is not None
        database = sqlite3.connect(path)
        try:
            with database:
                database.execute("INSERT INTO payments VALUES (?)", (amount,))
                claim.settle_in(database)
                if crash == "before commit":
                    raise RuntimeError(crash)
        finally:
            database.close()
        raise RuntimeError(crash)

    first, second, third = Shop(sdk, pay).run((5, A), (5, A), (5, A))

    with sqlite3.connect(path) as database:
        assert database.execute("SELECT amount FROM payments").fetchall() == [(5,)]
    assert first.is_error
    assert second.is_error
    failure = fw.read(third)
    assert failure is not None
    assert (failure.code, failure.outcome) == ("RESULT_NOT_KEPT", "executed")
    assert crashes == []


def test_a_worker_whose_claim_was_taken_over_must_not_commit(tmp_path: Path) -> None:
    store = open_claims(f"sqlite:///{tmp_path / 'shop.db'}")

    @idempotent(store, transactional=True)
    def pay(amount: int) -> str:
        claim = current_claim()
        assert claim is not None
        store.settle(claim.id, claim.owner, "unknown", None, retention=60)
        assert store.take_over(claim.id, "somebody else", claim.owner, lease=60)
        with sqlite3.connect(tmp_path / "shop.db") as database:
            claim.settle_in(database)
        return "paid"

    (answer,) = Shop("mcp", pay).run((5, A))

    assert _code(answer) == "CONFLICT"


class DownStore(MemoryClaims):
    """A store that does not answer at certain steps."""

    def __init__(self, *down: str) -> None:
        super().__init__()
        self.down = set(down)

    def claim(self, *args: Any, **kwargs: Any) -> Any:
        if "claim" in self.down:
            raise StoreDown("ConnectionError")
        return super().claim(*args, **kwargs)

    def settle(self, *args: Any, **kwargs: Any) -> bool:
        if "settle" in self.down:
            raise StoreDown("ConnectionError")
        return super().settle(*args, **kwargs)


@pytest.mark.parametrize(("choice", "effects"), [("refuse", 0), ("proceed", 1)])
def test_while_the_store_is_down_calls_are_refused_unless_the_author_chose_otherwise(
    sdk: str, choice: Any, effects: int
) -> None:
    seen: list[int] = []

    @idempotent(DownStore("claim"), on_store_failure=choice)
    def pay(amount: int) -> str:
        seen.append(amount)
        return "paid"

    (answer,) = Shop(sdk, pay).run((5, A))

    assert len(seen) == effects
    failure = fw.read(answer)
    assert (failure and (failure.code, failure.outcome)) == (
        None if effects else ("SERVICE_UNAVAILABLE", "not_executed")
    )


def test_an_effect_that_could_not_be_noted_is_not_made_again(sdk: str) -> None:
    seen: list[int] = []

    @idempotent(DownStore("settle"), lease=0.001)
    def pay(amount: int) -> str:
        seen.append(amount)
        return "paid"

    first, again = Shop(sdk, pay).run((5, A), (5, A))

    assert not first.is_error
    assert _code(again) in ("OUTCOME_UNKNOWN", "IDEMPOTENCY_IN_PROGRESS")
    assert seen == [5]


def test_stored_results_can_be_encrypted(sdk: str, tmp_path: Path) -> None:
    path = tmp_path / "effects.db"

    @idempotent(f"sqlite:///{path}", cipher=Fernet(Fernet.generate_key()))
    def pay(amount: int) -> str:
        return "a very private receipt"

    _, again = Shop(sdk, pay).run((5, A), (5, A))

    assert again.content[0].text == "a very private receipt"
    files = b"".join(found.read_bytes() for found in tmp_path.iterdir())
    assert b"private" not in files


def test_a_result_that_is_too_large_is_not_kept_and_not_made_again(sdk: str) -> None:
    seen: list[int] = []

    @idempotent(MemoryClaims(), largest_result=1000)
    def pay(amount: int) -> str:
        seen.append(amount)
        return "x" * 2000

    first, again = Shop(sdk, pay).run((5, A), (5, A))

    assert not first.is_error
    assert _code(again) == "RESULT_NOT_KEPT"
    assert seen == [5]


def test_tools_can_be_named_instead_of_marked(sdk: str) -> None:
    seen: list[int] = []

    def pay(amount: int) -> str:
        seen.append(amount)
        return "paid"

    Shop(sdk, pay, idempotent=["pay"], store=MemoryClaims()).run((5, A), (5, A))

    assert seen == [5]


def test_a_low_level_server_takes_keys_for_tools_that_are_named() -> None:
    from mcp import types
    from mcp.server.lowlevel import Server

    seen: list[Any] = []

    async def call(ctx: Any, params: Any) -> Any:
        seen.append(params.arguments)
        return types.CallToolResult(content=[types.TextContent(type="text", text="paid")])

    async def listed(ctx: Any, params: Any) -> Any:
        return types.ListToolsResult(tools=[types.Tool(name="pay", input_schema={"type": "object"})])

    server = Server("shop", on_call_tool=call, on_list_tools=listed)
    fw.protect(server, idempotent={"pay": Idempotency(MemoryClaims())})

    async def ask() -> Any:
        async with mcp.Client(server) as client:
            tools = await client.list_tools()
            return tools.tools[0].meta, await _pay(client, 5, A), await _pay(client, 5, A)

    meta, first, again = asyncio.run(ask())

    assert meta["dev.failwell/idempotency"]["retention"] == 24 * 3600
    assert len(seen) == 1
    assert again.content == first.content


def test_keys_are_declared_on_the_tool_and_in_the_capabilities_and_never_by_a_hint(sdk: str) -> None:
    @idempotent(MemoryClaims(), retention=3600)
    def pay(amount: int) -> str:
        return "paid"

    async def ask() -> Any:
        async with mcp.Client(_of(Shop(sdk, pay).server)) as client:
            return (await client.list_tools()).tools[0], client.server_capabilities

    tool, capabilities = asyncio.run(ask())

    assert tool.meta["dev.failwell/idempotency"] == {"retention": 3600, "required": False}
    assert tool.annotations is None or tool.annotations.idempotent_hint is None
    assert "dev.failwell/idempotency" in capabilities.extensions


def test_the_tool_that_verifies_an_effect_is_published_and_named_where_the_outcome_is_unknown(sdk: str) -> None:
    @verified_by("get_payment", reference="amount")
    def pay(amount: int) -> str:
        raise fw.TimedOut("The bank did not answer.")

    async def ask() -> Any:
        async with mcp.Client(_of(Shop(sdk, pay).server)) as client:
            return (await client.list_tools()).tools[0].meta, await _pay(client, 5, None)

    meta, answer = asyncio.run(ask())

    assert meta["dev.failwell/verified_by"] == {"tool": "get_payment", "arguments": {"reference": "amount"}}
    failure = fw.read(answer)
    assert failure is not None
    assert failure.outcome == "unknown"
    decision = fw.decide(failure)
    assert (decision.action, decision.actions) == ("verify", ("get_payment",))
    assert "get_payment" in answer.content[0].text


@pytest.mark.parametrize("is_late", [False, True])
def test_the_tool_that_verifies_comes_before_what_the_author_names(sdk: str, *, is_late: bool) -> None:
    @verified_by("get_payment")
    async def pay(amount: int) -> str:
        if is_late:
            await anyio.sleep_forever()
        raise fw.TimedOut("The bank did not answer.", actions=["call_bank"])

    (answer,) = Shop(sdk, pay, timeout=0.05 if is_late else None).run((5, None))

    failure = fw.read(answer)
    assert failure is not None
    assert failure.actions == (("get_payment",) if is_late else ("get_payment", "call_bank"))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"retention": 0}, "retention"),
        ({"abandoned_after": -1}, "abandoned_after"),
        ({"abandoned_after": float("nan")}, "abandoned_after"),
        ({"lease": float("nan")}, "lease"),
        ({"on_store_failure": "ignore"}, "on_store_failure"),
        ({"transactional": True}, "SQLite and PostgreSQL"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        idempotent(MemoryClaims(), **settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"retension": 5}, "did you mean 'retention'"),
        ({"retention": "5"}, "retention must be a number"),
        ({"resolve": 5}, "resolve must be a function"),
        ({"principal": "me"}, "principal must be a function"),
        ({"cipher": 5}, "encrypt"),
    ],
)
def test_settings_of_another_kind_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        idempotent(MemoryClaims(), **settings)


def test_the_decorator_without_a_store_is_refused() -> None:
    def pay() -> str:
        return "paid"

    decorate: Any = idempotent
    with pytest.raises(TypeError, match="needs a store"):
        decorate(pay)
    with pytest.raises(TypeError, match="ClaimStore"):
        decorate(None)


def test_a_pairing_takes_names() -> None:
    misused: Any = verified_by
    with pytest.raises(TypeError, match="'reference'"):
        misused("get_payment", reference=5)


@pytest.mark.parametrize("settings", [{"idempotent": {"pay": "sqlite:///x.db"}}, {"store": MemoryClaims()}])
def test_half_a_setting_of_protect_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="idempotent"):
        fw.protect(MCPServer("shop"), **settings)


class BrokenStore(MemoryClaims):
    """A store with a mistake in one of its methods."""

    def __init__(self, method: str) -> None:
        super().__init__()
        setattr(self, method, self._fail)

    def _fail(self, *_args: Any, **_settings: Any) -> Any:
        raise RuntimeError("a mistake")


class BrokenCipher:
    def encrypt(self, data: bytes) -> bytes:
        raise RuntimeError("no key")

    def decrypt(self, token: bytes) -> bytes:
        return token


def test_a_mistake_in_a_store_changes_only_what_that_call_is_told(sdk: str) -> None:
    answers = {}
    for method in ("claim", "settle"):

        @idempotent(BrokenStore(method))
        def pay(amount: int) -> str:
            return "paid"

        answers[method] = [_code(answer) for answer in Shop(sdk, pay).run((5, A), (5, A))]

    assert answers == {
        "claim": ["SERVICE_UNAVAILABLE", "SERVICE_UNAVAILABLE"],
        "settle": [None, "IDEMPOTENCY_IN_PROGRESS"],
    }


def test_a_result_that_cannot_be_encrypted_is_sent_and_not_kept(sdk: str) -> None:
    @idempotent(MemoryClaims(), cipher=BrokenCipher())
    def pay(amount: int) -> str:
        return "paid"

    first, second = Shop(sdk, pay).run((5, A), (5, A))

    assert not first.is_error
    assert _code(second) == "RESULT_NOT_KEPT"


@pytest.mark.parametrize(("who", "code"), [("fails", "UNAUTHORIZED"), ("awaits", None)])
def test_who_calls_may_be_looked_up_and_a_mistake_in_that_refuses_the_key(who: str, code: str | None) -> None:
    async def awaits(_context: Any) -> str:
        return "alice"

    def fails(_context: Any) -> str:
        raise RuntimeError("a mistake")

    @idempotent(MemoryClaims(), principal={"awaits": awaits, "fails": fails}[who])
    def pay(amount: int) -> str:
        return "paid"

    (answer,) = Shop("mcp", pay).run((5, A))

    assert _code(answer) == code


def test_odd_keys_and_arguments_change_only_their_own_answer() -> None:
    @idempotent(MemoryClaims())
    def pay(note: Any) -> str:
        return "paid"

    shop, half = Shop("mcp", pay), "\ud800"
    deep: Any = None
    for _ in range(150):
        deep = [deep]

    async def ask() -> list[Any]:
        async with mcp.Client(shop.server) as client:
            notes = [(half * 16, 1), (A, half), (A, half), (A, "x"), (B, deep), (B, deep)]
            return [await client.call_tool("pay", {"note": note}, meta={KEY: key}) for key, note in notes]

    answers = asyncio.run(ask())

    assert [_code(answer) or bool((answer.meta or {}).get(REPLAYED)) for answer in answers] == [
        "INVALID_FIELD_VALUE",
        False,
        True,
        "IDEMPOTENCY_MISMATCH",
        False,
        True,
    ]


def test_arguments_that_json_cannot_express_are_told_apart_or_refused() -> None:
    settings = Idempotency(MemoryClaims())
    endless: dict[str, Any] = {}
    endless["note"] = endless

    def refused(note: Any) -> str | None:
        beginning = begin(settings, key=A, principal="", server="s", tool="t", arguments={"note": note})
        return beginning.failure.code if isinstance(beginning, Refusal) else None

    said = [refused(note) for note in (endless, float("inf"), None, float("inf"))]
    assert said == ["VALIDATION_FAILED", None, "IDEMPOTENCY_MISMATCH", "IDEMPOTENCY_IN_PROGRESS"]


def test_names_without_a_store_are_refused() -> None:
    with pytest.raises(TypeError, match="store"):
        fw.protect(MCPServer("shop"), idempotent=["pay"])


def test_the_order_of_arguments_and_the_spelling_of_a_number_do_not_matter() -> None:
    seen: list[Any] = []

    @idempotent(MemoryClaims())
    def pay(amount: float, to: str = "x") -> str:
        seen.append(amount)
        return "paid"

    shop = Shop("mcp", pay)

    async def ask() -> Any:
        async with mcp.Client(shop.server) as client:
            await client.call_tool("pay", {"amount": 5, "to": "y"}, meta={KEY: A})
            return await client.call_tool("pay", {"to": "y", "amount": 5.0}, meta={KEY: A})

    assert not asyncio.run(ask()).is_error
    assert len(seen) == 1


def test_stores_keep_the_protocol() -> None:
    store: ClaimStore = MemoryClaims()
    assert store.renew("k", "a", lease=1) is False
