"""The demo plays with every version of the mcp SDK, and ends the same."""

import asyncio

import pytest

from failwell.demo import play


@pytest.mark.slow  # tests/demo has the same for the newest SDK
def test_the_score_does_not_depend_on_the_version_of_the_sdk() -> None:
    found = play.scores(asyncio.run(play.play("compact")))

    assert (found["bare"].recovered, found["bare"].duplicates) == (2, 4)
    assert (found["failwell"].recovered, found["failwell"].duplicates) == (11, 0)
