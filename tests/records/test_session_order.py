"""Sessions that were played for real get the verdicts that whoever watched them would give."""

from pathlib import Path

import pytest

from failwell.records import Record, failures, recovery
from tests.records.samples import read_file
from tests.records.sessions import DATA, SESSIONS


def verdicts(records: list[Record]) -> list[tuple[str, str, str, int]]:
    return [(one.tool, one.code, one.verdict, one.calls_wasted) for one in failures(records)]


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_played_now_and_the_one_on_record_get_the_same_verdicts(name: str, tmp_path: Path) -> None:
    played = SESSIONS[name]

    now, then = played.play(tmp_path), read_file(DATA / f"{name}.jsonl")

    assert verdicts(now) == verdicts(then) == played.verdicts
    assert recovery(now).duplicates_avoided == recovery(then).duplicates_avoided == played.duplicates
    assert [one.kind for one in now] == [one.kind for one in then]


def test_every_record_of_a_failed_call_tells_the_whole_story() -> None:
    records = [one for name in SESSIONS for one in read_file(DATA / f"{name}.jsonl")]
    failed = [one for one in records if one.has_failed]

    assert len(failed) >= 10
    assert all(one.server == "tasks" for one in records)
    for one in failed:
        assert one.text
        assert one.decision
        assert one.failure
        assert one.arguments
        assert one.elapsed is not None


def test_all_sessions_together_add_up() -> None:
    records = [one for name in SESSIONS for one in read_file(DATA / f"{name}.jsonl")]

    found = recovery(records)

    assert found.sessions == len(SESSIONS)
    assert found.verdicts == {
        "by_retry": 2,
        "by_repair": 1,
        "by_fallback": 1,
        "same_call": 0,
        "corrected": 2,
        "named_tool": 1,
        "looped": 1,
        "moved_on": 2,
        "unresolved": 1,
    }
    assert (found.turns_saved, found.duplicates_avoided) == (4, 2)
