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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench import proxy_official
from bench.measure import Figure
from bench.proxy_clients import CALL, Connection, start_all

_HERE = Path(__file__).parent
_SERVER = [sys.executable, "-I", str(_HERE / "proxy_server.py")]
_OURS = [str(Path(sys.executable).with_name("failwell")), "proxy", "--quiet", "--"]
_ROUNDS = 7
_CALLS = 400
_BLOCKS = 4
_MANY = 3000
_OFFICIAL_CALLS = 60
_FASTMCP = """
import sys
from fastmcp.server import create_proxy
from fastmcp.client.transports import StdioTransport
create_proxy(StdioTransport(sys.argv[1], sys.argv[2:]), name="proxy").run(show_banner=False)
"""


def run() -> Iterator[Figure]:
    """Measure in turns; memory is given in megabytes where others have microseconds.

    Each round starts every process anew: where the system puts them decides more than what they do, and it rarely puts
    them elsewhere later.
    """
    with tempfile.TemporaryDirectory() as folder:
        server = [*_SERVER, _rewritten()]
        commands = _commands(Path(folder), server)
        fastmcp = commands.pop("fastmcp")
        decoder = commands.pop("with decoder")
        yield from _in_a_row(commands, fastmcp)
        yield from _at_once(commands)
        yield from _starts({"direct": server, "ours": commands["ours"], "floor": decoder})
        yield from _official(commands["C pump"][0])


def _rewritten() -> str:
    """Return the result that a failing call has behind the proxy, for the server to send by itself."""
    with Connection([*_OURS, *_SERVER]) as connection:
        return json.dumps(json.loads(connection.request(CALL % (2, b"failing")))["result"])


def _commands(folder: Path, server: list[str]) -> dict[str, list[str]]:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("the benchmark builds a byte pump and needs a C compiler")
    pump = str(folder / "pump")
    subprocess.run([compiler, "-O2", "-o", pump, str(_HERE / "pump.c")], check=True)
    script = folder / "fastmcp_proxy.py"
    script.write_text(_FASTMCP)
    return {
        "direct": server,
        "C pump": [pump, *server],
        "Python pump": [sys.executable, "-I", str(_HERE / "pump.py"), *server],
        "with decoder": [sys.executable, "-I", str(_HERE / "pump.py"), "--decoder", *server],
        "ours": [*_OURS, *server],
        "fastmcp": [sys.executable, str(script), *server],
    }


class _Row(Struct):
    """What calls in a row took in one round."""

    p50: float
    p95: float
    failing: float
    rewritten: float
    cpu: float
    resident: float


