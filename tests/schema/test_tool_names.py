"""What the names of tools say."""

import pytest

from failwell._spelling import _remembered
from failwell.schema.tool_names import closest_tools, helpful_tools, missing_things, runs_code

FILES = (
    "read_text_file",
    "write_file",
    "edit_file",
    "create_directory",
    "list_directory",
    "move_file",
    "list_allowed_directories",
)
CHAT = ("chat_list_channels", "chat_post_message", "chat_get_users", "chat_get_user_profile", "chat_add_reaction")
GRAPH = ("create_entities", "add_observations", "delete_entities", "read_graph", "search_nodes")


@pytest.mark.parametrize(
    ("name", "tools", "meant"),
    [
        ("delete_x", ("create_x",), []),
        ("create_x", ("delete_x",), []),
        ("creat_item", ("delete_item",), []),
        ("creat_item", ("delete_item", "create_item"), ["create_item"]),
        ("get_item", ("set_item",), []),
        ("delete_file", FILES, []),
        ("delte_file", FILES, []),
        ("deleteFile", FILES, []),
        ("remove_file", ("delete_file", "write_file"), ["delete_file"]),
        ("get_time", ("convert_time", "get_current_time"), ["get_current_time"]),
        ("excel_read", ("excel_read_sheet", "excel_copy_sheet", "excel_write_to_sheet"), ["excel_read_sheet"]),
        ("excel_read", ("excel_read_sheet", "excel_read_table", "excel_copy_sheet"), []),
        ("run_select_query", ("run_query", "list_tables"), ["run_query"]),
        ("chat_send_message", CHAT, ["chat_post_message"]),
        ("chat_rename", CHAT, []),
        ("delete_workbook", ("delete_note", "create_workbook"), []),
        ("listDirectory", FILES, ["list_directory"]),
        ("serch", ("search",), ["search"]),
        ("unlock_door", ("lock_door",), []),
        ("unlok_door", ("unlock_door",), ["unlock_door"]),
        ("deactivate_user", ("activate_user",), []),
        ("decrypt_file", ("encrypt_file",), []),
        ("subscribe_list", ("unsubscribe_list",), []),
        ("deny_request", ("approve_request",), []),
        ("refund_order", ("charge_order",), []),
        ("stories-remove-task", ("stories-remove-external-link", "stories-remove-subtask"), ["stories-remove-subtask"]),
        ("remove_story_task", ("remove_story_link",), []),
        ("get_isue", ("get_issue_dates",), ["get_issue_dates"]),
    ],
)
def test_a_tool_is_meant_only_if_it_does_the_same(name: str, tools: tuple[str, ...], meant: list[str]) -> None:
    assert closest_tools(name, tools)[: max(len(meant), 1)] == meant


PROJECTS = ("register_project", "list_projects", "list_files", "get_file")
MAIL = ("send_email", "list_emails", "list_accounts")


