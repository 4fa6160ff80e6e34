"""Short forms of the fuzzing; `make nightly` has the long one."""

import pytest

from tests.proxy.fuzz import PROXIES, Judge, Responses


@pytest.mark.parametrize("proxy", PROXIES)
@pytest.mark.parametrize("messages", [400, pytest.param(5_000, marks=pytest.mark.slow)])
def test_every_call_among_mutated_messages_gets_one_answer_and_no_failure_is_raw(proxy: str, messages: int) -> None:
    found = PROXIES[proxy](messages, "2")

    assert (found.unanswered, found.raw, found.wrong) == (0, 0, [])
    assert found.is_fine


def test_an_id_that_the_server_makes_up_is_not_held_against_the_proxy() -> None:
    responses = Responses("2")
    for _ in range(3000):
        responses.mutate(b'{"jsonrpc": "2.0", "id": 1000001, "result": {}}', 1000001)
    judge = Judge(responses.made_up)

    for id in (*responses.made_up, 1000001):
        judge.look({"id": id, "result": {}})

    assert responses.made_up
    assert judge.wrong == ["1000001 was answered again, or never asked"]
