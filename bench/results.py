"""The file of results: what each suite measured, when, and on which machine.

A run of some suites replaces what is said of those and keeps the rest. A suite that fails keeps its last figures, with
their date, beside the word that it failed.
"""

import json
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from bench.judging import Measured, Verdict, verdicts
from bench.promises import ROWS

ROOT = Path(__file__).parent.parent
FILE = Path("bench", "results.json")


class Run(Struct, frozen=True, omit_defaults=True):
    """The last run of a suite.

    `spread` is that of the machine right after it, see `bench.machine.Noise`. `run` names the run of all suites that it
    was part of.
    """

    measured: str | None = None
    seconds: int = 0
    machine: dict[str, str] = {}
    figures: list[Measured] = []
    failed: str | None = None
    spread: float | None = None
    run: str | None = None


Results = dict[str, Run]


def load(root: Path = ROOT) -> Results:
    """Return what the file holds, by suite."""
    file = root / FILE
    if not file.exists():
        return {}
    found = json.loads(file.read_text(encoding="utf-8"))
    machines = found["machines"]
    return {name: Run(**{**run, "machine": machines[run["machine"]]}) for name, run in found["suites"].items()}


def save(results: Results, root: Path = ROOT) -> None:
    """Write all suites, each machine once."""
    machines: list[dict[str, str]] = []
    suites: dict[str, Any] = {}
    for name, run in results.items():
        if run.machine not in machines:
            machines.append(run.machine)
        suites[name] = {**structs.asdict(run), "machine": machines.index(run.machine)}
    text = json.dumps({"machines": machines, "suites": suites}, indent=1, ensure_ascii=False)
    (root / FILE).write_text(text + "\n", encoding="utf-8")


def merged(before: Results, now: Results, order: list[str]) -> Results:
    """Return the suites of both in an order, the new ones where there are two."""
    found = dict(before)
    for name, run in now.items():
        kept = before.get(name, run)
        found[name] = structs.replace(kept, failed=run.failed) if run.failed else run
    return {name: found[name] for name in order if name in found}


def all_verdicts(results: Results) -> list[Verdict]:
    """Return what every row came to, also where nothing was measured yet."""
    return [
        verdict for suite in ROWS for verdict in verdicts(suite, results[suite].figures if suite in results else [])
    ]
