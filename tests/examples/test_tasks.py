"""The server of examples/tasks, bare and with failwell: the same failures, provoked for real over standard streams."""

import asyncio
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import failwell as fw

FOLDER = Path(__file__).parents[2] / "examples" / "tasks"


@pytest.fixture(scope="module")
def compare() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        return importlib.import_module("compare")


@pytest.fixture(scope="module")
def observed(compare: ModuleType) -> tuple[dict[str, Any], dict[str, Any]]:
    async def both() -> tuple[dict[str, Any], dict[str, Any]]:
        before, after = await asyncio.gather(compare.observe("bare.py"), compare.observe("server.py"))
        return before, after

    return asyncio.run(both())


def test_the_page_shows_what_the_servers_answer(compare: ModuleType, observed: Any) -> None:
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == compare.page(*observed), (
        "write it anew: python examples/tasks/compare.py --write"
    )


def test_the_program_says_what_it_found(compare: ModuleType, observed: Any) -> None:
    said = "\n".join(compare.summary(*observed))

    assert "The calendar accepts and does not answer\n" in said
    assert "  server.py: UPSTREAM_TIMEOUT, outcome unknown, next: verify\n" in said
    assert said.endswith("A program has to guess 8 of 8 failures of bare.py, and none of server.py.")


def test_both_servers_fail_at_every_provocation(compare: ModuleType, observed: Any) -> None:
    titles = {provocation.title for provocation in compare.PROVOCATIONS}

    assert titles
    assert len(observed) == 2
    for seen in observed:
        assert set(seen) == titles
        assert all(observation.result.is_error for observation in seen.values())


def test_the_bare_server_says_in_words_what_is_wrong(observed: Any) -> None:
    before = {title: observation.text for title, observation in observed[0].items()}

    assert "Task 99 does not exist" in before["The task does not exist"]
    assert "Try again in 30 seconds" in before["The calendar allows no more requests"]
    assert all(
        set(observation.result.meta or {}) <= {"io.modelcontextprotocol/serverInfo"}
        for observation in observed[0].values()
    )


def test_failwell_says_what_happened_and_whether_it_took_effect(observed: Any) -> None:
    told = {}
    for title, observation in observed[1].items():
        failure = fw.read(observation.result)
        assert failure is not None
        told[title] = (failure.code, failure.outcome, failure.retry_after, fw.decide(failure, observation.hints).action)

    assert told == {
        "The task does not exist": ("NOT_FOUND", "rejected", None, "use"),
        "The arguments are wrong": ("VALIDATION_FAILED", "not_executed", None, "fix_input"),
        "The title is taken": ("ALREADY_EXISTS", "rejected", None, "use"),
        "The task is still open": ("PRECONDITION_FAILED", "rejected", None, "use"),
        "Another process locks the database": ("LOCK_TIMEOUT", "not_executed", None, "retry"),
        "The calendar allows no more requests": ("RATE_LIMITED", "not_executed", 30, "retry"),
        "The calendar accepts and does not answer": ("UPSTREAM_TIMEOUT", "unknown", None, "verify"),
        "The calendar is down": ("CONNECTION_REFUSED", "not_executed", None, "retry"),
    }


def test_an_hour_that_timed_out_was_booked_all_the_same(observed: Any) -> None:
    title = "The calendar accepts and does not answer"

    assert [seen[title].entries for seen in observed] == [1, 1]
    assert "Try again later" in observed[0][title].text
    assert "check before calling it again" in observed[1][title].text


def test_wrong_arguments_name_the_field_that_was_meant(observed: Any) -> None:
    text = observed[1]["The arguments are wrong"].text

    assert text.startswith("title is required; ")
    assert "\n- due: expected a date" in text
    assert "\n- titel: did you mean title?" in text


def test_what_other_libraries_say_stays_in_the_log(observed: Any) -> None:
    said = "".join(observation.text for observation in observed[1].values())

    assert "127.0.0.1" not in said
    assert "httpx" not in said
    assert "sqlite" not in said


def test_the_server_with_failwell_is_the_shorter_one() -> None:
    bare, protected = ((FOLDER / name).read_text(encoding="utf-8").splitlines() for name in ("bare.py", "server.py"))

    assert len(protected) < len(bare)
