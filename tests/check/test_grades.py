"""For each grade there is a server that fails only that one."""

from itertools import count

import pytest

from failwell.check.grades import GRADES
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
