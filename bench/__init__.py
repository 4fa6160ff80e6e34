"""Benchmarks: every goal the project has set itself, measured in one run beside something else in the same run.

`python -m bench` measures everything, `python -m bench NAME …` some suites, and `--quick` only shows that they still
run. The figures go to `bench/results.json`; `docs/reference/benchmarks.md`, its pictures and the figures that other
pages quote are written from that file by `bench.reporting`.

A suite is one module with a function `run()` that yields what it measured, one after another:

- `measure.compare` and `measure.compare_async` give a `Figure`: ours beside something else, taken in turns;
- a suite that measures in its own way makes a `Figure` itself or, where nothing stands beside it, an `Amount`.

A goal that may be missed has a *floor*: what the same job takes without us, or the least that any solution has to do.
The suite measures it in the same run, as `floor` of the figure, and the row in `promises.toml` says what it is.

To add a suite, write the module, give it a row in `suites.py` (with the constants that make it quick), and give each
of its figures a row in `promises.toml`, with a goal or without one where it is shown for information only. Goals stand
there and nowhere else. `tests/test_bench.py` runs every suite quickly and fails when a figure has no row or a row no
figure.

`bench.trial` measures something else: what agents do next after a failing call. It needs readers, and has its own
commands.
"""
