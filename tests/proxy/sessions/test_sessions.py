"""Every scripted session looks from outside as it was recorded; `python -m tests.proxy.sessions` shows them all."""

import asyncio
import sys
from collections.abc import Iterator

import pytest

if sys.platform == "win32":
    pytest.skip("the sessions need pipes and sockets that Windows does not have", allow_module_level=True)

from tests.proxy.sessions import store
from tests.proxy.sessions.launcher import Launcher
from tests.proxy.sessions.table import SESSIONS


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    found = Launcher()
    yield found
    found.close()


@pytest.fixture(scope="module")
def recorded() -> dict[str, store.Record]:
    return store.recorded()


@pytest.mark.parametrize(
    "name",
    [name if session.is_quick else pytest.param(name, marks=pytest.mark.slow) for name, session in SESSIONS.items()],
)
def test_a_session_is_as_it_was_recorded(name: str, launcher: Launcher, recorded: dict[str, store.Record]) -> None:
    found = asyncio.run(store.play(SESSIONS[name], launcher))

    assert not store.difference(recorded.get(name), found), store.difference(recorded.get(name), found)


def test_every_session_is_recorded_and_every_record_is_of_a_session(recorded: dict[str, store.Record]) -> None:
    assert set(recorded) == set(SESSIONS)


def test_both_transports_are_played_often() -> None:
    over_stdio = [name for name in SESSIONS if name.startswith("stdio/")]

    assert len(over_stdio) >= 110
    assert len(SESSIONS) - len(over_stdio) >= 90
