import asyncio
import datetime
import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import failwell as fw


def billing(**settings: Any) -> fw.Group:
    group = fw.Group("billing", **settings)
    for action in ("list", "create", "delete"):
        group.add(action, lambda: None, schema={"type": "object"})
    return group


def refused(group: fw.Group, arguments: Any) -> fw.Failure:
    with pytest.raises(fw.Invalid) as caught:
        group.route(arguments)
    return caught.value.failure


class TestTheDiscriminator:
    @pytest.mark.parametrize("arguments", [{}, None, {"action": None}, {"id": 5}])
    def test_that_is_missing_is_asked_for_with_all_actions(self, arguments):
        assert refused(billing(), arguments) == fw.Failure(
            code="MISSING_DISCRIMINATOR",
            message='The required field "action" is missing.',
            suggestion='Add the "action" field and call the tool again.',
            actions=("list", "create", "delete"),
            fields=(
                fw.FieldProblem(path="action", kind="missing", required=True, options=("list", "create", "delete")),
            ),
        )

    def test_that_is_misspelt_names_the_action_that_was_meant(self):
        assert refused(billing(), {"action": "delte"}) == fw.Failure(
            code="UNKNOWN_ACTION",
            message='The action "delte" does not exist.',
            suggestion="Choose a valid action from available_actions and call the tool again.",
            actions=("list", "create", "delete"),
            fields=(
                fw.FieldProblem(
                    path="action",
                    kind="enum",
                    message="Invalid enum value. Expected 'list' | 'create' | 'delete', received 'delte'",
                    sent="delte",
                    required=True,
                    options=("list", "create", "delete"),
                    did_you_mean="delete",
                ),
            ),
        )

    def test_is_compared_as_words_and_never_corrected(self):
        group = fw.Group("projects", discriminator="do")
        group.add("projects.list", lambda: None, schema={})

        failure = refused(group, {"do": "listProjects"})

        assert failure.fields[0].did_you_mean == "projects.list"

    @pytest.mark.parametrize(
        ("sent", "shown"), [(5, "5"), (True, "true"), (["list"], '["list"]'), ({"list": 1}, "object")]
    )
    def test_that_is_no_text_is_an_unknown_action(self, sent, shown):
        failure = refused(billing(), {"action": sent})

        assert failure.code == "UNKNOWN_ACTION"
        assert failure.message == f"The action {shown} does not exist."
        assert failure.actions == ("list", "create", "delete")
        assert failure.fields[0].kind == "type"
        assert failure.fields[0].options == ("list", "create", "delete")

    def test_that_is_long_or_has_lines_is_shown_short_on_one(self):
        failure = refused(billing(), {"action": "a\nb" + "x" * 200})

        assert failure.message == f'The action "a b{"x" * 76}…" does not exist.'

    def test_may_have_another_name(self):
        failure = refused(billing(discriminator="operation"), {"action": "list"})

        assert failure.message == 'The required field "operation" is missing.'
        assert failure.suggestion == 'Add the "operation" field and call the tool again.'
        assert failure.actions == failure.fields[0].options == ("list", "create", "delete")
        assert failure.fields[0].path == "operation"

    def test_was_not_executed(self):
        assert refused(billing(), {}).outcome == refused(billing(), {"action": "x"}).outcome == "not_executed"


class TestRouting:
    def test_gives_the_action_its_handler_and_the_remaining_arguments(self):
        group = fw.Group("billing")

        @group.action("refund", schema={"properties": {"invoice": {"type": "string"}}})
        def refund(invoice):
            return f"refunded {invoice}"

        sent = {"action": "refund", "invoice": "inv_1"}

        assert group.route(sent) == ("refund", refund, {"invoice": "inv_1"})
        assert sent == {"action": "refund", "invoice": "inv_1"}
        assert group.call(sent) == "refunded inv_1"

    def test_checks_the_arguments_of_the_action(self):
        group = fw.Group("billing")
        group.add("refund", lambda amount: amount, schema={"properties": {"amount": {"type": "integer"}}})

        failure = refused(group, {"action": "refund", "amuont": 5})

        assert (failure.code, failure.tool, failure.action) == ("VALIDATION_FAILED", "billing", "refund")
        assert [(p.path, p.kind, p.did_you_mean) for p in failure.fields] == [("amuont", "unknown", "amount")]

    def test_refuses_arguments_that_are_no_object(self):
        failure = refused(billing(), ["list"])

        assert failure.code == "VALIDATION_FAILED"
        assert failure.message == "(root): Expected object, received array"

    def test_awaits_asynchronous_actions(self):
        group = fw.Group("billing")

        @group.action("slow")
        async def slow(seconds: int) -> int:
            return seconds

        @group.action("quick")
        def quick() -> str:
            return "done"

        assert asyncio.run(group.acall({"action": "slow", "seconds": 3})) == 3
        assert asyncio.run(group.acall({"action": "quick"})) == "done"
        with pytest.raises(TypeError, match="action 'slow' is asynchronous: await acall"):
            group.call({"action": "slow", "seconds": 3})

    def test_checks_nothing_when_told_so(self):
        group = fw.Group("billing", validate=False)
        group.add("refund", lambda **given: given, schema={"properties": {"amount": {"type": "integer"}}})

        assert group.call({"action": "refund", "amount": "x"}) == {"amount": "x"}


