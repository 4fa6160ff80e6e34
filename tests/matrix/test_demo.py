"""The demo plays with every version of the mcp SDK, and ends the same."""

import asyncio

import pytest

from failwell.demo import runner


@pytest.mark.slow  # tests/demo has the same for the newest SDK
def test_the_score_does_not_depend_on_the_version_of_the_sdk() -> None:
    found = runner.scores(asyncio.run(runner.run_demo("compact")))

    assert (found["bare"].recovered, found["bare"].duplicates) == (2, 4)
    assert (found["failwell"].recovered, found["failwell"].duplicates) == (11, 0)