def _in_a_row(commands: dict[str, list[str]], fastmcp: list[str]) -> Iterator[Figure]:
    rounds = [_round(commands) for _ in range(_ROUNDS)]
    p50, p95 = _medians(rounds, "p50"), _medians(rounds, "p95")
    with Connection(fastmcp) as connection:
        slow = statistics.median(connection.latencies(b"small", _CALLS // 2))
    added = max(p50["ours"] - p50["direct"], 1e-6)
    yield _figure("a call, p50", p50["ours"], "C pump", p50["C pump"], floor=p50["Python pump"])
    yield _figure("a call, p95", p95["ours"], "C pump", p95["C pump"], floor=p95["Python pump"])
    yield _figure("added p50", added, "fastmcp's proxy", slow - p50["direct"])
    cpu = statistics.fmean(one["ours"].cpu for one in rounds)  # the clock ticks too seldom for one round
    yield _figure("processor time of a call", cpu, "80 µs", 80e-6)
    yield _figure("resident memory, MB", _medians(rounds, "resident")["ours"] / 1e6, "20 MB", 20 / 1e6)
    yield _figure(
        "a failing call, rewritten: more than a passed one",
        _medians(rounds, "failing")["ours"] - p50["ours"],
        "100 µs",
        100e-6,
        floor=max(_medians(rounds, "rewritten")["C pump"] - p50["C pump"], 0.0),
    )


def _round(commands: dict[str, list[str]]) -> dict[str, _Row]:
    """Start all, and call each of them in turns, in short blocks."""
    with contextlib.ExitStack() as stack:
        ones = {name: stack.enter_context(Connection(command)) for name, command in commands.items()}
        for connection in ones.values():
            connection.latencies(b"small", max(_CALLS // 10, 1))
        before = {name: connection.cpu() for name, connection in ones.items()}
        passed = _blocks(ones, b"small")
        used = {name: (connection.cpu() - before[name]) / len(passed[name]) for name, connection in ones.items()}
        resident = {name: connection.resident() for name, connection in ones.items()}
        for connection in ones.values():
            connection.latencies(b"failing", 1)  # the first failure loads what the others need
        failing = _blocks(ones, b"failing")
        rewritten = _blocks({name: one for name, one in ones.items() if name != "ours"}, b"rewritten")
    return {
        name: _Row(
            statistics.median(passed[name]),
            statistics.quantiles(passed[name], n=20)[-1],
            statistics.median(failing[name]),
            statistics.median(rewritten.get(name, failing[name])),
            used[name],
            resident[name],
        )
        for name in ones
    }


def _blocks(connections: dict[str, Connection], tool: bytes) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in connections}
    for _ in range(_BLOCKS):
        for name, connection in connections.items():
            found[name] += connection.latencies(tool, max(_CALLS // _BLOCKS, 1))
    return found


def _medians(rounds: list[dict[str, _Row]], what: str) -> dict[str, float]:
    return {name: statistics.median(getattr(one[name], what) for one in rounds) for name in rounds[0]}


def _at_once(commands: dict[str, list[str]]) -> Iterator[Figure]:
    small: dict[str, list[float]] = {name: [] for name in commands}
    large: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(_ROUNDS):
        with contextlib.ExitStack() as stack:
            ones = {name: stack.enter_context(Connection(command)) for name, command in commands.items()}
            for found, tool, number, in_flight in ((small, b"small", _MANY, 64), (large, b"large", 40, 4)):
                for name, connection in ones.items():
                    found[name].append(connection.seconds_at_once(tool, number, in_flight) / number)
    each, megabyte = ({name: statistics.median(took) for name, took in found.items()} for found in (small, large))
    yield _figure("64 calls at once, each", each["ours"], "direct", each["direct"], floor=each["C pump"])
    yield _figure("a result of 1 MB", megabyte["ours"], "C pump", megabyte["C pump"], floor=megabyte["Python pump"])


def _starts(commands: dict[str, list[str]]) -> Iterator[Figure]:
    """What else runs can only add to a start, so the best of all rounds counts."""
    one = dict.fromkeys(commands, float("inf"))
    ten = dict.fromkeys(commands, float("inf"))
    for _ in range(_ROUNDS):
        for name, command in commands.items():
            one[name] = min(one[name], start_all([command]))
            ten[name] = min(ten[name], start_all([command] * 10))
    for what, took, goal, seconds in (
        ("start to the first answer", one, "20 ms", 0.020),
        ("ten starts at once", ten, "250 ms", 0.250),
    ):
        floor = max(took["floor"] - took["direct"], 0.0)
        yield _figure(f"{what}, added", took["ours"] - took["direct"], goal, seconds, floor=floor)


def _official(pump: str) -> Iterator[Figure]:
    server = proxy_official.SERVER
    commands = {"direct": server, "ours": [*_OURS, *server], "C pump": [pump, *server]}
    found = proxy_official.measure(commands, rounds=_ROUNDS, calls=_OFFICIAL_CALLS, in_flight=64)
    (row, crowd), (direct_row, direct_crowd), (least_row, least_crowd) = found["ours"], found["direct"], found["C pump"]
    yield _figure("official client and server, p50", row, "direct", direct_row, floor=least_row)
    yield _figure("official client and server, 64 at once, each", crowd, "direct", direct_crowd, floor=least_crowd)


def _figure(what: str, seconds: float, beside: str, other: float, *, floor: float | None = None) -> Figure:
    return Figure(
        group="proxy",
        what=f"proxy: {what}",
        microseconds=seconds * 1e6,
        beside=beside,
        beside_microseconds=other * 1e6,
        floor_microseconds=None if floor is None else floor * 1e6,
    )


def main(argv: list[str]) -> None:
    """Print what was measured, one JSON object a line."""
    for figure in run():
        row: dict[str, Any] = {"what": figure.what, "us": round(figure.microseconds, 1), "beside": figure.beside}
        print(json.dumps({**row, "us_": round(figure.beside_microseconds, 1), "ratio": round(figure.ratio, 3)}), *argv)


if __name__ == "__main__":
    main(sys.argv[1:])
