"""What can be seen of retries: one line of the log for each, and what is wrong with a function."""

import asyncio
import logging
from typing import Any

import pytest

import failwell as fw
from tests.client.scripted import Naps, never

LIMITED = fw.RateLimited("Token sk-live-1234 made too many requests.", retry_after=3)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]


def test_each_retry_and_the_end_are_one_line_without_what_was_sent(caplog: pytest.LogCaptureFixture) -> None:
    async def limited() -> None:
        raise LIMITED

    with caplog.at_level(logging.DEBUG, "failwell"), pytest.raises(fw.RateLimited):
        asyncio.run(
            fw.acall(limited, policy=fw.Policy(attempts=2), server="desk", tool="search", sleep=Naps(), chance=never)
        )

    first, last = lines(caplog)
    assert first == (
        "search of desk: attempt 1 failed with RATE_LIMITED, trying again in 3 s: The server asked to wait this long."
    )
    assert last.startswith("search of desk: attempt 2 failed with RATE_LIMITED, giving up: ")
    assert "sk-live" not in caplog.text


def test_a_success_writes_no_line(caplog: pytest.LogCaptureFixture) -> None:
    async def fine() -> str:
        return "fine"

    with caplog.at_level(logging.DEBUG, "failwell"):
        assert asyncio.run(fw.acall(fine)) == "fine"

    assert caplog.text == ""


@pytest.mark.parametrize(
    ("key", "name"),
    [(("desk", "search"), "search of desk"), (("", "search"), "search"), (("desk", ""), "desk")],
    ids=["tool of a server", "tool", "server"],
)
def test_a_breaker_that_opens_or_closes_is_one_line(
    key: tuple[str, str], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    breaker = fw.retry.Breaker(most=2, pause=30)
    down = fw.Failure(code="SERVICE_UNAVAILABLE", message="Down.")

    with caplog.at_level(logging.INFO, "failwell"):
        breaker.failed(key, down, 1.0)
        breaker.failed(key, down, 2.0)
        breaker.succeeded(key)

    assert lines(caplog) == [
        f"calls to {name} are suspended for 30 s after 2 failures",
        f"calls to {name} are no longer suspended",
    ]


async def fine() -> str:
    return "fine"


def test_a_wait_for_a_suspended_tool_and_the_end_of_it_are_one_line_each(caplog: pytest.LogCaptureFixture) -> None:
    shared = fw.retry.Shared(fw.retry.Budget(), fw.retry.Breaker(most=1, pause=15), fw.retry.Repeats())
    shared.breaker.failed(("desk", "search"), fw.Failure(code="SERVICE_UNAVAILABLE", message="Down."), 0.0)
    naps = Naps()

    def made(policy: fw.Policy) -> str:
        settings: dict[str, Any] = {"shared": shared, "clock": lambda: sum(naps), "sleep": naps, "chance": never}
        return asyncio.run(fw.acall(fine, policy=policy, server="desk", tool="search", **settings))

    with caplog.at_level(logging.INFO, "failwell"):
        with pytest.raises(fw.ToolFailure):
            made(fw.Policy(longest=5))
        assert made(fw.Policy()) == "fine"

    assert lines(caplog) == [
        "search of desk: not sent: Calls to this tool are suspended after repeated failures.",
        "search of desk: waiting 15 s: Calls to this tool are suspended after repeated failures.",
        "calls to search of desk are no longer suspended",
    ]


def test_a_wait_for_a_turn_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    shared = fw.retry.Shared.new()
    shared.pacer.limited(("desk", "", "search"), LIMITED.failure, 0.0, jitter=0.0, longest=60)
    naps = Naps()

    with caplog.at_level(logging.INFO, "failwell"):
        settings: dict[str, Any] = {"shared": shared, "clock": lambda: sum(naps), "sleep": naps, "chance": never}
        assert asyncio.run(fw.acall(fine, server="desk", tool="search", **settings)) == "fine"

    [line] = lines(caplog)
    assert line.startswith("search of desk: waiting ")
    assert line.endswith(" s for its turn: The server limits how often this tool is called.")


@pytest.mark.parametrize("policy", [fw.Policy(), fw.Policy(timeout=5)], ids=["plain", "limited"])
def test_acall_of_a_synchronous_function_says_what_is_wrong(policy: fw.Policy) -> None:
    calls: list[str] = []

    def search() -> str:
        calls.append("search")
        return "found"

    wrong: Any = search
    with pytest.raises(TypeError, match=r"acall takes an async function, and .*search returned str: use fw\.call"):
        asyncio.run(fw.acall(wrong, policy=policy))

    assert calls == ["search"]


def test_a_type_error_of_the_function_itself_stays() -> None:
    async def broken() -> None:
        raise TypeError("unsupported operand")

    with pytest.raises(TypeError, match="unsupported operand"):
        asyncio.run(fw.acall(broken))