class TestRegistration:
    def test_refuses_an_action_twice(self):
        with pytest.raises(ValueError, match="billing has an action 'list' already"):
            billing().add("list", lambda: None)

    def test_refuses_an_argument_named_like_the_discriminator(self):
        with pytest.raises(ValueError, match="action 'go' cannot have an argument 'action': it selects the action"):
            billing().add("go", lambda action: None)

    def test_refuses_an_invalid_schema_with_the_part_that_is_wrong(self):
        with pytest.raises(ValueError, match=r"invalid schema of billing: properties\.a\.type: "):
            billing().add("go", lambda a: None, schema={"properties": {"a": {"type": "strin"}}})

    @pytest.mark.parametrize("name", ["", None, 5])
    def test_refuses_what_is_no_name(self, name):
        with pytest.raises(ValueError, match="name must be a non-empty string, not"):
            fw.Group(name)
        with pytest.raises(ValueError, match="discriminator must be a non-empty string, not"):
            fw.Group("billing", discriminator=name)
        with pytest.raises(ValueError, match="an action's name must be a non-empty string, not"):
            billing().add(name, lambda: None)

    def test_keeps_the_handler_as_it_was(self):
        group = fw.Group("billing")

        @group.action("refund")
        def refund(amount: int) -> int:
            return amount

        assert refund(5) == 5
        assert group.actions == ("refund",)


@dataclass
class Line:
    sku: str
    quantity: int = 1


class TestTypeHints:
    def test_describe_the_arguments(self):
        def create(
            customer: str,
            lines: list[Line],
            limit: Annotated[int, msgspec.Meta(ge=1)] = 10,
            due: datetime.date | None = None,
            note=None,
        ) -> None: ...

        group = fw.Group("orders")
        group.add("create", create)

        assert group.schema["$defs"]["create"] == {
            "type": "object",
            "properties": {
                "customer": {"type": "string"},
                "lines": {"type": "array", "items": {"$ref": "#/$defs/create/$defs/Line"}},
                "limit": {"type": "integer", "minimum": 1, "default": 10},
                "due": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
                "note": {},
            },
            "required": ["customer", "lines"],
            "additionalProperties": False,
            "$defs": {
                "Line": {
                    "title": "Line",
                    "type": "object",
                    "properties": {"sku": {"type": "string"}, "quantity": {"type": "integer", "default": 1}},
                    "required": ["sku"],
                }
            },
        }

    def test_give_the_handler_what_it_asks_for(self):
        group = fw.Group("orders")

        @group.action("create")
        def create(lines: list[Line], due: datetime.date | None = None, limit: int = 10) -> Any:
            return lines, due, limit

        called = {"action": "create", "lines": [{"sku": "a"}], "due": "2025-01-31"}

        assert group.call(called) == ([Line("a")], datetime.date(2025, 1, 31), 10)
        assert group.call({"action": "create", "lines": []}) == ([], None, 10)

    def test_take_further_arguments_where_the_handler_does(self):
        group = fw.Group("orders")
        group.add("tag", lambda name, **labels: (name, labels))

        assert group.call({"action": "tag", "name": "x", "colour": "red"}) == ("x", {"colour": "red"})

    def test_are_checked_without_jsonschema_rs_too(self):
        group = fw.Group("orders", validate=False)

        @group.action("create")
        def create(lines: list[Line]) -> None: ...

        failure = refused(group, {"action": "create", "lines": [{"sku": 5}]})

        assert (failure.code, failure.tool, failure.action) == ("VALIDATION_FAILED", "orders", "create")
        assert failure.fields == (
            fw.FieldProblem(path="lines[0].sku", kind="type", message="Expected `str`, got `int`"),
        )
        assert refused(group, {"action": "create"}).fields[0].path == "(root)"

    @pytest.mark.parametrize(
        ("handler", "message"),
        [
            (lambda *values: None, "parameter 'values' cannot be passed by name"),
            (lambda value, /: None, "parameter 'value' cannot be passed by name"),
        ],
    )
    def test_must_be_for_arguments_with_names(self, handler, message):
        with pytest.raises(TypeError, match=message):
            fw.Group("orders").add("go", handler)

    def test_without_a_schema_are_refused_with_a_way_out(self):
        class Context: ...

        def go(context: Context) -> None: ...

        def lost(value: "Nowhere") -> None: ...  # noqa: F821 - a name that cannot be found

        with pytest.raises(TypeError, match=r"go: no JSON Schema for its parameters; pass schema=\."):
            fw.Group("orders").add("go", go)
        with pytest.raises(TypeError, match=r"lost: no JSON Schema for its parameters; pass schema=\."):
            fw.Group("orders").add("lost", lost)


