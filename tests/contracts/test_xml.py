"""The xml contract: errors as XML with a way to recover, automatic ones for arguments and actions included."""

from typing import Any

import pytest

import failwell as fw
from tests.contracts.differences import differs


def text(failure: fw.Failure | fw.ToolFailure, *, flagged: bool = True) -> str:
    result = fw.encode(failure, "xml")
    assert result["isError"] is flagged
    found: str = result["content"][0]["text"]
    return found


def test_a_plain_error_is_a_message_and_flagged() -> None:
    assert text(fw.error('Project "proj_xyz" not found')) == (
        '<tool_error>\n  <message>Project "proj_xyz" not found</message>\n</tool_error>'
    )


def test_a_missing_field_is_named_with_what_to_do() -> None:
    assert text(fw.required("workspace_id")) == (
        '<tool_error code="MISSING_REQUIRED_FIELD">\n'
        '  <message>Required field "workspace_id" is missing.</message>\n'
        '  <recovery>Provide the "workspace_id" parameter and retry.</recovery>\n'
        "</tool_error>"
    )


def test_a_recoverable_error_names_the_way_out() -> None:
    failure = fw.tool_error(
        "ProjectNotFound",
        message="Project 'proj_xyz' does not exist.",
        suggestion="Call projects.list first to get valid IDs, then retry.",
        actions=["projects.list"],
    )

    assert text(failure) == (
        '<tool_error code="ProjectNotFound" severity="error">\n'
        "  <message>Project 'proj_xyz' does not exist.</message>\n"
        "  <recovery>Call projects.list first to get valid IDs, then retry.</recovery>\n"
        "  <available_actions>\n"
        "    <action>projects.list</action>\n"
        "  </available_actions>\n"
        "</tool_error>"
    )
    assert fw.decide(failure).actions == ("projects.list",)


@pytest.mark.parametrize(
    "code",
    [
        "NOT_FOUND", "VALIDATION_ERROR", "UNAUTHORIZED", "FORBIDDEN", "CONFLICT", "RATE_LIMITED", "TIMEOUT",
        "INTERNAL_ERROR", "DEPRECATED", "SERVER_BUSY", "InvoiceAlreadyPaid",
    ],
)  # fmt: skip
def test_canonical_codes_and_any_other_are_written(code: str) -> None:
    assert f'<tool_error code="{code}"' in text(fw.tool_error(code, message="x"))


@pytest.mark.parametrize(("severity", "flagged"), [("warning", False), ("error", True), ("critical", True)])
def test_only_a_warning_is_not_flagged(severity: Any, flagged: bool) -> None:
    failure = fw.tool_error("DEPRECATED", message="x", severity=severity, actions=["billing.invoices_v2"])

    assert f'severity="{severity}"' in text(failure, flagged=flagged)


def test_a_critical_error_is_escalated() -> None:
    assert fw.decide(fw.tool_error("X", message="x", severity="critical")).action == "escalate"


def test_a_warning_can_stand_beside_a_value() -> None:
    @fw.guard(dialect="xml")
    def invoices() -> object:
        warning = fw.tool_error("DEPRECATED", message="Use billing.invoices_v2.", actions=["billing.invoices_v2"])
        return fw.success([1, 2], warning=warning)

    result = invoices()

    assert result["isError"] is False
    assert result["content"][0]["text"] == "[1,2]"
    assert result["content"][1]["text"].startswith('<tool_error code="DEPRECATED" severity="warning">')


def test_details_are_written_one_by_one() -> None:
    failure = fw.tool_error(
        "NOT_FOUND",
        message="Invoice not found.",
        details={"entity_id": "inv_123", "entity_type": "invoice", "searched_workspace": "ws_42"},
    )

    assert text(failure) == (
        '<tool_error code="NOT_FOUND" severity="error">\n'
        "  <message>Invoice not found.</message>\n"
        "  <details>\n"
        '    <detail key="entity_id">inv_123</detail>\n'
        '    <detail key="entity_type">invoice</detail>\n'
        '    <detail key="searched_workspace">ws_42</detail>\n'
        "  </details>\n"
        "</tool_error>"
    )


