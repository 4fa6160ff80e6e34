"""fastmcp's Client: what it raises carries the failure, installed or wrapped."""

import pickle
from typing import Any

import anyio
import pytest

import failwell as fw
from tests.client.scripted import Naps, never
from tests.matrix import sdks

if "fastmcp" not in sdks.KINDS:
    pytest.skip("another SDK is tested", allow_module_level=True)

from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError

from failwell.integrations.fastmcp import FailedCall

BUSY = fw.RateLimited("Too many requests.", retry_after=3)
HOOKS = ("installed", "wrapped")


class Counted:
    """A protected server whose tool fails as often as it is told."""

    def __init__(self, failures: int = 100) -> None:
        self.calls = 0
        self.server = FastMCP("counted")

        @self.server.tool
        def send(to: str = "") -> str:
            self.calls += 1
            if self.calls <= failures:
                raise BUSY
            return f"sent to {to}"

        fw.protect(self.server)


def ask(server: Counted, how: str, *, again: bool = False, call: dict[str, Any] | None = None, **options: Any) -> Any:
    async def main() -> Any:
        client = Client(server.server)
        options.setdefault("sleep", Naps())
        if how == "installed":
            fw.install(chance=never, **options)
        elif how == "wrapped":
            assert fw.wrap(client, chance=never, **options) is client
        if again:
            client = client.new()
        async with client:
            try:
                return await client.call_tool("send", {"to": "ann"}, **(call or {}))
            except Exception as exc:
                return exc

    return anyio.run(main)


@pytest.mark.parametrize("how", HOOKS)
def test_a_rate_limit_is_waited_out(how: str) -> None:
    server, naps = Counted(failures=2), Naps()

    result = ask(server, how, sleep=naps)

    assert (result.data, server.calls, naps) == ("sent to ann", 3, [3, 3])


@pytest.mark.parametrize("how", HOOKS)
def test_what_is_raised_is_a_tool_error_with_the_failure(how: str) -> None:
    server = Counted()

    raised = ask(server, how)

    assert isinstance(raised, ToolError)
    assert isinstance(raised, fw.ToolFailure)
    assert (raised.failure.code, raised.failure.retry_after, server.calls) == ("RATE_LIMITED", 3, 3)
    assert str(raised).startswith("TRANSIENT, RATE_LIMITED in send: Too many requests.\nNext: ")
    assert fw.read(raised) == raised.failure
    assert raised.result.raw is not None


def test_without_us_there_is_only_text() -> None:
    server = Counted()

    raised = ask(server, "bare")

    assert type(raised) is ToolError
    assert server.calls == 1


@pytest.mark.parametrize("how", HOOKS)
def test_who_does_not_want_it_raised_gets_the_result(how: str) -> None:
    result = ask(Counted(), how, call={"raise_on_error": False})

    found = fw.read(result)
    assert found is not None
    assert (result.is_error, found.code) == (True, "RATE_LIMITED")


@pytest.mark.parametrize("how", HOOKS)
def test_a_fallback_is_no_error(how: str) -> None:
    result = ask(Counted(), how, fallbacks={"send": lambda failure, arguments: "kept for later"})

    assert not result.is_error
    assert (
        result.content[0].text == "send failed (RATE_LIMITED). This is a fallback value, not a result:\nkept for later"
    )


def test_a_copy_of_a_wrapped_client_is_wrapped_and_calls_for_itself() -> None:
    server = Counted(failures=1)

    result = ask(server, "wrapped", again=True)

    assert (result.data, server.calls) == ("sent to ann", 2)


def test_wrapping_twice_is_one_layer() -> None:
    client = fw.wrap(fw.wrap(Client(FastMCP("empty")), fw.Policy(attempts=5)), fw.Policy(attempts=2))

    assert [cls.__name__ for cls in type(client).__mro__].count("Client") == 2
    assert isinstance(client, Client)


def test_uninstall_puts_the_client_back() -> None:
    before = dict(vars(Client))

    ask(Counted(), "installed")
    during = dict(vars(Client))
    fw.uninstall()

    assert during != before
    assert dict(vars(Client)) == before


def test_the_error_travels() -> None:
    raised = ask(Counted(), "installed")

    copied = pickle.loads(pickle.dumps(raised))

    assert type(copied) is FailedCall
    assert (str(copied), copied.failure) == (str(raised), raised.failure)
