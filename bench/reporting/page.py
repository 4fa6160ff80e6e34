"""The page on benchmarks, written from the results."""

from collections.abc import Iterator
from itertools import groupby

from bench.judging import Measured, Verdict
from bench.reporting import words
from bench.results import Results, Run, all_verdicts
from bench.suites import SUITES

GOALS_PICTURE, RETRIES_PICTURE = "data/bench_goals.svg", "data/bench_retries.svg"

_INTRODUCTION = f"""\
# Benchmarks

What the project has promised about its speed, memory and judgement, and what was seen. This page is written from
`bench/results.json` by `make bench`, which measures everything in one run of about ten minutes, on a machine that
should have nothing else to do; `python -m bench NAME …` measures some suites anew and keeps the rest.

Figures of a machine say little about another one, so what counts is the ratio (×) to something that does the same job,
measured in turns in the same run. Times are processor time, the best of several rounds; only the two suites of the
proxy are measured by the clock, since waiting for each other is what they are about. Where a line speaks of several
figures, the worst of them counts. "About" allows a tenth more.

![Each goal and what was seen]({GOALS_PICTURE})
"""
_RETRIES = f"\n![What a call that succeeds costs through each retry engine]({RETRIES_PICTURE})\n"
_NEVER = "It has not been measured yet.\n"


def page(results: Results) -> str:
    """Return the page."""
    verdicts = all_verdicts(results)
    parts = [_INTRODUCTION, _summary(verdicts), "\n## What was measured\n"]
    for suite, rows in groupby(verdicts, lambda verdict: verdict.suite):
        parts.append(_section(suite, list(rows), results.get(suite, Run())))
        if suite == "retries":
            parts.append(_RETRIES)
    parts += ["\n## The machine\n", *_machines(results), "\n## Every figure\n", *_details(results)]
    return "".join(parts)


def _summary(verdicts: list[Verdict]) -> str:
    goals = [verdict for verdict in verdicts if verdict.row.goal]
    counted = {met: [one for one in goals if one.is_met is met] for met in (True, False, None)}
    lines = [f"\nOf {len(goals)} goals {len(counted[True])} are met and {len(counted[False])} are missed"]
    lines.append(f"; not measured yet: {len(counted[None])}.\n" if counted[None] else ".\n")
    if counted[False]:
        lines.append("\n## Missed goals\n\n| what | seen | goal | why |\n|---|---:|---:|---|\n")
        lines += [_line(one.row.says, words.seen(one), words.goal(one), one.row.missed or "") for one in counted[False]]
    return "".join(lines)


def _section(name: str, verdicts: list[Verdict], run: Run) -> str:
    suite = SUITES[name]
    made = f"Made by `python -m bench {name}` in `{suite.file}`"
    text = f"\n### {name}\n\nMeasured: {suite.about}. {made}"
    text += f", on {run.measured}, in {run.seconds} s.\n" if run.measured else f". {_NEVER}"
    if run.failed:
        text += f"\nIts last run failed ({run.failed}); the figures are older.\n"
    text += "\n| what | seen | goal | |\n|---|---:|---:|---|\n"
    return text + "".join(_line(one.row.says, words.seen(one), words.goal(one), _mark(one)) for one in verdicts)


def _mark(verdict: Verdict) -> str:
    return {True: "met", False: "**missed**", None: ""}[verdict.is_met]


def _machines(results: Results) -> Iterator[str]:
    machines: list[dict[str, str]] = []
    for run in results.values():
        if run.machine not in machines:
            machines.append(run.machine)
    for machine in machines:
        if len(machines) > 1:
            names = ", ".join(name for name, run in results.items() if run.machine == machine)
            yield f"\nFor {names}:\n"
        yield "\n| | |\n|---|---|\n"
        yield from (_line(key, value) for key, value in machine.items())


def _details(results: Results) -> Iterator[str]:
    for name, run in results.items():
        if run.figures:
            yield f"\n### {name}, figure by figure\n\n"
            yield "| what | seen | beside | seen | ratio |\n|---|---:|---|---:|---:|\n"
            yield from map(_detail, run.figures)


def _detail(figure: Measured) -> str:
    if "ratio" not in figure:
        return _line(figure["what"], words.with_unit(figure["value"], figure["unit"]), figure["beside"], "", "")
    values = [words.with_unit(figure[key], figure["unit"]) for key in ("value", "beside_value")]
    return _line(figure["what"], values[0], figure["beside"], values[1], words.number(figure["ratio"]))


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"
