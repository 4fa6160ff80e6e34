"""Every byte arrives, once and in order, however the ends read, write and die; `python -m tests.proxy.test_bytes` looks longer."""

import json
import os
import random
import socket
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from failwell.proxy import outlets
from failwell.proxy.child import Child
from failwell.proxy.options import parse
from failwell.proxy.running import Proxy
from tests.proxy.noisy import noise, pause, size

NOISY = [sys.executable, "-I", str(Path(__file__).with_name("noisy.py"))]
OPTIONS = ((), (), ("--retry",), ("--restart",))


class Ends(NamedTuple):
    """What the proxy reads and writes, and what the client does."""

    source: int
    target: int
    to: int
    from_: int


def ends(chance: random.Random) -> Ends:
    if chance.random() < 0.3:
        ours, its = socket.socketpair()
        mine, other = ours.detach(), its.detach()
        return Ends(other, os.dup(other), mine, os.dup(mine))
    source, to = os.pipe()
    from_, target = os.pipe()
    if chance.random() < 0.2:
        os.set_blocking(source, False)
        os.set_blocking(target, False)
    return Ends(source, target, to, from_)


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
    sent: bytes
    asked: set[int]
    received: bytes
    got: bytes
    said: bytes


def session(seed: str, folder: Path) -> Outcome:
    """Return all that went in and all that came out of a session of its own."""
    chance = random.Random(seed)
    sent, asked = requests(chance)
    got, said = folder / "got", folder / "said"
    dies = [str(chance.randrange(1, 300_000))] if chance.random() < 0.4 else []
    options = chance.choice(OPTIONS) if not dies else ()
    parsed = parse(["--grace", "60", *options, "--", *NOISY, seed, str(got), str(said), *dies])
    source, target, to, from_ = ends(chance)
    proxy = Proxy(parsed, Child(parsed.command), None, source=source, target=target)

    def pass_lines() -> None:
        proxy.session.run()
        os.close(target)
        if os.get_inheritable(source) is not None and stat_is_socket(source):
            os.close(source)

    threads = [threading.Thread(target=pass_lines), threading.Thread(target=write, args=(to, sent, random.Random(seed + "c")))]
    for thread in threads:
        thread.start()
    received = read(from_, random.Random(seed + "r"))
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    os.close(from_)
    return Outcome(sent, asked, received, got.read_bytes() if got.exists() else b"", said.read_bytes() if said.exists() else b"")


def stat_is_socket(file: int) -> bool:
    return Path(f"/proc/self/fd/{file}").readlink().name.startswith("socket")


def write(to: int, data: bytes, chance: random.Random) -> None:
    at = 0
    try:
        while at < len(data):
            pause(chance)
            at += os.write(to, data[at : at + size(chance)])
    except OSError:
        pass  # the server has died, and the proxy with it
    if stat_is_socket(to):
        with socket.socket(fileno=to) as end:
            try:
                end.shutdown(socket.SHUT_WR)
            except OSError:
                return  # the proxy has ended already
    else:
        os.close(to)


def read(source: int, chance: random.Random) -> bytes:
    found: list[bytes] = []
    while True:
        pause(chance)
        try:
            chunk = os.read(source, size(chance))
        except ConnectionResetError:  # a socket says so if the proxy left something unread
            chunk = b""
        if not chunk:
            return b"".join(found)
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
    sent, asked, received, got, said = outcome
    whole = said[: said.rfind(b"\n") + 1]
    wrong = []
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


@pytest.mark.parametrize("seed", range(8))
def test_every_byte_arrives(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlets, "_PATIENCE", seed % 4 * 0.003)

    assert wrong_in(session(str(seed), tmp_path)) == []


def main() -> None:
    """Look at more sessions than the tests have time for: `python -m tests.proxy.test_bytes FIRST LAST`."""
    for seed in range(*map(int, sys.argv[1:3])):
        outlets._PATIENCE = seed % 4 * 0.003
        with tempfile.TemporaryDirectory() as folder:
            for line in wrong_in(session(str(seed), Path(folder))):
                sys.stdout.write(f"{seed}: {line}\n")


if __name__ == "__main__":
    main()