def test_a_delay_is_written_in_seconds() -> None:
    assert text(fw.tool_error("RATE_LIMITED", message="Too many requests.", retry_after=30)) == (
        '<tool_error code="RATE_LIMITED" severity="error">\n'
        "  <message>Too many requests.</message>\n"
        "  <retry_after>30 seconds</retry_after>\n"
        "</tool_error>"
    )


SCHEMA = {
    "type": "object",
    "properties": {"email": {"type": "string", "format": "email"}, "role": {"enum": ["admin", "user"]}},
    "additionalProperties": False,
}


def test_wrong_arguments_say_what_was_sent_what_is_expected_and_what_would_do() -> None:
    failure = fw.check_arguments({"email": "bad-email", "role": "superadmin"}, SCHEMA, action="users/create")

    assert failure is not None
    assert text(failure) == (
        '<validation_error action="users/create">\n'
        "  <field name=\"email\">Invalid email. You sent: 'bad-email'. Expected: a valid email address "
        "(e.g. user@example.com).</field>\n"
        "  <field name=\"role\">Invalid enum value. Expected 'admin' | 'user', received 'superadmin'. You sent: "
        "'superadmin'. Valid options: 'admin', 'user'.</field>\n"
        "  <recovery>Fix the fields above and call the tool again. Do not explain the error.</recovery>\n"
        "</validation_error>"
    )


def test_unknown_arguments_are_refused() -> None:
    failure = fw.check_arguments({"hallucinated_param": 1}, SCHEMA, action="billing/create")

    assert failure is not None
    assert "hallucinated_param" in text(failure)
    assert "Unrecognized key(s) in object: 'hallucinated_param'." in text(failure)


def _billing(arguments: dict[str, Any]) -> fw.Failure:
    billing = fw.Group("billing", discriminator="action")
    for action in ("list", "create", "delete"):
        billing.add(action, lambda: None)
    with pytest.raises(fw.ToolFailure) as raised:
        billing.route(arguments)
    return raised.value.failure


def test_a_missing_action_is_answered_with_those_that_exist() -> None:
    assert text(_billing({})) == (
        '<tool_error code="MISSING_DISCRIMINATOR">\n'
        '  <message>The required field "action" is missing.</message>\n'
        "  <available_actions>list, create, delete</available_actions>\n"
        '  <recovery>Add the "action" field and call the tool again.</recovery>\n'
        "</tool_error>"
    )


def test_a_misspelt_action_is_answered_with_those_that_exist() -> None:
    assert text(_billing({"action": "destory"})) == (
        '<tool_error code="UNKNOWN_ACTION">\n'
        '  <message>The action "destory" does not exist.</message>\n'
        "  <available_actions>list, create, delete</available_actions>\n"
        "  <recovery>Choose a valid action from available_actions and call the tool again.</recovery>\n"
        "</tool_error>"
    )


def test_data_of_users_is_escaped() -> None:
    found = text(fw.tool_error("X", message="<a> & b", details={"<\"'>&": "<&>"}))

    assert "<message>&lt;a> &amp; b</message>" in found
    assert '<detail key="&lt;&quot;&apos;&gt;&amp;">&lt;&amp;></detail>' in found


def test_steps_compose_without_try() -> None:
    users = {"u-1": {"can": "read"}}

    def find_user(id: str) -> "fw.Result[dict[str, str]]":
        user = users.get(id)
        return fw.succeed(user) if user else fw.fail(fw.error(f'User "{id}" not found'))

    def check_permission(user: dict[str, str], action: str) -> "fw.Result[dict[str, str]]":
        return fw.succeed(user) if user["can"] == action else fw.fail(fw.error(f"User cannot {action}"))

    @fw.guard(dialect="xml")
    def delete(id: str, action: str) -> object:
        user = find_user(id)
        if not user.ok:
            return user
        authorized = check_permission(user.value, action)
        return authorized if not authorized.ok else fw.success("Deleted")

    assert "not found" in delete("u-9", "read")["content"][0]["text"]
    assert "cannot delete" in delete("u-1", "delete")["content"][0]["text"]
    assert delete("u-1", "read") == fw.success("Deleted")


@differs("xml", "A failed step is in `failure`, not in `response`; it becomes a response when the tool ends.")
def test_a_failed_step_carries_the_failure() -> None:
    step = fw.fail(fw.error("x"))

    assert step.failure == fw.error("x")
    assert not hasattr(step, "response")
