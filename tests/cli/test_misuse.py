"""Wrong input of all kinds: one line that says what is wrong and what to do, and exit code 2."""

import re
import sys
from pathlib import Path

import pytest

from tests.cli.streams import output, refusal

COMMANDS = ", ".join(
    re.findall(r"^  (\w+)  ", output("--help").partition("Commands:")[2].partition("\n\n")[0], re.MULTILINE)
)


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("chek",), "unknown command 'chek'; did you mean 'check'?"),
        (("",), f"unknown command '': choose one of {COMMANDS}"),
        (("explain", "zzz"), "unknown code or exception 'zzz'; failwell codes lists all codes"),
        (("explain", "TIMOUT"), "unknown code or exception 'TIMOUT'; did you mean 'TIMEOUT'?"),
        (("read", "--arguments", "[]"), '--arguments must be a JSON object, such as {"path": "a.txt"}'),
        (("read", "-f", "a.json", "--", "server"), "both a command and --file are given: use one of them"),
        (("read", "--", "no-such-server"), "cannot start 'no-such-server': No such file or directory"),
        (("check", "--junit", "--", "server"), "--junit needs a file, not '--'"),
        (
            ("check", "htp://example.com/mcp"),
            "htp://example.com/mcp is not the address of an MCP server: use http:// or https://",
        ),
        (
            ("check", "--html", "no-such-folder/report.html", "--", "server"),
            "cannot write 'no-such-folder/report.html': there is no folder 'no-such-folder'",
        ),
        (
            ("proxy", "--retyr", "--", "x"),
            "unknown option '--retyr'; did you mean '--retry'?",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_it_is_said_what_is_wrong_and_what_to_do(argv: tuple[str, ...], line: str) -> None:
    assert refusal(*argv) == line


@pytest.mark.parametrize(
    ("argv", "example"),
    [
        (("explain",), "failwell explain rate_limited"),
        (("codes", "--type"), "failwell codes --type TRANSIENT"),
        (("convert",), "failwell convert --to xml --text < result.json"),
        (("check", "--timeout", "soon", "--", "x"), "failwell check -- python server.py"),
        (("demo", "surplus"), "failwell demo"),
    ],
    ids=" ".join,
)
def test_what_the_parser_refuses_comes_with_an_example_and_the_right_help(argv: tuple[str, ...], example: str) -> None:
    assert refusal(*argv).endswith(f"; for example: {example}; see failwell {argv[0]} --help")


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("codes", "--tpye", "X"), "unknown option '--tpye'; did you mean '--type'?"),
        (("explain", "--jsno", "TIMEOUT"), "unknown option '--jsno'; did you mean '--json'?"),
        (
            ("explain", "httpx.ConectTimeout"),
            "unknown code or exception 'httpx.ConectTimeout'; did you mean 'httpx.ConnectTimeout'?",
        ),
        (
            ("events", "--type", "transent", "--store", "jsonl:x"),
            (
                "unknown type 'transent': choose one of NOT_FOUND, CONFLICT, VALIDATION, PERMISSION, TRANSIENT, "
                "INTERNAL; did you mean 'TRANSIENT'?"
            ),
        ),
        (("-x",), "unknown option '-x'; see failwell --help"),
        (("codes", "--type="), "--type needs a value: --type TYPE"),
        (("convert", "--to", ""), "--to needs a value: --to NAME"),
        (("serve", "--policy", ""), "--policy needs a value: --policy FILE"),
        (("read", ""), "the input is empty: give an MCP result, a JSON-RPC response or the text of an error"),
        (("schema", ""), "'' is not a format: choose one of compact, envelope, flat, meta"),
        (
            ("events", "export", "--to", "xml", "--store", "jsonl:no-such-file"),
            "unknown --to 'xml': choose one of jsonl, csv",
        ),
        (
            ("dashboard", "--store", "sqlite:///no-such-folder/calls.db"),
            "cannot use the store calls.db: there is no folder 'no-such-folder'",
        ),
        (("rewrite", "--tool"), "--tool needs a value; see failwell rewrite --help"),
        (("rewrite", "--retry-safe=1"), "--retry-safe takes no value; see failwell rewrite --help"),
        (
            ("check", "--fail-under", "101", "--", "x"),
            (
                "--fail-under must be at most 100; for example: failwell check -- python server.py; "
                "see failwell check --help"
            ),
        ),
        (("proxy", "--url", "http://a/", "--", "x"), "give either a command or --url, not both"),
        (("policy", "chek"), "unknown command 'chek'; did you mean 'check'?"),
        (("policy", "show", "--sever", "x"), "unknown option '--sever'; did you mean '--server'?"),
        (
            ("explain", "204"),
            (
                "204 is neither an HTTP error status nor a JSON-RPC code that failwell knows; "
                "failwell codes lists all codes"
            ),
        ),
        (
            ("policy", "check", "no-such.toml"),
            "cannot read 'no-such.toml': there is no such file; failwell policy init writes one",
        ),
        (
            ("proxy", "--listen", "8080", "--", "x"),
            "--listen needs --url: a command is served over standard input and output",
        ),
    ],
    ids=" ".join,
)
def test_the_word_that_was_meant_is_named_in_one_line(argv: tuple[str, ...], line: str) -> None:
    assert refusal(*argv) == line


def test_an_option_of_no_command_points_to_the_help() -> None:
    assert refusal("--nonsense").endswith("; see failwell --help")


def test_a_schema_that_is_no_object_is_named_with_its_file(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text("[1]")

    assert refusal("read", "--schema", str(file), stdin="boom") == (
        f'the schema in {str(file)!r} must be a JSON object, such as {{"type": "object"}}'
    )


def test_a_file_given_as_a_command_is_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text("{}")

    assert refusal("read", str(file)).endswith(f"; to read this file, use failwell read --file {file}")


@pytest.mark.parametrize("command", ["read", "check"])
def test_a_server_that_ends_without_a_word_is_to_be_started_by_hand(command: str) -> None:
    assert refusal(command, "--", sys.executable, "-c", "pass") == (
        f"the server ended without an error message; run it yourself to see why: {sys.executable} -c pass"
    )


def test_a_server_that_dies_is_quoted() -> None:
    program = "import sys; sys.exit('no database')"

    assert refusal("read", "--tool", "x", "--", sys.executable, "-c", program) == "the server ended: no database"


def test_a_server_whose_tool_was_not_named_lists_its_tools(tmp_path: Path) -> None:
    from tests.cli.test_read import SERVER

    (tmp_path / "server.py").write_text(SERVER)

    assert refusal("read", "--", sys.executable, str(tmp_path / "server.py")) == (
        "name the tool to call with --tool: the server has add"
    )


def test_a_server_that_is_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("failwell.cli.read._START_TIMEOUT", 0.2)

    assert refusal("read", "--", sys.executable, "-c", "import time; time.sleep(60)") == (
        "the server did not answer within 0.2 s"
    )


@pytest.mark.parametrize(
    ("argv", "start"),
    [
        (("check", "--fail-under", "abc", "--", "x"), "--fail-under must be a number; for example: "),
        (("check", "--timeout", "-1", "--", "x"), "--timeout must be at least 0.01; for example: "),
        (("events", "--most", "1.5"), "--most must be a whole number; for example: "),
    ],
    ids=" ".join,
)
def test_a_wrong_number_is_refused_in_the_words_of_the_other_refusals(argv: tuple[str, ...], start: str) -> None:
    assert refusal(*argv).startswith(start)
