import asyncio

import pytest

from failwell.demo.runner import run_demo
from failwell.demo.scenes import SceneResult


@pytest.fixture(scope="session")
def results() -> list[SceneResult]:
    """The results of the demo, run once for real."""
    return asyncio.run(run_demo("compact"))
