"""Run suites one after another: a suite that fails is marked, and the others are measured all the same."""

import time
import traceback
from collections.abc import Callable, Iterable, Iterator

from bench.judging import as_measured
from bench.machine import describe
from bench.results import Run
from bench.suites import Suite

Tell = Callable[[str], None]


def measure(suites: Iterable[Suite], tell: Tell) -> Iterator[tuple[str, Run]]:
    """Yield what each suite measured, as soon as it has, and tell how far it is."""
    suites = list(suites)
    machine, day = describe(), time.strftime("%Y-%m-%d", time.gmtime())
    for number, suite in enumerate(suites, 1):
        tell(f"[{number}/{len(suites)}] {suite.name}: {suite.about} …")
        start = time.monotonic()
        try:
            figures = [as_measured(found) for found in suite.run()]
        except Exception as exc:  # whatever a suite fails with, the others still count
            tell(traceback.format_exc())
            yield suite.name, Run(machine=machine, failed=f"{day}, {type(exc).__name__}")
            continue
        seconds = round(time.monotonic() - start)
        tell(f"    {len(figures)} figures in {seconds} s")
        yield suite.name, Run(day, seconds, machine, figures)


def try_quickly(suites: Iterable[Suite], tell: Tell) -> list[str]:
    """Run each suite for one short round and return the names of those that fail."""
    failed: list[str] = []
    for suite in suites:
        start = time.monotonic()
        try:
            count = sum(1 for _ in suite.run_quickly())
        except Exception:  # as above
            tell(traceback.format_exc())
            failed.append(suite.name)
            continue
        tell(f"{suite.name}: {count} figures in {time.monotonic() - start:.1f} s, not kept")
    return failed
