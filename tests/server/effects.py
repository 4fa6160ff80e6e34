"""Fault injection for idempotency keys: workers and stores are killed, and every effect is counted.

`python -m tests.server.effects 10000 sqlite:///effects.db plain`. Each worker is a process of its own that makes calls
the way an SDK's module does, and dies at random moments. Whatever it did to the world is a line in a file, or a row of
the store's own database.
"""

import asyncio
import math
import os
import random
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from failwell.dialects._placement import encode
from failwell.errors import Internal, Locked
from failwell.sdk.idempotency import KeyedCall, call_once
from failwell.server import Idempotency, Resolution, current_claim
from failwell.server._claims_sql import SqlClaims
from failwell.server._protection import CallInfo, Protection

Mode = Literal["plain", "resolver", "downstream", "transaction"]
KEY = "dev.failwell/idempotency_key"
LEASE = 2.0
ABANDONED = 2.0
_WORKERS = 4
# Where a worker may die, and how a tool may end; the rest of the calls go well.
_DEATHS = ("claimed", "effect done", "answer lost")
_FAILURES = ("locked", "crashed before", "crashed after")
_LATER = ("IDEMPOTENCY_IN_PROGRESS", "SERVICE_UNAVAILABLE", "LOCKED")


class World:
    """What effects are done to: a file of lines, to which each effect is one write."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def change(self, key: str) -> None:
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, f"{key}\n".encode())
        finally:
            os.close(file)

    def changes(self) -> Counter[str]:
        return Counter(self.path.read_text().split()) if self.path.exists() else Counter()


class Tally(NamedTuple):
    """What came of all keys: how many had how many effects, and how many ended as a reported unknown."""

    effects: dict[int, int]
    unknown: int
    unsettled: int

    def __str__(self) -> str:
        return f"keys by effects {self.effects}, reported unknown {self.unknown}, unsettled {self.unsettled}"


class Tool:
    """A tool with one effect, in a world that fails."""

    def __init__(self, world: World, mode: Mode, chance: random.Random, address: str, *, faults: bool) -> None:
        self.world = world
        self.mode = mode
        self.chance = chance
        self.address = address
        self.faults = faults

    def fault(self) -> str:
        if not self.faults or self.chance.random() > 0.08:
            return ""
        return self.chance.choice((*_DEATHS, *_FAILURES))

    def __call__(self, key: str) -> dict[str, Any]:
        fault = self.fault()
        if fault == "claimed":
            die()
        if fault == "locked":
            return encode(Locked("It is locked.").failure)
        if fault == "crashed before":
            return encode(Internal("It crashed.", outcome="unknown").failure)
        self.effect(key)
        if fault == "effect done":
            die()
        if fault == "crashed after":
            return encode(Internal("It crashed.", outcome="unknown").failure)
        return {"content": [{"type": "text", "text": f"paid {key}"}], "isError": False}

    def effect(self, key: str) -> None:
        if self.mode == "transaction":
            self.commit(key)
        elif self.mode == "downstream":
            if not self.world.changes()[key]:  # the service behind knows the key
                self.world.change(key)
        else:
            self.world.change(key)

    def commit(self, key: str) -> None:
        claim = current_claim()
        assert claim is not None
        insert = "INSERT INTO effects VALUES ({})"
        if self.address.startswith("sqlite"):
            database = sqlite3.connect(self.address.removeprefix("sqlite:///"), timeout=10)
            try:
                with database:
                    database.execute(insert.format("?"), (key,))
                    claim.settle_in(database)
            finally:
                database.close()
        else:
            import psycopg

            with psycopg.connect(self.address) as connection:
                connection.execute(insert.format("%s"), (key,))
                claim.settle_in(connection)

    def find(self, key: str, arguments: dict[str, Any]) -> Resolution | None:
        return Resolution({"content": [], "isError": False}) if self.world.changes()[key] else None


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def settings_for(mode: Mode, address: str, tool: Tool) -> Idempotency:
    return Idempotency(
        address,
        lease=LEASE,
        abandoned_after=ABANDONED,
        resolve=tool.find if mode == "resolver" else None,
        downstream=mode == "downstream",
        transactional=mode == "transaction",
    )


async def _call(protection: Protection, tool: Tool, key: str) -> Any:
    async def info() -> CallInfo:
        return CallInfo("pay")

    async def run() -> Any:
        return tool(key)

    found = await call_once(protection, KeyedCall("pay", {"key": key}, {KEY: key}, None, None, info), run)
    return found if isinstance(found, dict) else found.model_dump(mode="json", by_alias=True, exclude_none=True)


def code_of(wire: dict[str, Any]) -> str | None:
    from failwell import read

    failure = read(wire)
    return failure.code if failure else None


def work(keys: list[str], make: Callable[[], Tool], address: str, mode: Mode) -> None:
    """Make the calls, one after another, until all are made or this process dies."""
    tool = make()
    protection = Protection(idempotent={"pay": settings_for(mode, address, tool)})

    async def run() -> None:
        for key in keys:
            await _call(protection, tool, key)
            if tool.faults and tool.chance.random() < 0.01:
                die()

    asyncio.run(run())


def play(
    calls: int,
    address: str,
    mode: Mode,
    folder: Path,
    *,
    seed: int = 1,
    disturb: Callable[[int], None] = lambda _: None,
) -> Tally:
    """Make so many calls from several workers that die, settle what is left, and count."""
    world, chance = World(folder / "effects"), random.Random(seed)
    if mode == "transaction":
        _make_table(address)
    keys = [f"key-{number:012d}" for number in range(max(calls // 3, 1))]
    sent = [key for key in keys for _ in range(3)]  # each key three times, at any moment
    chance.shuffle(sent)
    shares = [sent[start::_WORKERS] for start in range(_WORKERS)]
    children: dict[int, int] = {}
    rounds = 0
    done = [0] * _WORKERS
    while children or any(done[worker] < len(shares[worker]) for worker in range(_WORKERS)):
        for worker, share in enumerate(shares):
            if worker not in children.values() and done[worker] < len(share):
                batch = share[done[worker] : done[worker] + 50]
                done[worker] += len(batch)
                number = chance.random()
                pid = _fork(
                    lambda batch=batch, number=number: work(  # type: ignore[misc]  # bound now
                        batch, lambda: Tool(world, mode, random.Random(number), address, faults=True), address, mode
                    )
                )
                children[pid] = worker
        ended, _ = os.wait()
        children.pop(ended, None)
        rounds += 1
        disturb(rounds)
    return _settled(keys, world, mode, address)


def _settled(keys: list[str], world: World, mode: Mode, address: str) -> Tally:
    """Ask for every key until it has a final answer, with a worker that does not fail."""
    tool = Tool(world, mode, random.Random(0), address, faults=False)
    protection = Protection(idempotent={"pay": settings_for(mode, address, tool)})
    answers: dict[str, str | None] = {}

    async def ask() -> None:
        waiting, deadline = list(keys), math.inf
        while waiting and time.monotonic() < deadline:
            for key in waiting:
                answers[key] = code_of(await _call(protection, tool, key))
            waiting = [key for key in waiting if answers[key] in _LATER]
            # From the first answers on: asking for thousands of keys may take a busy machine minutes.
            deadline = min(deadline, time.monotonic() + 60 + LEASE + ABANDONED)
            if waiting:
                await asyncio.sleep(0.2)

    asyncio.run(ask())
    protection.idempotent["pay"].store.close()
    effects = _table(address) if mode == "transaction" else world.changes()
    return Tally(
        dict(Counter(effects[key] for key in keys)),
        sum(code == "OUTCOME_UNKNOWN" for code in answers.values()),
        sum(code in _LATER for code in answers.values()),
    )


def _make_table(address: str) -> None:
    store = _store(address)
    with store.transaction() as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS effects (key TEXT)")
        connection.execute("DELETE FROM effects")
    store.close()


def _table(address: str) -> Counter[str]:
    store = _store(address)
    with store.transaction() as connection:
        found = Counter(key for (key,) in connection.execute("SELECT key FROM effects").fetchall())
    store.close()
    return found


def _store(address: str) -> SqlClaims:
    from failwell.server import open_claims

    store = open_claims(address)
    assert isinstance(store, SqlClaims)
    return store


def _fork(run: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        import logging

        logging.disable(logging.CRITICAL)
        run()
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        began = time.monotonic()
        mode: Any = sys.argv[3]
        found = play(int(sys.argv[1]), sys.argv[2], mode, Path(name))
        sys.stdout.write(f"{found}\n{time.monotonic() - began:.1f} s\n")
