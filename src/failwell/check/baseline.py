"""A baseline: codes and failed grades of an earlier run, small, sorted and easy to review.

    {
      "read_task/missing_field/task": "VALIDATION_FAILED",
      "read_task/wrong_type/task": "VALIDATION_FAILED -names_field -says_retry"
    }

Each line is one provoked call: its code, and the grades that it did not reach.
"""

import json
from collections.abc import Iterator, Mapping

from failwell._json import is_object
from failwell.check.report import ProbeResult, Regression, Report

_NO_CODE = "-"


def write(report: Report) -> str:
    """Return the baseline that a run gives."""
    lines = {probe.id: _line(probe) for probe in report.probes() if probe.grades}
    return json.dumps(dict(sorted(lines.items())), indent=2, ensure_ascii=False) + "\n"


def read(text: str) -> dict[str, str]:
    """Return a baseline from its text.

    Raises:
        ValueError: it is not a baseline.
    """
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not is_object(found) or not all(isinstance(value, str) for value in found.values()):
        raise ValueError("not a baseline: expected an object with a text for each call")
    return found


def find_regressions(report: Report, before: Mapping[str, str]) -> tuple[Regression, ...]:
    """Return what got worse. A call that the baseline does not know must be fine in everything."""
    return tuple(
        regression
        for probe in report.probes()
        if probe.grades
        for regression in _regressions(probe, before.get(probe.id))
    )


def find_improvements(report: Report, before: Mapping[str, str]) -> tuple[Regression, ...]:
    """Return the grades that are reached now and were not before."""
    now = {probe.id: {result.grade for result in probe.failed} for probe in report.probes()}
    return tuple(
        Regression(probe=name, what=grade)
        for name, line in before.items()
        if name in now
        for grade in sorted(_parts(line)[1] - now[name])
    )


def _line(probe: ProbeResult) -> str:
    return " ".join([probe.code or _NO_CODE, *sorted(f"-{result.grade}" for result in probe.failed)])


def _parts(line: str) -> tuple[str, set[str]]:
    code, *failed = line.split() or [_NO_CODE]
    return code, {name.removeprefix("-") for name in failed}


def _regressions(probe: ProbeResult, line: str | None) -> Iterator[Regression]:
    code, known = _parts(line) if line is not None else (_NO_CODE, set[str]())
    for result in probe.failed:
        if result.grade not in known:
            yield Regression(probe=probe.id, what=f"{result.grade}: {result.reason}")
    if code not in (_NO_CODE, probe.code):
        yield Regression(probe=probe.id, what=f"the code was {code} and is now {probe.code or 'missing'}")
