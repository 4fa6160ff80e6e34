import asyncio

import pytest

from failwell.demo import playing
from failwell.demo.playing import Played


@pytest.fixture(scope="session")
def played() -> list[Played]:
    """The demo, played once for real."""
    return asyncio.run(playing.play("compact"))
