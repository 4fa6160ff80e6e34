"""What the proxy makes of the recorded failures of real servers: next steps, types, arguments, and nothing lost."""

import pytest

from tests.proxy import next_steps
from tests.proxy.next_steps import answers, answers_again, figures, further_answers, is_given, share

LABELLED = [answer for answer in answers() if answer.steps]
UNDERSTOOD = [answer for answer in answers() if answer.is_claimed]


def test_an_answer_gives_the_next_step_of_an_expert() -> None:
    assert len(next_steps.labels()) >= 150
    assert share(is_given(answer, answer.text, answer.own_lines) for answer in LABELLED) >= 0.8


def test_half_of_the_steps_that_a_server_does_not_give_are_added() -> None:
    silent = [answer for answer in LABELLED if not is_given(answer, answer.original, "")]

    assert len(silent) >= 60
    assert share(is_given(answer, answer.text, answer.own_lines) for answer in silent) >= 0.55


def test_what_is_understood_has_the_right_type_and_blames_the_right_arguments() -> None:
    right = share(answer.has_right_type for answer in UNDERSTOOD)
    blamed = [is_right for answer in UNDERSTOOD for is_right in answer.right_fields]

    assert len(UNDERSTOOD) >= 0.95 * len(answers())
    assert right >= 0.97
    assert len(blamed) >= 150
    assert share(blamed) >= 0.98


def test_no_answer_says_less_than_the_server() -> None:
    assert {answer.row["id"]: answer.lost for answer in answers() if answer.lost} == {}


@pytest.mark.parametrize("kept_back", [False, True])
def test_answers_of_further_servers_are_right_too(*, kept_back: bool) -> None:
    found = figures(further_answers(kept_back=kept_back))

    assert found.servers >= (5 if kept_back else 10)
    assert found.claimed >= 0.95
    assert found.types >= 0.95
    assert found.fields >= 0.97
    assert found.steps >= 0.6
    assert found.lost == 0


def test_answers_to_new_calls_of_the_servers_recorded_first_are_right_too() -> None:
    found = figures(answers_again(is_new=False))

    assert (found.servers, found.answers) == (22, 306)
    assert found.claimed >= 0.95
    assert found.types >= 0.95
    assert found.fields >= 0.97
    assert found.steps >= 0.6
    assert found.lost == 0


def test_answers_of_new_servers_lose_nothing_and_give_a_next_step() -> None:
    found = figures(answers_again(is_new=True))

    assert found.servers == 6
    assert found.claimed >= 0.95
    assert found.steps >= 0.6
    assert found.lost == 0


def test_more_than_150_answers_of_further_servers_are_labelled() -> None:
    assert sum(len(server["answers"]) for server in next_steps.further_servers()) >= 150
