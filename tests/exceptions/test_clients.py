"""Code that fails over what a user answered; how tools ask on real SDKs is in `tests/matrix/test_questions.py`."""

from typing import Any

import pytest

import failwell as fw


class DeclinedElicitation:
    action = "decline"


class CancelledElicitation:
    action = "cancel"


class ElicitResult:
    def __init__(self, action: str) -> None:
        self.action = action
        self.content: Any = None


def failure_of(answer: Any, use: Any) -> fw.Failure:
    try:
        use(answer)
    except Exception as exc:
        return fw.from_exception(exc)
    raise AssertionError("nothing was raised")


def data(answer: Any) -> Any:
    return answer.data.name


def content(answer: Any) -> Any:
    return answer.content["name"]


def refuse(answer: Any) -> Any:
    raise ValueError(f"not confirmed: user {answer.action}ed")


def crash(answer: Any) -> Any:
    return {}["name"]


@pytest.mark.parametrize(
    ("answer", "use", "code"),
    [
        (DeclinedElicitation(), data, "USER_DECLINED"),
        (CancelledElicitation(), data, "USER_CANCELLED"),
        (ElicitResult("decline"), content, "USER_DECLINED"),
        (ElicitResult("cancel"), content, "USER_CANCELLED"),
        (ElicitResult("cancel"), refuse, "USER_CANCELLED"),
        (DeclinedElicitation(), refuse, "USER_DECLINED"),
    ],
)
def test_code_that_fails_over_an_answer_tells_the_answer(answer: Any, use: Any, code: str) -> None:
    failure = failure_of(answer, use)

    assert (failure.code, failure.details) == (code, {"request": "elicitation"})


def grouped(answer: Any) -> Any:
    try:
        return data(answer)
    except AttributeError as exc:
        raise ExceptionGroup("unhandled errors in a TaskGroup", [exc]) from None


def wrapped(answer: Any) -> Any:
    try:
        return data(answer)
    except AttributeError as exc:
        raise RuntimeError("no name") from exc


@pytest.mark.parametrize("use", [grouped, wrapped])
def test_an_answer_is_told_from_within_a_group_and_from_what_was_raised_over_it(use: Any) -> None:
    assert failure_of(DeclinedElicitation(), use).code == "USER_DECLINED"


@pytest.mark.parametrize("answer", [DeclinedElicitation(), ElicitResult("accept"), object()])
def test_a_crash_beside_an_answer_is_a_crash(answer: Any) -> None:
    assert failure_of(answer, crash).code == "INTERNAL_ERROR"


def test_an_answer_that_was_given_is_no_reason() -> None:
    assert failure_of(ElicitResult("accept"), content).code == "INTERNAL_ERROR"


def test_a_rule_of_the_user_comes_first() -> None:
    class Odd(Exception):
        pass

    with fw.rule(Odd, "CONFLICT"):

        def use(answer: Any) -> Any:
            raise Odd("user declined")

        assert failure_of(DeclinedElicitation(), use).code == "CONFLICT"