@pytest.mark.parametrize(
    ("tool", "tools", "text", "fields", "helpful"),
    [
        ("read_text_file", FILES, "ENOENT: no such file or directory, open '/srv/x'", (), ("list_directory",)),
        ("chat_get_user_profile", CHAT, "user_not_found", (), ("chat_get_users",)),
        ("chat_post_message", CHAT, "not found", ("channel_id",), ("chat_list_channels",)),
        (
            "add_observations",
            GRAPH,
            "Entity with name nobody not found",
            (),
            ("search_nodes", "create_entities"),
        ),
        ("delete_entities", GRAPH, "Entity with name nobody not found", (), ("search_nodes",)),
        ("query", ("query", "list_tables", "get_table_schema"), "no such table: x", (), ("list_tables",)),
        ("query", ("query", "list_tables", "get_table_schema"), "no such column: x", (), ("get_table_schema",)),
        ("fetch", ("fetch", "search"), "404 Not Found", ("url",), ()),
        ("list_tables", ("list_tables",), "Database 'x' does not exist", (), ()),
        ("edit_file", (*FILES, "get_file_info"), "Could not find exact match for edit: x", (), ("read_text_file",)),
        ("edit_cell", ("edit_cell", "list_sheets"), "No match for 'x'", (), ()),
        ("manage_image", ("manage_image", "manage_text"), "Image file not found: /x", (), ()),
        ("get_file", PROJECTS, "Error executing tool get_file: Project 'zz' not found", ("project",), PROJECTS[1:2]),
        ("get_file", PROJECTS, "Error executing tool get_file: File not found: x.py", ("path",), PROJECTS[2:3]),
        ("register_project", PROJECTS[:2], "Failed to register project: Path does not exist: /x", ("path",), ()),
        ("send_email", MAIL, "Error executing tool send_email: Account nope was not found", (), ("list_accounts",)),
        ("stop_forward", ("forward", "stop_forward"), "Forward with id 9 not found", ("id",), ()),
        ("delete_branch", ("branch", "delete_branch"), "Branch 'x' not found", ("name",), ("branch",)),
        ("fill", ("create_slide_from_template",), "Template not found: x", ("template",), ()),
        ("get_repo", ("list_issues_for_repo", "search_repos"), "Repo x not found", ("repo",), ("search_repos",)),
        ("move_card", ("add_to_board", "list_boards"), "Board 'x' not found", ("board",), ("list_boards",)),
        ("read_pdf_to_file", ("read_pdf_to_file", "read_pdf_text"), "File not found: /x.pdf", ("file_paths[0]",), ()),
    ],
)
def test_the_tool_that_lists_or_creates_what_is_missing_helps(
    tool: str, tools: tuple[str, ...], text: str, fields: tuple[str, ...], helpful: tuple[str, ...]
) -> None:
    assert helpful_tools(tool, tools, text=text, fields=fields) == helpful


@pytest.mark.parametrize(
    ("tool", "required", "text", "fields", "helpful"),
    [
        ("read_output", {"grep_output": ("output_id", "pattern")}, "Output a1 not found", ("output_id",), ()),
        ("get_row", {"list_tables": ("base",)}, "Table 'x' not found", ("base",), ()),
        ("get_row", {"list_tables": ("base",)}, "Table 'x' not found", ("table",), ("list_tables",)),
        ("read_file", {"list_directory": ("path",)}, "File not found: /srv/x", ("path",), ("list_directory",)),
        ("run_sql", {"search_tables": ("query",)}, "no such table: x", ("query",), ("search_tables",)),
        ("add_node", {"create_graph": ("graph",)}, "Graph 'x' does not exist", ("graph",), ("create_graph",)),
    ],
)
def test_a_tool_that_requires_the_argument_that_leads_nowhere_does_not_list_what_it_could_be(
    tool: str, required: dict[str, tuple[str, ...]], text: str, fields: tuple[str, ...], helpful: tuple[str, ...]
) -> None:
    found = helpful_tools(tool, (tool, *required), text=text, fields=fields, requires=lambda name: required[name])

    assert found == helpful


def test_what_is_quoted_is_not_what_is_missing() -> None:
    assert "password" not in missing_things("Table 'password' does not exist")
    assert missing_things("Table 'password' does not exist")[0] == "table"


@pytest.mark.parametrize(
    "path", ["/srv/" + "column" * 100, "x" * 300 + "/column", "'/srv'/column", r"C:\column", "open(/column)"]
)
def test_words_within_a_path_are_not_what_is_missing(path: str) -> None:
    assert missing_things(f"Table {path} does not exist") == missing_things("Table does not exist")


@pytest.mark.parametrize(
    ("tool", "arguments", "runs"),
    [
        ("run_command", {}, True),
        ("execute_python", {}, True),
        ("bash", {}, True),
        ("run_tests", {}, True),
        ("analyse", {"code": "1/0"}, True),
        ("redeem_voucher", {"code": "SPRING-2026"}, False),
        ("sign_in", {"code": 123456}, False),
        ("execute_query", {"query": "select 1"}, False),
        ("search_code", {"query": "x"}, False),
        ("get_user", {"id": 1}, False),
    ],
)
def test_tools_that_run_what_the_caller_wrote_are_known(tool: str, arguments: object, runs: bool) -> None:
    assert runs_code(tool, arguments) is runs


def test_names_that_callers_make_up_are_not_remembered() -> None:
    names = ("list_files", "read_file", "delete_file")
    closest_tools("raed_file", names)
    remembered = _remembered.cache_info().currsize

    for number in range(100):
        closest_tools(f"raed_file_{number}", names)

    assert _remembered.cache_info().currsize == remembered
