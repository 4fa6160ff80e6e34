"""Short forms of the soak; `python -m tests.proxy.soak` is the long one."""

import pytest

from tests.proxy.soak import Soak


@pytest.mark.parametrize("calls", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_every_call_gets_exactly_one_answer_whatever_the_server_does(calls: int) -> None:
    found = Soak(calls, seed="2").run()

    assert found.wrong == []
    assert found.answered == calls
    assert found.failed > calls / 40
    assert found.strays > calls / 200
