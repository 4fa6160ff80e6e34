"""Run suites one after another: a suite that fails is marked, and the others are measured all the same."""

import time
import traceback
from collections.abc import Callable, Iterable, Iterator

from bench import machine
from bench.judging import as_measured
from bench.results import Run
from bench.suites import Suite

Tell = Callable[[str], None]

MOST_SECONDS = 600.0
"""What all suites may take. None begins after that, and none is repeated that would pass it."""


def measure(
    suites: Iterable[Suite], tell: Tell, clock: Callable[[], float] = time.monotonic
) -> Iterator[tuple[str, Run]]:
    """Yield what each suite measured, as soon as it has, and tell how far it is.

    A suite after which the machine is busy is measured once more. If it is busy then too, the figures don't count.
    """
    suites = list(suites)
    described, day = machine.describe(), time.strftime("%Y-%m-%d", time.gmtime())
    label = ", ".join(filter(None, [time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), machine.commit()]))
    begin = clock()
    for number, suite in enumerate(suites, 1):
        start = clock()
        if start - begin > MOST_SECONDS:
            tell(f"[{number}/{len(suites)}] {suite.name}: not measured, the time is up")
            yield suite.name, Run(machine=described, failed=f"{day}, the time was up")
            continue
        tell(f"[{number}/{len(suites)}] {suite.name}: {suite.about} …")
        try:
            figures = [as_measured(found) for found in suite.run()]
            has_time = clock() - begin + (clock() - start) < MOST_SECONDS
            if not (noise := machine.listen()).is_quiet and has_time:
                tell(f"    measured again: {noise}")
                figures = [as_measured(found) for found in suite.run()]
                noise = machine.listen()
        except Exception as exc:  # whatever a suite fails with, the others still count
            tell(traceback.format_exc())
            yield suite.name, Run(machine=described, failed=f"{day}, {type(exc).__name__}")
            continue
        if not noise.is_quiet:
            tell(f"    not kept, the machine is busy: {noise}")
            yield suite.name, Run(machine=described, failed=f"{day}, busy machine")
            continue
        seconds = round(clock() - start)
        tell(f"    {len(figures)} figures in {seconds} s; {noise}")
        yield suite.name, Run(day, seconds, described, figures, spread=round(noise.spread, 3), run=label)


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
