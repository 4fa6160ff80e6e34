"""Short forms of the fuzzing; `make nightly` has the long one."""

import pytest

from tests.proxy.fuzz import PROXIES


@pytest.mark.parametrize("proxy", PROXIES)
@pytest.mark.parametrize("messages", [400, pytest.param(5_000, marks=pytest.mark.slow)])
def test_every_call_among_mutated_messages_gets_one_answer_and_no_failure_is_raw(proxy: str, messages: int) -> None:
    found = PROXIES[proxy](messages, "2")

    assert (found.unanswered, found.raw, found.wrong) == (0, 0, [])
    assert found.is_fine
