"""What the proxy makes of the recorded failures of real servers: next steps, types, arguments, and nothing lost."""

from tests.proxy import next_steps
from tests.proxy.next_steps import answers, is_given, share
from tests.reading.corpus import CERTAIN, argument_of

LABELLED = [answer for answer in answers() if next_steps.labels().get(answer.row["id"])]
UNDERSTOOD = [
    (answer, answer.failure)
    for answer in answers()
    if answer.failure is not None and (answer.failure.confidence is None or answer.failure.confidence >= CERTAIN)
]


def test_an_answer_gives_the_next_step_of_an_expert() -> None:
    assert len(next_steps.labels()) >= 150
    assert share(is_given(answer, answer.text, answer.own_lines) for answer in LABELLED) >= 0.8


def test_half_of_the_steps_that_a_server_does_not_give_are_added() -> None:
    silent = [answer for answer in LABELLED if not is_given(answer, answer.original, "")]

    assert len(silent) >= 60
    assert share(is_given(answer, answer.text, answer.own_lines) for answer in silent) >= 0.55


def test_what_is_understood_has_the_right_type_and_blames_the_right_arguments() -> None:
    right = share(failure.type in answer.row["category_ok"] for answer, failure in UNDERSTOOD)
    blamed = [
        argument_of(problem.path) in answer.row["fields"]
        for answer, failure in UNDERSTOOD
        if answer.row.get("fields") is not None
        for problem in failure.fields
    ]

    assert len(UNDERSTOOD) >= 0.95 * len(answers())
    assert right >= 0.97
    assert len(blamed) >= 150
    assert share(blamed) >= 0.98


def test_no_answer_says_less_than_the_server() -> None:
    assert {answer.row["id"]: answer.lost for answer in answers() if answer.lost} == {}
