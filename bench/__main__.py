"""Measure, print one table, and write down what follows from it: `python -m bench [--quick | --check] [NAME …]`."""

import compileall
import sys
from pathlib import Path

from rich.console import Console

from bench import machine, regression, results
from bench.reporting.table import table
from bench.reporting.writing import write
from bench.running import measure, try_quickly
from bench.suites import SUITES

_SOURCE = results.ROOT / "src"
_USAGE = "usage: python -m bench [--quick] [NAME …], or python -m bench --check"


def main(arguments: list[str], root: Path = results.ROOT) -> int:
    """Run the named suites, or all; or check that a handful of ratios are within their bounds.

    Returns 0 if every one ran, 1 if one failed, 2 for a name that does not exist, 3 if the machine is too busy.
    """
    if arguments == ["--check"]:
        return regression.check(print)
    names = [argument for argument in arguments if argument != "--quick"]
    ready = {name: suite for name, suite in SUITES.items() if suite.exists}
    unknown = sorted(set(names) - set(ready))
    if unknown:
        print(f"unknown suite {', '.join(unknown)}: choose from {', '.join(ready)}\n{_USAGE}", file=sys.stderr)
        return 2
    chosen = [suite for name, suite in ready.items() if not names or name in names]
    progress = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    if "--quick" in arguments:
        return int(bool(try_quickly(chosen, progress.print)))
    if not (noise := machine.listen()).is_quiet:
        progress.print(f"nothing is measured, the machine is busy: {noise}; --quick runs anyway and writes nothing")
        return 3
    compileall.compile_dir(_SOURCE, quiet=1)  # as an installer does: otherwise every process that starts compiles first
    found, failed = results.load(root), []
    for name, run in measure(chosen, progress.print):
        found = results.merged(found, {name: run}, list(SUITES))
        results.save(found, root)  # at once, so that nothing is lost if a later suite is interrupted
        failed += [name] if run.failed else []
    written = write(found, root)
    Console(width=None if sys.stdout.isatty() else 120).print(table(results.all_verdicts(found)))
    progress.print(f"written: {', '.join([str(results.FILE), *written])}")
    if failed:
        progress.print(f"failed: {', '.join(failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
