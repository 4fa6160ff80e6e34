"""For each grade there is a server that fails only that one."""

from itertools import count

import pytest

from failwell.check.advice import REMEDIES
from failwell.check.grades.table import GRADES
from tests.check.servers import checked, failed_grades, graded, odd

_OTHER_WAYS = {"speed"}


def test_a_server_that_fails_well_has_all_grades() -> None:
    report = checked(graded("none"))

    assert (report.score, report.grade, report.is_clean, report.changes) == (100, "A", True, ())
    assert report.channels == {"call": 100, "text": 100, "machine": 100}


@pytest.mark.parametrize("grade", [grade.name for grade in GRADES if grade.name not in _OTHER_WAYS])
def test_a_server_that_fails_one_grade_fails_no_other(grade: str) -> None:
    report = checked(graded(grade))

    assert failed_grades(report) == {grade}
    assert report.score < 100
    assert not report.is_clean
    assert any(grade in change.cures for change in report.changes)


def test_a_server_that_is_slow_fails_only_the_grade_for_speed() -> None:
    ticks = count(step=3)
    report = checked(graded("none"), clock=lambda: float(next(ticks)))

    assert failed_grades(report) == {"speed"}


def test_a_server_that_does_everything_wrong_scores_below_20() -> None:
    report = checked(odd("bad"))

    assert report.score < 20
    assert report.grade == "F"
    assert report.totals.unflagged + report.totals.accepted == report.totals.probes
    assert len(report.changes) == 3


def test_secrets_of_the_server_are_not_in_the_report() -> None:
    report = checked(odd("bad"))

    assert "hunter2" not in "".join(probe.text for probe in report.probes())


def test_every_grade_is_cured_by_one_remedy() -> None:
    cured = [grade for remedy in REMEDIES for grade in remedy.cures]

    assert sorted(cured) == sorted(grade.name for grade in GRADES)


@pytest.mark.parametrize("remedy", REMEDIES, ids=lambda remedy: remedy.cures[0])
@pytest.mark.parametrize("sdk", ["fastmcp", "mcp", "typescript", "unknown"])
def test_every_remedy_has_code_for_every_sdk(remedy: object, sdk: str) -> None:
    snippet = remedy.snippet(sdk)  # type: ignore[attr-defined]

    assert snippet.language == {"fastmcp": "python", "mcp": "python", "typescript": "typescript"}.get(sdk, "shell")
    if snippet.language == "python":
        compile(f"async def body():\n{indented(snippet.code)}", "snippet", "exec")


def indented(code: str) -> str:
    return "\n".join(f"    {line}" for line in code.splitlines())
