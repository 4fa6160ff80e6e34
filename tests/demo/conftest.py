import asyncio

import pytest

from failwell.demo import play
from failwell.demo.play import Played


@pytest.fixture(scope="session")
def played() -> list[Played]:
    """The demo, played once for real."""
    return asyncio.run(play.play("compact"))
