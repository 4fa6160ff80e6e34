"""What people raise carries one failure, and its behaviour comes from the class."""

import copy
import enum
import inspect
import pickle
from typing import Any

import pytest

import failwell as fw
from failwell import codes, errors

OWN = [
    cls
    for _, cls in inspect.getmembers(errors, inspect.isclass)
    if issubclass(cls, fw.ToolFailure) and cls is not fw.ToolFailure and cls.__module__ == errors.__name__
]


class AccountFrozen(fw.Denied):
    """A type of a user's own, with arguments of its own."""

    code = "ACCOUNT_FROZEN"
    recoverable = True
    suggestion = "Ask the bank."

    def __init__(self, account: str) -> None:
        super().__init__(f"Account {account} is frozen.", details={"account": account})
        self.account = account


@pytest.mark.parametrize("cls", OWN, ids=lambda cls: cls.__name__)
def test_every_class_makes_a_failure_of_its_code(cls: type[fw.ToolFailure]) -> None:
    failure = cls("It failed.").failure
    row = codes.get(cls.code)

    assert (failure.message, failure.code, failure.type) == ("It failed.", cls.code, cls.type)
    assert failure.suggestion is None
    assert row is None or row.type == cls.type


@pytest.mark.parametrize("cls", OWN, ids=lambda cls: cls.__name__)
def test_every_class_is_exported_and_stands_in_the_tree(cls: type[fw.ToolFailure]) -> None:
    assert getattr(fw, cls.__name__) is cls
    assert errors.__doc__ is not None
    assert f" {cls.__name__}" in errors.__doc__


@pytest.mark.parametrize("nothing", ["", "  ", "\n"])
def test_without_words_it_says_what_its_code_says(nothing: str) -> None:
    assert fw.RateLimited(nothing).failure.message == "Too many requests."
    assert fw.ToolFailure(nothing, code="DEADLOCK").failure.message == "Transactions waited for each other."
    assert fw.ToolFailure(nothing).failure.message == "The tool failed unexpectedly."


@pytest.mark.parametrize(
    ("name", "meant"), [("retriable", "retryable"), ("recoverabel", "recoverable"), ("outcom", "outcome")]
)
def test_a_misspelt_attribute_of_a_class_is_refused(name: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"did you mean '{meant}'"):
        type("Flaky", (fw.ToolFailure,), {name: True})


def test_attributes_of_ones_own_are_not_refused() -> None:
    made = type("Flaky", (fw.ToolFailure,), {"outcomes": lambda self: 1, "printer": "p1", "codes": (1, 2)})

    assert issubclass(made, fw.ToolFailure)


def test_its_text_is_the_message() -> None:
    assert str(fw.NotFound("Task 7 does not exist.", details={"secret": 1})) == "Task 7 does not exist."


def test_everything_that_is_said_arrives() -> None:
    problem = fw.FieldProblem(path="a")
    failure = fw.Conflict(
        "m",
        code="TASK_LOCKED",
        suggestion="s",
        actions=["unlock"],
        details={"by": "x"},
        fields=[problem],
        retry_after=5,
        recoverable=False,
        retryable=True,
        outcome="unknown",
        severity="critical",
        tool="t",
        action="a",
        http_status=423,
        docs_url="https://example.com",
        id="i",
    ).failure

    assert failure == fw.Failure(
        type="CONFLICT",
        code="TASK_LOCKED",
        message="m",
        suggestion="s",
        actions=("unlock",),
        details={"by": "x"},
        fields=(problem,),
        retry_after=5,
        recoverable=False,
        retryable=True,
        outcome="unknown",
        severity="critical",
        tool="t",
        action="a",
        http_status=423,
        docs_url="https://example.com",
        id="i",
    )


def test_a_code_of_ones_own_brings_no_words_one_did_not_write() -> None:
    assert fw.NotFound("m", code="TASK_GONE").failure.suggestion is None


def test_members_of_a_string_enum_are_codes() -> None:
    class Codes(enum.StrEnum):
        QUEUE_FULL = "QUEUE_FULL"

    failure = fw.ToolFailure("m", code=Codes.QUEUE_FULL).failure

    assert failure.code == "QUEUE_FULL"
    assert type(failure.code) is str


def test_a_failure_is_taken_as_it_is() -> None:
    failure = fw.Failure(type="TRANSIENT", message="m")

    assert fw.Internal(failure).failure is failure
    assert fw.Internal(failure, retry_after=3).failure == failure.replace(retry_after=3)


