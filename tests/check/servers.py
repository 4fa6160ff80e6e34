"""Servers that the tests check, started for real."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from failwell.check.peers.stdio import StdioPeer
from failwell.check.report import Report
from failwell.check.runner import CheckPlan, check
from failwell.check.session import CallLimits

DATA = Path(__file__).parent.parent / "data" / "check"
EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "servers"
PATIENT = CallLimits(start=120, call=60)
"""Long enough for a machine that is busy with other tests."""


def graded(fault: str) -> list[str]:
    return [sys.executable, str(DATA / "graded_server.py"), fault]


def odd(way: str, *more: str) -> list[str]:
    return [sys.executable, str(DATA / "odd_server.py"), way, *more]


def checked(command: list[str], plan: CheckPlan | None = None, **how: Any) -> Report:
    plan = plan or CheckPlan(limits=PATIENT)
    return asyncio.run(check(lambda: StdioPeer.start(command), plan, target=" ".join(command), **how))


def failed_grades(report: Report) -> set[str]:
    return {graded.grade for probe in report.probes() for graded in probe.failed}
