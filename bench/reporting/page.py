"""The pages on benchmarks, written from the results: five answers for users, and every figure for contributors."""

from collections.abc import Iterator
from itertools import groupby

from bench.judging import Measured, Verdict
from bench.reporting import words
from bench.results import Results, Run, all_verdicts
from bench.suites import SUITES

PAGE, RESULTS = "docs/reference/benchmarks.md", "bench/RESULTS.md"
GOALS_PICTURE, RETRIES_PICTURE = "docs/data/bench_goals.svg", "docs/data/bench_retries.svg"
GROWTH_PICTURE = "docs/data/bench_growth.svg"

_ANSWERS = {
    "How much does a protected call cost?": (
        "A successful call takes {protect-success} as long as on the bare server, measured in memory, where nothing "
        "else takes time. A failure that the tool raises takes {protect-error} as long."
    ),
    "How much latency does the proxy add?": (
        "{proxy-added-time} per call (median), and {proxy-failing} more if the call fails and the answer is rewritten."
    ),
    "How much memory does the proxy need?": "{proxy-memory}, and {memory-proxy} after 100,000 calls.",
    "How long does it take to start?": (
        "`import failwell` takes {import-msgspec} as long as `import msgspec`. The proxy adds {proxy-start} to the "
        "start of a server."
    ),
    "How accurate is `read`?": (
        "It classified {corpus-right} of {corpus-failures} recorded failures of {corpus-servers} servers correctly, "
        "and took {corpus-false-alarms} of {corpus-successes} recorded successes for failures."
    ),
}
"""What users ask, and the answer, with the ids of the figures in it."""

_INTRODUCTION = f"""\
# Benchmarks

What failwell costs in time and memory, and how accurate it is.

| question | answer |
|---|---|
{{answers}}

These figures come from one machine with {{cores}} cores, so the ratios (×) tell you more than the times. Where
several cases were measured, the table shows the worst one.

## Retry engines

A successful call costs less through `fw.call` than through most other retry libraries:

![The cost of a successful call through each retry library](../{RETRIES_PICTURE.removeprefix("docs/")})

## Growth

How the cost of a call grows with the number or size of tools, schemas, arguments, texts, rules, events and sessions.
A slope of 0 means constant, 1 means linear. Lookups should be constant, and nothing should be worse than linear:

![The cost of a call as tools, schemas, arguments and texts grow](../{GROWTH_PICTURE.removeprefix("docs/")})

## More figures

{{goals}} [All results](../../{RESULTS}) lists every figure with its goal, says why goals were missed, and describes
the machine. `make bench` measures everything again in about ten minutes. """

_RESULTS = f"""\
# Benchmark results

Every goal of the project for speed, memory and accuracy, with the measured result. `make bench` measures everything in
about ten minutes, on a machine that should be otherwise idle, and writes this page from `bench/results.json`.
`python -m bench NAME …` measures some suites again and keeps the other results.

Absolute figures depend on the machine, so most goals are ratios (×): failwell compared with something that does the
same job, measured alternately in the same run. Times are processor time, the best of several rounds. Only the two
proxy suites use wall-clock time, because they measure waiting. If a row covers several figures, the worst one
counts. "About" allows 10 % more. The last section lists every figure with what it is compared with (the same job
without failwell, or a similar library), its floor, and its spread: how far the median of all rounds is above the
best round.

![Each goal and what was measured](../{GOALS_PICTURE})
"""
_MISSED = """
## Missed goals

The floor is the cost of the same job without failwell, or the least that any solution has to do, measured in the
same run. "Above" is the measured value divided by the floor.

| what | measured | goal | floor | above | why |
|---|---:|---:|---:|---:|---|
"""
_NEVER = "It has not been measured yet.\n"


def page(results: Results) -> str:
    """Return the page for users."""
    verdicts = all_verdicts(results)
    figures = {verdict.id: _worst(verdict) for verdict in verdicts}
    answers = [_line(question, answer.format_map(figures)) for question, answer in _ANSWERS.items()]
    cores = next((run.machine["cores"] for run in results.values() if "cores" in run.machine), "?")
    return _INTRODUCTION.format(answers="".join(answers).rstrip("\n"), cores=cores, goals=_counts(verdicts))


def all_results(results: Results) -> str:
    """Return the page for contributors."""
    verdicts = all_verdicts(results)
    parts = [_RESULTS, f"\n{_counts(verdicts)} {_runs(results)}\n", _missed(verdicts), "\n## What was measured\n"]
    for suite, rows in groupby(verdicts, lambda verdict: verdict.suite):
        parts.append(_section(suite, list(rows), results.get(suite, Run())))
    parts += ["\n## The machine\n", *_machines(results), "\n## Every figure\n", *_details(results)]
    return "".join(parts)


def _worst(verdict: Verdict) -> str:
    return "?" if verdict.seen is None else words.with_unit(verdict.seen, verdict.row.unit or "")


def _counts(verdicts: list[Verdict]) -> str:
    goals = [verdict for verdict in verdicts if verdict.row.goal]
    met, missed, unknown = (sum(one.is_met is kind for one in goals) for kind in (True, False, None))
    return f"Of {len(goals)} goals, {met} are met and {missed} are missed" + (
        f"; {unknown} have not been measured yet." if unknown else "."
    )


def _runs(results: Results) -> str:
    """Return which run the figures come from, or which suites come from which."""
    runs: dict[str, list[str]] = {}
    for name, run in results.items():
        if run.figures:
            runs.setdefault(run.run or run.measured or "unknown", []).append(name)
    if len(runs) < 2:
        return f"All figures come from one run (`{''.join(runs)}`)." if runs else ""
    described = "; ".join(f"`{run}`: {', '.join(names)}" for run, names in runs.items())
    return (
        f"**The figures come from {len(runs)} runs**, and only figures from the same run can be compared: {described}."
    )


def _missed(verdicts: list[Verdict]) -> str:
    missed = [one for one in verdicts if one.row.goal and one.is_met is False]
    if not missed:
        return ""
    parts = (words.seen, words.goal, words.floor, words.above_floor, words.why)
    return _MISSED + "".join(_line(one.row.says, *(part(one) for part in parts)) for one in missed)


def _section(name: str, verdicts: list[Verdict], run: Run) -> str:
    suite = SUITES[name]
    made = f"Made by `python -m bench {name}` in `{suite.file}`"
    text = f"\n### {name}\n\nMeasured: {suite.about}. {made}"
    text += f", on {run.measured}, in {run.seconds} s.\n" if run.measured else f". {_NEVER}"
    if run.failed:
        text += f"\nIts last run failed ({run.failed}); the figures are older.\n"
    text += "\n| what | measured | goal | |\n|---|---:|---:|---|\n"
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
            yield "| what | measured | spread | beside | measured | ratio | floor |\n"
            yield "|---|---:|---:|---|---:|---:|---:|\n"
            yield from map(_detail, run.figures)


def _detail(figure: Measured) -> str:
    floor = words.with_unit(figure["floor"], figure["unit"]) if "floor" in figure else ""
    if "ratio" not in figure:
        ours = words.with_unit(figure["value"], figure["unit"])
        return _line(figure["what"], ours, "", figure["beside"], "", "", floor)
    ours, theirs = (words.with_unit(figure[key], figure["unit"]) for key in ("value", "beside_value"))
    spread = f"{figure['spread']:.0%}" if "spread" in figure else ""
    return _line(figure["what"], ours, spread, figure["beside"], theirs, words.number(figure["ratio"]), floor)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"