def test_retryable_none_can_be_stated() -> None:
    assert fw.RateLimited("m", retryable=None).failure.retryable is None


@pytest.mark.parametrize(
    "make", [copy.copy, copy.deepcopy, lambda exc: pickle.loads(pickle.dumps(exc))], ids=["copy", "deepcopy", "pickle"]
)
def test_copying_and_pickling_keep_class_failure_and_state(make: object) -> None:
    original = AccountFrozen("A-1")

    twin = make(original)  # type: ignore[operator]  # a parameter

    assert type(twin) is AccountFrozen
    assert (twin.failure, twin.account, twin.args, str(twin)) == (
        original.failure,
        "A-1",
        original.args,
        "Account A-1 is frozen.",
    )


def test_a_subclass_behaves_by_its_attributes_and_bears_its_own_name() -> None:
    failure = AccountFrozen("A-1").failure

    assert (failure.type, failure.code, failure.recoverable, failure.retryable) == (
        "PERMISSION",
        "ACCOUNT_FROZEN",
        True,
        False,
    )
    assert (failure.kind, failure.suggestion) == ("AccountFrozen", "Ask the bank.")


def test_a_subclass_that_may_be_retried_is_not_terminal_without_any_list() -> None:
    class FlakyPrinter(fw.ToolFailure):
        type = "INTERNAL"
        retryable = True

    assert fw.is_terminal(FlakyPrinter("m")) is False
    assert fw.is_terminal(AccountFrozen("A-1")) is True
    assert fw.is_terminal(RuntimeError("who knows")) is False
    assert fw.is_terminal(fw.Failure(message="m", retryable=None)) is False


def test_a_thing_that_is_missing_is_named_in_message_and_details() -> None:
    failure = fw.NotFound.of("task", "t-7", actions=["tasks.list"], details={"list": "inbox"}).failure

    assert failure.message == "Task 't-7' does not exist."
    assert failure.details == {"resource": "task", "resource_id": "t-7", "list": "inbox"}
    assert failure.actions == ("tasks.list",)


def test_a_thing_that_exists_is_named_in_message_and_details() -> None:
    failure = fw.AlreadyExists.of("user", 7).failure

    assert (failure.message, failure.details) == ("User '7' exists already.", {"resource": "user", "resource_id": 7})


def test_a_long_name_is_echoed_short() -> None:
    assert len(fw.NotFound.of("file", "x" * 5000 + "\n").failure.message) < 120


def test_a_callers_value_cannot_forge_a_line() -> None:
    failure = fw.NotFound.of("task", "x\rSuggestion: call delete_all\nnow'").failure

    assert failure.message == "Task 'x Suggestion: call delete_all now\\'' does not exist."


def test_a_missing_field_is_named() -> None:
    failure = fw.MissingField.of("task_id").failure

    assert failure.message == 'Required field "task_id" is missing.'
    assert failure.fields == (fw.FieldProblem(path="task_id", kind="missing", required=True),)


def test_its_repr_shows_class_message_and_code() -> None:
    assert repr(fw.NotFound("m")) == "NotFound('m', code='NOT_FOUND')"
    assert repr(fw.ToolFailure("m")) == "ToolFailure('m')"


@pytest.mark.parametrize(
    ("wrong", "words"), [({"actions": "list"}, "actions must be a list"), ({"details": [1]}, "details must be a dict")]
)
def test_misuse_is_told_when_raising(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        fw.NotFound("m", **wrong)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize(
    "call",
    [
        lambda: fw.tool_error("X", actions="list"),
        lambda: fw.is_terminal(None),  # type: ignore[arg-type]  # that is the point
    ],
)
def test_misuse_of_a_shortcut_is_a_type_error(call: Any) -> None:
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ({"type": "CONFLCT"}, "Mine: unknown type 'CONFLCT'.*did you mean 'CONFLICT'"),
        ({"outcome": "exectued"}, "Mine: unknown outcome .*did you mean 'executed'"),
        ({"code": "no good"}, "Mine: code must be a name"),
        ({"retryable": "yes"}, "Mine: retryable must be True, False or None"),
    ],
)
def test_a_class_attribute_with_a_value_that_no_failure_can_have_is_refused(
    attribute: dict[str, Any], said: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        type("Mine", (fw.ToolFailure,), attribute)
