"""Both proxies of several checkouts beside each other: `python -m bench.proxy_versions before=FOLDER now=.`.

Each checkout is compiled first, since whoever compiles modules while it runs keeps memory for that. Each way is
measured in turns, in short blocks, with processes that are started anew each round: figures of one run compare with
each other only. A line has the median of a call that passes and of one that fails, the processor time of a call that
passes, and the memory after all of them.
"""

import compileall
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path

from bench.http_proxy import SERVER as HTTP_SERVER
from bench.http_proxy import Way
from bench.proxy_clients import TICK, Connection

_SERVER = [sys.executable, "-I", str(Path(__file__).with_name("proxy_server.py"))]
_ROUNDS, _BLOCKS, _CALLS = 5, 4, 150
_MODES = {"plain": (), "--retry": ("--retry",), "--events": ("--events", "EVENTS")}
_MODES["both"] = (*_MODES["--retry"], *_MODES["--events"])

Call = Callable[[bytes], float]


def _proxy(folder: str, mode: str, events: str) -> list[str]:
    words = [events if word == "EVENTS" else word for word in _MODES[mode]]
    path = Path(folder).resolve() / "src"
    return ["env", f"PYTHONPATH={path}", sys.executable, "-m", "failwell", "proxy", *words]


@contextmanager
def _over_stdio(folder: str, mode: str, events: str) -> Iterator[tuple[Call, int]]:
    with Connection([*_proxy(folder, mode, events), "--quiet", "--", *_SERVER]) as connection:
        yield lambda tool: connection.latencies(tool, 1)[0], connection.process.pid


@contextmanager
def _over_http(folder: str, mode: str, events: str) -> Iterator[tuple[Call, int]]:
    server = Way("server", [sys.executable, "-c", HTTP_SERVER])
    listen = ["--listen", "127.0.0.1:0", "--url", server.url]
    proxy = Way("proxy", [*_proxy(folder, mode, events), *listen], stream="stderr")
    connection = HTTPConnection("127.0.0.1", proxy.port)
    try:
        yield lambda tool: proxy.post(connection, fails=tool == b"failing"), proxy.process.pid
    finally:
        connection.close()
        for way in (proxy, server):
            way.process.terminate()
            way.process.wait()


_TRANSPORTS = {"stdio": _over_stdio, "http": _over_http}


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def _resident(pid: int) -> float:
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024


def _measure(transport: str, mode: str, folders: dict[str, str]) -> Iterator[str]:
    passed: dict[str, list[float]] = {name: [] for name in folders}
    failed: dict[str, list[float]] = {name: [] for name in folders}
    cpu: dict[str, list[float]] = {name: [] for name in folders}
    resident: dict[str, list[float]] = {name: [] for name in folders}
    for number in range(_ROUNDS):
        with ExitStack() as stack:
            events = stack.enter_context(tempfile.TemporaryDirectory())
            ones = {
                name: stack.enter_context(_TRANSPORTS[transport](folder, mode, f"{events}/{name}.jsonl"))
                for name, folder in folders.items()
            }
            order = list(ones.items()) if number % 2 else list(reversed(ones.items()))
            for _, (call, _) in order:
                for _ in range(50):
                    call(b"small")
            before = {name: _cpu(pid) for name, (_, pid) in ones.items()}
            for _ in range(_BLOCKS):
                for name, (call, _) in order:
                    passed[name] += [call(b"small") for _ in range(_CALLS)]
            for name, (_, pid) in ones.items():
                cpu[name].append((_cpu(pid) - before[name]) / (_BLOCKS * _CALLS))
            for _, (call, _) in order:
                call(b"failing")
            for _ in range(_BLOCKS):
                for name, (call, _) in order:
                    failed[name] += [call(b"failing") for _ in range(_CALLS // 3)]
            for name, (_, pid) in ones.items():
                resident[name].append(_resident(pid))
    for name in folders:
        yield (
            f"{transport:6}{mode:10}{name:10}{1e6 * statistics.median(passed[name]):8.0f} µs"
            f"{1e6 * statistics.median(failed[name]):8.0f} µs failing{1e6 * statistics.fmean(cpu[name]):8.0f} µs cpu"
            f"{statistics.median(resident[name]):8.1f} MB"
        )


def main(argv: list[str]) -> None:
    """Print what each checkout takes, in all modes of both proxies, or in those that are named."""
    folders = dict(word.split("=", 1) for word in argv if "=" in word)
    wanted = [word for word in argv if "=" not in word]
    for folder in folders.values():
        compileall.compile_dir(Path(folder) / "src", quiet=1)
    for transport in _TRANSPORTS:
        for mode in _MODES:
            if not wanted or transport in wanted or mode in wanted:
                print(*_measure(transport, mode, folders), sep="\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
