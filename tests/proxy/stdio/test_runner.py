"""Every byte arrives, once and in order, however the ends read, write and die.

`python -m tests.proxy.stdio.test_runner FIRST LAST` looks at more sessions than the tests have time for.
"""

import contextlib
import json
import os
import random
import socket
import stat
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from failwell.proxy.options import parse
from failwell.proxy.stdio import pump
from failwell.proxy.stdio import session as sessions
from failwell.proxy.stdio.process import Child
from failwell.proxy.stdio.runner import StdioProxy
from tests.proxy.noisy import noise, pause, size

NOISY = [sys.executable, "-I", str(Path(__file__).parents[1] / "noisy.py")]
OPTIONS = ((), (), ("--retry",), ("--restart",))


class Ends(NamedTuple):
    """What the proxy reads and writes, and what the client does."""

    source: int
    target: int
    to: int
    from_: int


def ends(chance: random.Random) -> Ends:
    """Return pipes or sockets, some of which do not block, as if a host had told its own end so and shared it."""
    if chance.random() < 0.3:
        ours, its = socket.socketpair()
        mine, other = ours.detach(), its.detach()
        made = Ends(other, os.dup(other), mine, os.dup(mine))
    else:
        source, to = os.pipe()
        from_, target = os.pipe()
        made = Ends(source, target, to, from_)
    if chance.random() < 0.4:
        os.set_blocking(made.source, False)
        os.set_blocking(made.target, False)
    return made


def requests(chance: random.Random) -> tuple[bytes, set[int]]:
    lines, ids = [], set()
    for id in range(chance.randrange(60)):
        text = "y" * chance.choice((0, 1, 50, 3000, 16_300, 200_000))
        params = {"name": "look", "arguments": {"x": text}}
        call = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        lines.append(json.dumps(call).encode() + b"\n")
        ids.add(id)
        if chance.random() < 0.3:
            lines.append(noise(chance))
    return b"".join(lines), ids


class Outcome(NamedTuple):
    """What the client sent, asked and received, what the server got and said, and whether it was to die."""

    sent: bytes
    asked: set[int]
    received: bytes
    got: bytes
    said: bytes
    is_dying: bool


def session(seed: str, folder: Path) -> Outcome:
    """Return all that went in and all that came out of a session of its own."""
    chance = random.Random(seed)
    sent, asked = requests(chance)
    got, said = folder / "got", folder / "said"
    dies = [str(chance.randrange(1, 300_000))] if chance.random() < 0.4 else []
    options = chance.choice(OPTIONS) if not dies else ()
    parsed = parse(["--grace", "60", *options, "--", *NOISY, seed, str(got), str(said), *dies])
    made = ends(chance)
    proxy = StdioProxy(parsed, Child(parsed.command), None, source=made.source, target=made.target)

    def pass_lines() -> None:
        proxy.session.run()
        hang_up(made.target)

    received: list[bytes] = []
    threads = [
        threading.Thread(target=pass_lines, daemon=True),
        threading.Thread(target=write, args=(made.to, sent, random.Random(seed + "c")), daemon=True),
        threading.Thread(target=read, args=(made.from_, received, random.Random(seed + "r")), daemon=True),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert proxy.session._server.ending.wait(30)  # nobody reads the source any more
    for end in made:
        os.close(end)
    return Outcome(sent, asked, b"".join(received), got.read_bytes(), said.read_bytes(), bool(dies))


def hang_up(end: int) -> None:
    """Tell the other end that nothing more comes; the number stays taken, as a thread may still use it."""
    if stat.S_ISSOCK(os.fstat(end).st_mode):
        with socket.socket(fileno=os.dup(end)) as own, contextlib.suppress(OSError):  # it may have gone already
            own.shutdown(socket.SHUT_WR)
    else:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, end)
        os.close(nothing)


def write(to: int, data: bytes, chance: random.Random) -> None:
    at = 0
    with contextlib.suppress(OSError):  # the server may die, and the proxy with it
        while at < len(data):
            pause(chance)
            at += os.write(to, data[at : at + size(chance)])
    hang_up(to)


def read(source: int, found: list[bytes], chance: random.Random) -> None:
    while True:
        pause(chance)
        try:
            chunk = os.read(source, size(chance))
        except ConnectionResetError:  # a socket says so if the proxy left something unread
            chunk = b""
        if not chunk:
            return
        found.append(chunk)


def ids_in(lines: bytes) -> list[Any]:
    found: list[Any] = []
    for line in lines.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and "id" in message:
            found.append(message["id"])
    return found


def wrong_in(outcome: Outcome) -> list[str]:
    """Return what a session did not do as it should."""
    sent, asked, received, got, said, is_dying = outcome
    whole = said[: said.rfind(b"\n") + 1]
    wrong: list[str] = []
    if not is_dying and (sent, received) != (got, said):
        wrong.append(f"{len(sent)} bytes became {len(got)}, or {len(said)} became {len(received)}")
    if not sent.startswith(got):
        wrong.append("the server got something else")
    if not received.startswith(whole):
        wrong.append(f"the client received {len(received)} bytes that are not the {len(whole)} that were said")
    answers = ids_in(received[len(whole) :])
    open_ = asked - set(ids_in(whole))
    if not set(answers) <= open_ or len(set(answers)) != len(answers):
        wrong.append(f"{answers} were answered by the proxy, and open were {open_}")
    read = {id for id in ids_in(got[: got.rfind(b"\n") + 1]) if id in open_}
    if not read <= set(answers):
        wrong.append(f"nobody answered {read - set(answers)}")
    return wrong


@pytest.mark.parametrize("seed", range(10))
def test_every_byte_arrives(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pump, "WRITE_TIMEOUT", seed % 4 * 0.003)
    monkeypatch.setattr(sessions, "LAST_LINES_WAIT", 20.0)  # a busy machine reads late
    monkeypatch.setattr(sessions, "LAST_ANSWERS_WAIT", 20.0)

    assert wrong_in(session(str(seed), tmp_path)) == []


def main() -> None:
    """Look at more sessions than the tests have time for: `python -m tests.proxy.stdio.test_runner FIRST LAST`."""
    for seed in range(*map(int, sys.argv[1:3])):
        pump.WRITE_TIMEOUT = seed % 4 * 0.003
        with tempfile.TemporaryDirectory() as folder:
            for line in wrong_in(session(str(seed), Path(folder))):
                sys.stdout.write(f"{seed}: {line}\n")


if __name__ == "__main__":
    main()
