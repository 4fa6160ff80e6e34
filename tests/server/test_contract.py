"""A tool declares what it raises; tests hold it to that."""

import asyncio
from typing import Any

import pytest

import failwell as fw


@fw.raises(fw.NotFound, "DEADLOCK", "OUT_OF_PAPER")
def tool(how: str = "") -> Any:
    match how:
        case "declared":
            raise fw.NotFound("m")
        case "alias":
            raise fw.NotFound("m", code="RESOURCE_NOT_FOUND")
        case "own code":
            return fw.error("m", code="OUT_OF_PAPER")
        case "undeclared":
            raise fw.Conflict("m")
        case "returned":
            return fw.fail(fw.Conflict("m"))
        case "crash":
            raise KeyError("x")
        case "arguments":
            raise fw.Invalid("m")
    return "ok"


def test_what_is_declared_can_be_asked_for() -> None:
    assert fw.server.declared(tool) == ("NOT_FOUND", "DEADLOCK", "OUT_OF_PAPER")
    assert fw.server.declared(fw.guard(tool)) == fw.server.declared(tool)
    assert fw.server.declared(print) == ()


def test_declaring_again_adds() -> None:
    assert fw.server.declared(fw.raises("X_Y", "DEADLOCK")(fw.raises("DEADLOCK")(lambda: None))) == ("DEADLOCK", "X_Y")


def test_what_is_published_tells_an_agent_what_to_expect() -> None:
    protection = fw.server.Protection()

    assert protection.listing("tool", tool, {"theirs": 1}, None) == {
        "meta": {
            "theirs": 1,
            "dev.failwell/raises": [
                {"code": "NOT_FOUND", "type": "NOT_FOUND", "retryable": False},
                {"code": "DEADLOCK", "type": "CONFLICT", "retryable": True},
                {"code": "OUT_OF_PAPER", "type": "INTERNAL", "retryable": None},
            ],
        }
    }
    assert protection.listing("print", print, {"theirs": 1}, None) == {}


@pytest.mark.parametrize("how", ["", "declared", "alias", "own code", "arguments"])
def test_what_is_declared_passes(how: str) -> None:
    guarded = fw.server.enforce(fw.guard(tool))

    assert guarded(how) == fw.guard(tool)(how)


@pytest.mark.parametrize("how", ["undeclared", "returned", "crash"])
def test_what_is_not_declared_breaks_the_contract(how: str) -> None:
    for enforced in (fw.server.enforce(tool), fw.server.enforce(fw.guard(tool))):
        with pytest.raises(fw.server.BrokenContract, match="declares NOT_FOUND, DEADLOCK, OUT_OF_PAPER"):
            enforced(how)


def test_async_tools_are_held_to_it_too() -> None:
    @fw.raises("DEADLOCK")
    async def slow(exc: Exception | None) -> str:
        if exc:
            raise exc
        return "ok"

    assert asyncio.run(fw.server.enforce(slow)(None)) == "ok"
    with pytest.raises(fw.server.BrokenContract, match="slow failed with NOT_FOUND, but declares DEADLOCK"):
        asyncio.run(fw.server.enforce(slow)(fw.NotFound("m")))
    with pytest.raises(fw.server.BrokenContract, match="NOT_FOUND"):
        asyncio.run(fw.server.enforce(fw.guard(slow))(fw.NotFound("m")))


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ("a b", ValueError, "white space"),
        (KeyError, TypeError, "KeyError"),
        (5, TypeError, "5"),
        (fw.Temporary, ValueError, "name the codes"),
    ],
)
def test_only_failures_can_be_declared(wrong: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        fw.raises(wrong)
