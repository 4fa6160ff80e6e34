"""Steps compose; the first failure ends the chain."""

from typing import Any

import pytest

import failwell as fw

MISSING = fw.Failure(code="NOT_FOUND", message="User 7 does not exist.")


def find(user_id: int) -> "fw.Result[str]":
    return fw.succeed("ann") if user_id == 1 else fw.fail(MISSING)


def test_a_success_gives_its_value_and_goes_on() -> None:
    found = find(1)

    assert found.ok
    assert found.unwrap() == found.value == "ann"
    assert found.then(lambda name: fw.succeed(name.upper())) == fw.Ok("ANN")


def test_a_failure_ends_the_chain() -> None:
    steps: list[str] = []
    found = find(7)

    assert not found.ok
    assert found.then(lambda name: fw.succeed(steps.append(name))) is found
    assert steps == []
    with pytest.raises(fw.ToolFailure, match="User 7") as raised:
        found.unwrap()
    assert raised.value.failure is MISSING


def test_an_exception_is_taken_for_its_failure() -> None:
    assert fw.fail(fw.NotFound(MISSING)) == fw.Err(MISSING)


def test_a_side_that_a_result_does_not_have_is_named_when_it_is_asked_for() -> None:
    with pytest.raises(AttributeError, match="check ok first"):
        _ = fw.succeed(1).failure
    with pytest.raises(AttributeError, match="check ok first"):
        _ = fw.fail(fw.error("m")).value


@pytest.mark.parametrize(
    ("value", "text"), [("done", "done"), ({"a": 1}, '{"a":1}'), ([1, "é"], '[1,"é"]'), (5, "5"), (True, "true")]
)
def test_a_value_becomes_a_wire_shaped_success(value: object, text: str) -> None:
    result = fw.success(value)

    assert result == {"content": [{"type": "text", "text": text}], "isError": False}
    assert fw.read(result) is None


def test_nothing_becomes_an_empty_success() -> None:
    assert fw.success() == {"content": [], "isError": False}


def test_structured_content_is_an_object() -> None:
    assert fw.success({"a": 1}, structured=True)["structuredContent"] == {"a": 1}
    assert fw.success([1], structured=True)["structuredContent"] == {"result": [1]}


def test_all_problems_of_a_call_are_raised_at_once() -> None:
    problems = fw.Validation(tool="claim_task")
    problems.raise_if_any()
    assert not problems
    assert problems.failure is None

    problems.add("task_id", None, required=True).add("n", -1, "n must be positive", expected="a positive number")

    with pytest.raises(fw.Invalid, match="task_id is required; n must be positive") as raised:
        problems.raise_if_any()
    assert raised.value.failure == problems.failure
    assert [(problem.path, problem.kind, problem.sent) for problem in raised.value.failure.fields] == [
        ("task_id", "missing", None),
        ("n", None, -1),
    ]
    assert raised.value.failure.tool == "claim_task"


def test_many_wrong_fields_are_listed_shortly() -> None:
    problems = fw.Validation()
    for n in range(15):
        problems.add(f"f{n}", n, "bad")

    assert problems.failure is not None
    assert problems.failure.message == ", ".join(f"f{n}" for n in range(10)) + " and 5 more are invalid"


def test_a_field_is_named_even_if_its_sentence_begins_with_the_same_letters() -> None:
    failure = fw.Validation().add("id", 1, "identifier must be a number").failure

    assert failure is not None
    assert failure.message == "id: identifier must be a number"


@pytest.mark.parametrize(
    "call",
    [
        lambda: fw.Validation().add("a", 1, options="abc"),
        lambda: fw.fail("oops"),  # type: ignore[arg-type]  # that is the point
    ],
)
def test_misuse_is_a_type_error(call: Any) -> None:
    with pytest.raises(TypeError):
        call()


def test_sdks_publish_the_schema_of_the_value_and_accept_nothing_else() -> None:
    pydantic = pytest.importorskip("pydantic")
    adapter = pydantic.TypeAdapter(fw.Result[int])

    assert adapter.json_schema() == {"type": "integer"}
    assert adapter.validate_python(5) == 5
    with pytest.raises(pydantic.ValidationError):
        adapter.validate_python("five")


def test_sdks_take_a_failure_beside_a_value() -> None:
    pydantic = pytest.importorskip("pydantic")
    adapter = pydantic.TypeAdapter(int | fw.Failure)
    failure = fw.error("Nothing there.")

    assert adapter.validate_python(failure) is failure
    assert adapter.json_schema() == {"anyOf": [{"type": "integer"}, {}]}


def test_a_warning_beside_a_success_leaves_the_value_as_it_is() -> None:
    plain = fw.success({"n": 5}, structured=True)

    warned = fw.success({"n": 5}, structured=True, warning=fw.tool_error("DEPRECATED", message="Use find."))
    warning = fw.read(warned)

    assert warned["content"][:-1] == plain["content"]
    assert (warned["structuredContent"], warned["isError"]) == ({"n": 5}, False)
    assert warning is not None
    assert (warning.code, warning.severity, warning.outcome) == ("DEPRECATED", "warning", "executed")


def test_a_warning_is_a_sentence_or_a_failure() -> None:
    with pytest.raises(TypeError, match="warning takes a sentence or a Failure, not int"):
        fw.success(1, warning=5)  # type: ignore[arg-type]  # what is tested


def test_a_call_that_succeeded_with_a_warning_is_not_made_again() -> None:
    calls: list[int] = []

    def find() -> dict[str, object]:
        calls.append(1)
        return fw.success("done", warning="Use find instead.")

    assert fw.call(find, hints={"readOnlyHint": True}) == find()
    assert len(calls) == 2


@pytest.mark.parametrize("dialect", ["compact", "envelope", "flat", "meta", "xml"])
def test_a_guard_writes_the_warning_in_its_dialect(dialect: str) -> None:
    @fw.guard(dialect=dialect)
    def find() -> object:
        return fw.success("done", warning=fw.tool_error("DEPRECATED", message="Use look.", actions=["look"]))

    result = find()
    warning = fw.read(result)

    assert result["content"][0] == {"type": "text", "text": "done"}
    assert result["isError"] is False
    assert warning is not None
    assert (warning.code, warning.actions, warning.tool) == ("DEPRECATED", ("look",), "find")