class TestTheGroupedSchema:
    def test_has_no_combinators_at_the_top_and_says_what_belongs_to_which_action(self):
        group = fw.Group("invoices")

        @group.action("list")
        def list_(customer: str, limit: int = 10) -> None:
            """List the invoices of a customer.

            Newest first.
            """

        @group.action("send", description="Send an invoice.")
        def send(customer: str, invoice: str) -> None: ...

        @group.action("void", schema={"properties": {"customer": {"type": "string"}, "invoice": {"type": "integer"}}})
        def void(**given: Any) -> None: ...

        assert group.schema == {
            "type": "object",
            "properties": {
                "action": {
                    "type": "string",
                    "enum": ["list", "send", "void"],
                    "description": (
                        "Which action to take.\nlist: List the invoices of a customer.\nsend: Send an invoice."
                    ),
                },
                "customer": {"type": "string", "description": "Required for list, send."},
                "limit": {"type": "integer", "default": 10, "description": "For list."},
                "invoice": {
                    "anyOf": [{"type": "string"}, {"type": "integer"}],
                    "description": "For send, void. Required for send.",
                },
            },
            "required": ["action"],
            "additionalProperties": False,
        }

    def test_requires_what_every_action_requires(self):
        group = fw.Group("invoices")
        group.add("send", lambda invoice: None)
        group.add("void", lambda invoice: None)

        assert group.schema["required"] == ["action", "invoice"]
        assert "description" not in group.schema["properties"]["invoice"]

    def test_leads_references_to_where_an_action_stands(self):
        group = fw.Group("orders")

        @group.action("new/old")
        def create(lines: list[Line]) -> None: ...

        schema = group.schema

        check = jsonschema_rs.validator_for(schema, offline=True)
        assert check.is_valid({"action": "new/old", "lines": [{"sku": "a"}]})
        assert not check.is_valid({"action": "new/old", "lines": [{"sku": 5}]})

    def test_of_no_actions_takes_none(self):
        assert fw.Group("empty").schema == {
            "type": "object",
            "properties": {"action": {"type": "string", "enum": []}},
            "required": ["action"],
            "additionalProperties": False,
        }

    fields = st.dictionaries(
        st.sampled_from("abc"), st.sampled_from([{"type": "integer"}, {"type": "string"}, {}, True, False]), max_size=3
    )
    schemas = st.builds(
        lambda properties, required, more: {"properties": properties, "required": required, **more},
        fields,
        st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        st.sampled_from([{}, {"additionalProperties": False}, {"additionalProperties": True}, {"anyOf": [{}]}]),
    )

    def test_takes_an_argument_that_an_action_requires_and_does_not_describe(self):
        group = fw.Group("any")
        group.add("x", lambda **given: given, schema={"properties": {}, "required": ["a"]})
        takes = jsonschema_rs.validator_for(group.schema, offline=True).is_valid

        assert group.call({"action": "x", "a": 1}) == {"a": 1}
        assert takes({"action": "x", "a": 1})
        assert not takes({"action": "x", "b": 1})

    @given(
        st.dictionaries(st.sampled_from(["x", "y", "z"]), schemas, min_size=1, max_size=3),
        st.dictionaries(st.sampled_from("abcd"), st.sampled_from([1, "t", None]), max_size=3),
    )
    def test_takes_whatever_an_action_takes(self, schemas, arguments):
        group = fw.Group("any")
        for name, schema in schemas.items():
            group.add(name, lambda **given: given, schema=schema)
        takes = jsonschema_rs.validator_for(group.schema, offline=True).is_valid

        calls = [{"action": name, **arguments} for name in schemas]
        routed = [call for call in calls if self.is_routed(group, call)]

        assume(routed)
        assert [call for call in routed if not takes(call)] == [], group.schema

    @staticmethod
    def is_routed(group, call):
        try:
            group.route(call)
        except fw.Invalid:
            return False
        return True


def test_without_jsonschema_rs_a_group_routes_and_only_asked_to_validate_needs_it():
    code = """
import sys
sys.modules["jsonschema_rs"] = None
import failwell as fw
group = fw.Group("billing")
group.add("refund", lambda amount: amount, schema={"properties": {"amount": {"type": "integer"}}})
print(group.call({"action": "refund", "amount": "x"}))
try:
    fw.Group("billing", validate=True)
except ImportError as error:
    print(error)
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == [
        "x",
        "checking arguments needs jsonschema-rs: pip install 'failwell[validation]'",
    ]


def test_a_group_is_a_tool() -> None:
    group = fw.Group("billing")
    group.add("double", lambda n: 2 * n, schema={"type": "object", "properties": {"n": {"type": "integer"}}})

    assert group(action="double", n=2) == group({"action": "double", "n": 2}) == group({"action": "double"}, n=2) == 4
    with pytest.raises(fw.Invalid, match="missing"):
        group()
    with pytest.raises(fw.Invalid):
        group([1])


def test_a_misspelt_discriminator_is_pointed_out() -> None:
    group = fw.Group("billing")
    group.add("list", lambda: "nothing")

    with pytest.raises(fw.Invalid) as refused_call:
        group.route({"actoin": "list"})

    problems = refused_call.value.failure.fields
    assert [(problem.path, problem.did_you_mean) for problem in problems] == [("action", None), ("actoin", "action")]
