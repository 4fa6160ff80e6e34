"""The contract of every store of claims: SQLite, PostgreSQL and Redis for real, and the memory that tests use."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from failwell.server import open_claims
from failwell.server._claims import ClaimStore, MemoryClaims, StoreDown
from tests.exceptions.servers import Postgres, Redis, free_port

STORES = ["memory", "sqlite", "postgresql", "redis"]
LONG = 60.0
OVER = -1.0
"""A lease that is over when it begins."""


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    opened = _open(request, tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def key(request: pytest.FixtureRequest) -> str:
    return request.node.name


def _open(request: pytest.FixtureRequest, folder: Path) -> ClaimStore:
    if request.param == "memory":
        return MemoryClaims()
    if request.param == "sqlite":
        return open_claims(f"sqlite:///{folder / 'effects.db'}")
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        return open_claims(f"postgresql://{server.url}")
    redis: Redis = request.getfixturevalue("redis_server")
    return open_claims(f"redis://127.0.0.1:{redis.port}/0")


def _claim(store: ClaimStore, key: str, owner: str, *, lease: float = LONG, retention: float = LONG) -> Any:
    return store.claim(key, "f", owner, lease=lease, retention=retention)


def test_a_key_is_claimed_once(store: ClaimStore, key: str) -> None:
    assert _claim(store, key, "a") is None

    held = _claim(store, key, "b")

    assert (held.state, held.owner, held.fingerprint, held.result) == ("running", "a", "f", None)
    assert 0 < held.lease <= LONG


def test_of_many_that_claim_at_once_one_gets_the_key(store: ClaimStore, key: str) -> None:
    got: list[str] = []
    gate = threading.Barrier(8)

    def race(owner: str) -> None:
        gate.wait()
        if _claim(store, key, owner) is None:
            got.append(owner)

    threads = [threading.Thread(target=race, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(got) == 1


def test_a_result_is_kept_as_it_was_given(store: ClaimStore, key: str) -> None:
    _claim(store, key, "a")

    assert store.settle(key, "a", "done", b'{"x":"\xc3\xa4\x00"}', retention=LONG)

    kept = _claim(store, key, "b")
    assert (kept.state, kept.result) == ("done", b'{"x":"\xc3\xa4\x00"}')


def test_a_released_key_is_free(store: ClaimStore, key: str) -> None:
    _claim(store, key, "a")

    assert store.release(key, "a")

    assert _claim(store, key, "b") is None


@pytest.mark.parametrize(
    "act",
    [
        lambda store, key: store.release(key, "b"),
        lambda store, key: store.renew(key, "b", lease=LONG),
        lambda store, key: store.settle(key, "b", "done", b"x", retention=LONG),
        lambda store, key: store.take_over(key, "b", "c", lease=LONG),
        lambda store, key: store.take_over(key, "b", "a", lease=LONG),  # which is still at work
    ],
    ids=["release", "renew", "settle", "take over from a stranger", "take over a live claim"],
)
def test_nobody_else_changes_a_live_claim(store: ClaimStore, key: str, act: Callable[[Any, str], bool]) -> None:
    _claim(store, key, "a")

    assert act(store, key) is False

    held = _claim(store, key, "d")
    assert (held.state, held.owner) == ("running", "a")


def test_a_lost_claim_is_taken_over_by_one(store: ClaimStore, key: str) -> None:
    _claim(store, key, "a", lease=OVER)

    assert store.take_over(key, "b", "a", lease=LONG)
    assert not store.take_over(key, "c", "a", lease=LONG)

    assert not store.settle(key, "a", "done", b"late", retention=LONG)
    assert _claim(store, key, "d").owner == "b"


def test_a_renewed_claim_is_not_lost(store: ClaimStore, key: str) -> None:
    _claim(store, key, "a", lease=OVER)

    assert store.renew(key, "a", lease=LONG)

    assert not store.take_over(key, "b", "a", lease=LONG)


def test_an_unknown_outcome_can_be_taken_up_and_a_done_one_cannot(store: ClaimStore, key: str) -> None:
    _claim(store, key, "a")
    store.settle(key, "a", "unknown", None, retention=LONG)
    assert _claim(store, key, "x").state == "unknown"

    assert store.take_over(key, "b", "a", lease=LONG)
    store.settle(key, "b", "done", b"x", retention=LONG)

    assert not store.take_over(key, "c", "b", lease=LONG)
    assert not store.settle(key, "b", "unknown", None, retention=LONG)
    assert not store.release(key, "b")
    assert _claim(store, key, "d").state == "done"


def test_a_key_is_forgotten_after_its_retention_but_never_while_its_call_runs(store: ClaimStore, key: str) -> None:
    _claim(store, key, "a", lease=LONG, retention=0.001)
    threading.Event().wait(0.05)
    assert _claim(store, key, "b").owner == "a"

    store.settle(key, "a", "done", b"x", retention=0.001)
    threading.Event().wait(0.05)

    assert _claim(store, key, "b") is None


@pytest.mark.parametrize("scheme", ["postgresql", "redis"])
def test_a_store_that_is_away_says_so(scheme: str) -> None:
    store = open_claims(f"{scheme}://127.0.0.1:{free_port()}/0")

    with pytest.raises(StoreDown):
        _claim(store, "k", "a")


def test_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    path = tmp_path / "effects.db"
    path.write_text("not a database" * 100)

    with pytest.raises(StoreDown):
        _claim(open_claims(f"sqlite:///{path}"), "k", "a")


def test_only_the_owner_may_read_a_file_of_claims(tmp_path: Path) -> None:
    path = tmp_path / "effects.db"
    store = open_claims(f"sqlite:///{path}")
    _claim(store, "k", "a")
    store.close()

    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("address", ["mysql://x/y", "effects.db", ""])
def test_an_address_of_no_store_is_refused_with_examples(address: str) -> None:
    with pytest.raises(ValueError, match=r"sqlite:///effects\.db"):
        open_claims(address)
