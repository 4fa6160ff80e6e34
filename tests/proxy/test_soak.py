"""The short form of the soak; `python -m tests.proxy.soak` is the long one."""

from tests.proxy.soak import Soak


def test_every_call_gets_exactly_one_answer_whatever_the_server_does() -> None:
    found = Soak(4_000, seed="2").run()

    assert found.wrong == []
    assert found.answered == 4_000
    assert found.failed > 100
    assert found.strays > 20
