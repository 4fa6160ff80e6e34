"""`failwell proxy` beside a direct connection, a byte pump in C and fastmcp's own proxy, all in one run.

Figures of one run compare with each other only: a busy machine slows all of them down.
"""

import contextlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.measure import Figure
from bench.proxy_clients import Connection, start_all

_HERE = Path(__file__).parent
_SERVER = [sys.executable, "-I", str(_HERE / "proxy_server.py")]
_OURS = [str(Path(sys.executable).with_name("failwell")), "proxy", "--quiet", "--"]
_ROUNDS = 7
_CALLS = 400
_FASTMCP = """
import sys
from fastmcp.server import create_proxy
from fastmcp.client.transports import StdioTransport
create_proxy(StdioTransport(sys.argv[1], sys.argv[2:]), name="proxy").run(show_banner=False)
"""


def run() -> Iterator[Figure]:
    """Measure in turns; memory is given in megabytes where others have microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        commands = _commands(Path(folder))
        with contextlib.ExitStack() as stack:
            open_ones = {name: stack.enter_context(Connection(command)) for name, command in commands.items()}
            yield from _in_a_row(open_ones)
            yield from _at_once(open_ones)
        del commands["fastmcp"]
        yield from _starts(commands)


def _commands(folder: Path) -> dict[str, list[str]]:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("the benchmark builds a byte pump and needs a C compiler")
    pump = str(folder / "pump")
    subprocess.run([compiler, "-O2", "-o", pump, str(_HERE / "pump.c")], check=True)
    script = folder / "fastmcp_proxy.py"
    script.write_text(_FASTMCP)
    return {
        "direct": _SERVER,
        "C pump": [pump, *_SERVER],
        "ours": [*_OURS, *_SERVER],
        "fastmcp": [sys.executable, str(script), *_SERVER],
    }


def _in_a_row(connections: dict[str, Connection]) -> Iterator[Figure]:
    passed, cpu = _latencies(connections, b"small", _CALLS)
    added = {name: _added(passed, name) for name in ("C pump", "ours", "fastmcp")}
    yield _figure("a call, p50", passed["ours"][0], "C pump", passed["C pump"][0], "≤ 1.5")
    yield _figure("a call, p95", passed["ours"][1], "C pump", passed["C pump"][1], None)
    yield _figure("added p50", added["ours"], "fastmcp's proxy", added["fastmcp"], "≤ 0.05")
    yield _figure("processor time of a call", cpu["ours"], "80 µs", 80e-6, "≤ 1")
    ours = connections["ours"]
    yield _figure("resident memory, MB", ours.resident() / 1e6, "20 MB", 20 / 1e6, "≤ 1")
    only_ours = {"ours": ours}
    failing, _ = _latencies(only_ours, b"failing", _CALLS)
    again, _ = _latencies(only_ours, b"small", _CALLS)
    yield _figure(
        "a failing call, rewritten: more than a passed one",
        failing["ours"][0] - again["ours"][0],
        "100 µs",
        100e-6,
        "≤ 1",
    )


def _latencies(
    connections: dict[str, Connection], tool: bytes, number: int
) -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
    """Return the best p50 and p95 of several rounds, and the least processor time of a call."""
    best = dict.fromkeys(connections, (float("inf"), float("inf")))
    used = dict.fromkeys(connections, 0.0)
    for _ in range(_ROUNDS):
        for name, connection in connections.items():
            before = connection.cpu()
            found = connection.latencies(tool, number // 10 if name == "fastmcp" else number)
            used[name] += connection.cpu() - before
            p50, p95 = statistics.median(found), statistics.quantiles(found, n=20)[-1]
            best[name] = (min(best[name][0], p50), min(best[name][1], p95))
    return best, {name: seconds / (_ROUNDS * number) for name, seconds in used.items()}


def _added(found: dict[str, tuple[float, float]], name: str) -> float:
    return max(found[name][0] - found["direct"][0], 1e-6)


def _at_once(connections: dict[str, Connection]) -> Iterator[Figure]:
    ones = {name: connections[name] for name in ("direct", "C pump", "ours")}
    small = _best(lambda one: one.seconds_at_once(b"small", 3000, 64) / 3000, ones)
    yield _figure("64 calls at once, each", small["ours"], "direct", small["direct"], "≤ 1.25")
    large = _best(lambda one: one.seconds_at_once(b"large", 40, 4) / 40, ones)
    yield _figure("a result of 1 MB", large["ours"], "C pump", large["C pump"], "≤ 1.25")


def _best(measure: Callable[[Connection], float], connections: dict[str, Connection]) -> dict[str, float]:
    best = dict.fromkeys(connections, float("inf"))
    for _ in range(_ROUNDS):
        for name, connection in connections.items():
            best[name] = min(best[name], measure(connection))
    return best


def _starts(commands: dict[str, list[str]]) -> Iterator[Figure]:
    one = dict.fromkeys(commands, float("inf"))
    ten = dict.fromkeys(commands, float("inf"))
    for _ in range(_ROUNDS):
        for name, command in commands.items():
            one[name] = min(one[name], start_all([command]))
            ten[name] = min(ten[name], start_all([command] * 10))
    yield _figure("start to the first answer, added", one["ours"] - one["direct"], "20 ms", 0.020, "≤ 1")
    yield _figure("ten starts at once, added", ten["ours"] - ten["direct"], "250 ms", 0.250, "≤ 1")


def _figure(what: str, seconds: float, beside: str, other: float, goal: str | None) -> Figure:
    return Figure(
        group="proxy",
        what=f"proxy: {what}",
        microseconds=seconds * 1e6,
        beside=beside,
        beside_microseconds=other * 1e6,
        goal=goal,
    )


def main(argv: list[str]) -> None:
    """Print what was measured, one JSON object a line."""
    for figure in run():
        row: dict[str, Any] = {"what": figure.what, "us": round(figure.microseconds, 1), "beside": figure.beside}
        print(json.dumps({**row, "us_": round(figure.beside_microseconds, 1), "ratio": round(figure.ratio, 3)}), *argv)


if __name__ == "__main__":
    main(sys.argv[1:])
