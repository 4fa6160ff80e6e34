"""The command line, from arguments and stdin to output and exit code."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import failwell as fw
from failwell import cli
from failwell._json import LONGEST_JSON
from failwell.codes import ROWS, TYPES
from failwell.dialects import DIALECTS, _compact

RATE_LIMITED = '{"error":"rate_limited","message":"Slow down","details":{"retry_after":60}}'
SUCCESS = '{"content":[{"type":"text","text":"hello"}],"isError":false}'


class Bytes(io.TextIOWrapper):
    """A stdin whose bytes are given."""

    def __init__(self, raw: bytes) -> None:
        super().__init__(io.BytesIO(raw), encoding="utf-8")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(*argv: str, stdin: str | bytes = "", stdout: Any = None) -> tuple[int, str, str]:
    stdout, stderr = stdout or io.StringIO(), io.StringIO()
    given = Bytes(stdin) if isinstance(stdin, bytes) else io.StringIO(stdin)
    code = cli.run(argv, stdin=given, stdout=stdout, stderr=stderr)
    return code, stdout.getvalue(), stderr.getvalue()


def output(*argv: str, stdin: str | bytes = "") -> str:
    code, out, err = run(*argv, stdin=stdin)
    assert (code, err) == (0, "")
    return out


def refusal(*argv: str, stdin: str | bytes = "") -> str:
    code, out, err = run(*argv, stdin=stdin)
    assert (code, out) == (2, "")
    assert err.startswith("failwell: ")
    assert err.count("\n") == 1
    return err.removeprefix("failwell: ").rstrip("\n")


def process(*argv: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "failwell", *argv],
        input=stdin,
        capture_output=True,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )


def test_codes_lists_every_code_with_its_title() -> None:
    lines = output("codes").splitlines()

    for row in ROWS:
        [line] = [line for line in lines if line.split()[0] == row.code]
        assert line.endswith(row.title)


def test_codes_of_one_type_are_those_of_that_type_in_any_case() -> None:
    found = json.loads(output("codes", "--type", "transient", "--json"))

    assert {entry["type"] for entry in found} == {"TRANSIENT"}
    assert {row.code for row in ROWS if row.type == "TRANSIENT"} <= {entry["code"] for entry in found}


def test_codes_as_json_spell_out_what_follows_from_the_type() -> None:
    found = {entry["code"]: entry for entry in json.loads(output("codes", "--json"))}

    assert found["RATE_LIMITED"] == {
        "code": "RATE_LIMITED",
        "title": "Too many requests",
        "type": "TRANSIENT",
        "http_status": 429,
        "recoverable": True,
        "retryable": True,
        "outcome": "not_executed",
        "suggestion": "Wait, then make the same call again.",
        "aliases": ["RATE_LIMIT", "RATE_LIMIT_EXCEEDED", "TOO_MANY_REQUESTS"],
        "names": {
            "compact": "TRANSIENT",
            "envelope": "RATE_LIMITED",
            "flat": "rate_limited",
            "meta": "NetworkError",
            "xml": "RATE_LIMITED",
        },
    }
    assert found["TOOL_ERROR"]["retryable"] is None


def test_an_unknown_type_is_refused_with_the_choices() -> None:
    assert refusal("codes", "--type", "TRANSIENTT") == (
        f"unknown type 'TRANSIENTT': choose one of {', '.join(TYPES)}; did you mean 'TRANSIENT'?"
    )


@pytest.mark.parametrize(
    ("spelling", "code"),
    [
        ("NOT_FOUND", "NOT_FOUND"),
        ("not-found", "NOT_FOUND"),
        ("RESOURCE_NOT_FOUND", "NOT_FOUND"),
        ("auth_required", "UNAUTHORIZED"),
        ("mcp_unavailable", "SERVICE_UNAVAILABLE"),
        ("NotFound", "NOT_FOUND"),
    ],
)
def test_explain_knows_a_code_in_every_spelling(spelling: str, code: str) -> None:
    assert json.loads(output("explain", spelling, "--json"))["code"] == code


def test_explain_says_what_a_code_means_and_what_it_is_called() -> None:
    words = output("explain", "UNAUTHORIZED")

    for expected in ("Authentication is required", "PERMISSION", "401", "auth_required", "AUTH_REQUIRED", "sign in"):
        assert expected in words


def test_explain_knows_the_types_that_are_no_codes() -> None:
    found = json.loads(output("explain", "transient", "--json"))

    assert found["meaning"] == TYPES["TRANSIENT"].meaning
    assert "TIMEOUT" in found["codes"]
    assert TYPES["TRANSIENT"].meaning in " ".join(output("explain", "TRANSIENT").split())


def test_explain_names_the_nearest_code_to_an_unknown_one() -> None:
    assert refusal("explain", "RATE_LIMTED") == "unknown code 'RATE_LIMTED'; did you mean 'RATE_LIMITED'?"


def test_read_shows_the_failure_and_the_decision_with_its_reason() -> None:
    shown = output("read", "--tool", "search", stdin=RATE_LIMITED)

    for expected in ("RATE_LIMITED", "Slow down", "60 s", "search", "retry in 60 s", "The server asked to wait"):
        assert expected in shown


def test_read_shows_every_field_and_detail() -> None:
    problems = fw.Validation(tool="create_user").add("email", "ann", "Not an address")
    failure = problems.failure
    assert failure is not None

    shown = output("read", stdin=json.dumps(fw.encode(failure.replace(details={"form": {"step": 2}}))))

    for expected in ("field email", "Not an address", "detail form", '{"step":2}', "create_user", "fix input"):
        assert expected in shown


def test_read_as_json_gives_failure_and_decision() -> None:
    found = json.loads(output("read", "--json", stdin=RATE_LIMITED))

    assert (found["failure"]["code"], found["failure"]["retry_after"]) == ("RATE_LIMITED", 60)
    assert (found["decision"]["action"], found["decision"]["delay"]) == ("retry", 60)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_read_shows_what_a_server_wrote_in_any_dialect(dialect: str) -> None:
    failure = fw.Locked("It is locked by ann.", details={"by": "ann"}, retry_after=5).failure

    found = json.loads(output("read", "--json", stdin=json.dumps(fw.encode(failure, dialect))))

    assert fw.read({"_meta": {"dev.failwell/failure": found["failure"]}, "content": []}) == failure


@pytest.mark.parametrize(
    ("hint", "action"), [((), "verify"), (("--idempotent",), "retry"), (("--read-only",), "retry")]
)
def test_the_decision_depends_on_what_is_known_of_the_tool(hint: tuple[str, ...], action: str) -> None:
    text = '<tool_error code="TIMEOUT"><message>No answer.</message></tool_error>'

    assert json.loads(output("read", "--json", *hint, stdin=text))["decision"]["action"] == action


def test_read_of_a_success_says_so_and_exits_with_1() -> None:
    assert run("read", stdin=SUCCESS) == (1, "Not a failure.\n", "")
    code, out, _ = run("read", "--json", stdin=SUCCESS)
    assert (code, json.loads(out)) == (1, {"failure": None, "rule": None, "decision": None, "repair": None})


def test_read_finds_an_unflagged_failure_only_if_told_where_to_look() -> None:
    unflagged = json.dumps({"content": [{"type": "text", "text": RATE_LIMITED}], "isError": False})

    assert run("read", stdin=unflagged)[0] == 1
    assert "RATE_LIMITED" in output("read", "--dialect", "flat", stdin=unflagged)
    assert "RATE_LIMITED" in output("read", "--unflagged", stdin=unflagged)


def test_read_takes_a_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(RATE_LIMITED)

    assert "RATE_LIMITED" in output("read", "--file", str(path))


def test_read_names_the_rule_and_mends_the_call(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"properties": {"level": {"type": "integer"}}}')
    told = ("--arguments", '{"level": "5"}', "--schema", str(schema))
    text = "Input validation error: '5' is not of type 'integer'"

    shown = output("read", *told, stdin=text)
    found = json.loads(output("read", "--json", *told, stdin=text))

    for expected in ("jsonschema text (95% sure)", "repair  95% sure", '{"level":5}', "level: the number itself"):
        assert expected in shown
    assert (found["rule"], found["repair"]["arguments"]) == ("jsonschema text", {"level": 5})


@pytest.mark.parametrize("option", ["--arguments", "--schema"])
def test_read_refuses_arguments_and_schemas_that_are_no_json_object(option: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text("[1]")

    code, _, err = run("read", option, "[1]" if option == "--arguments" else str(path), stdin="boom")

    assert code == 2
    assert "must be a JSON object" in err


def test_read_takes_a_file_of_recorded_lines(tmp_path: Path) -> None:
    failed = {"content": [{"type": "text", "text": "ENOENT: no such file"}], "isError": True}
    recorded = {"raw": json.dumps(failed), "tool": "read_file", "arguments": {"path": "a.txt"}}
    path = tmp_path / "calls.jsonl"
    path.write_text("\n".join((json.dumps(failed), json.dumps(recorded), SUCCESS)))

    shown = output("read", "--file", str(path))
    found = json.loads(output("read", "--json", "--file", str(path)))

    assert shown.endswith("2 NOT_FOUND, 1 not a failure\n")
    assert [one["failure"] and one["failure"].get("tool") for one in found] == [None, "read_file", None]


def test_read_of_recorded_successes_exits_with_1(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(f"{SUCCESS}\n{SUCCESS}\n")

    assert run("read", "--file", str(path))[0] == 1


@pytest.mark.parametrize("payload", ["{}", '{{"error":"not_found","message":"{}"}}'], ids=["text", "structure"])
def test_what_a_payload_holds_cannot_drive_the_terminal(payload: str) -> None:
    hostile = "boom \x1b[31mred\x07 \u202egnp"
    shown = output("read", stdin=payload.format(hostile if payload == "{}" else json.dumps(hostile)[1:-1]))

    assert "boom" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_convert_writes_a_result_that_reads_back() -> None:
    result = json.loads(output("convert", "--to", "envelope", stdin=RATE_LIMITED))

    assert fw.read(result) == fw.read(RATE_LIMITED)
    assert json.loads(result["content"][0]["text"])["error_code"] == "RATE_LIMITED"


def test_convert_writes_the_text_alone() -> None:
    assert output("convert", "--to", "xml", "--text", stdin=RATE_LIMITED) == (
        '<tool_error code="RATE_LIMITED">\n'
        "  <message>Slow down</message>\n"
        "  <retry_after>60 seconds</retry_after>\n"
        "</tool_error>\n"
    )


def test_convert_of_a_success_writes_nothing_and_exits_with_1() -> None:
    code, out, err = run("convert", "--to", "xml", stdin=SUCCESS)

    assert (code, out) == (1, "")
    assert err == "failwell: nothing to convert: the payload is not a failure\n"


def test_schema_is_the_one_of_the_dialect() -> None:
    assert json.loads(output("schema", "compact")) == _compact.json_schema()


@pytest.mark.parametrize("dialect", ["compact", "envelope", "flat", "meta"])
@pytest.mark.parametrize("failure", [fw.NotFound.of("task", 1).failure, fw.required("id"), fw.error("Boom.")])
def test_what_is_encoded_fits_the_schema(dialect: str, failure: fw.Failure) -> None:
    result = fw.encode(failure, dialect)
    instance = result["_meta"] if dialect == "meta" else json.loads(result["content"][0]["text"])

    assert jsonschema_rs.is_valid(json.loads(output("schema", dialect)), instance, offline=True)


def test_a_dialect_without_a_schema_is_not_offered() -> None:
    assert refusal("schema", "zzz") == "zzz is no dialect: choose one of compact, envelope, flat, meta"


def test_xml_has_no_json_schema() -> None:
    assert (
        refusal("schema", "xml")
        == "xml is not JSON and has no JSON Schema: choose one of compact, envelope, flat, meta"
    )


@pytest.mark.parametrize(
    "argv", [("convert", "--to", "xlm"), ("read", "--dialect", "xlm"), ("demo", "--dialect", "xlm")]
)
def test_an_unknown_dialect_is_refused_with_the_choices(argv: tuple[str, ...]) -> None:
    text = refusal(*argv, stdin="boom")

    assert text.startswith(f"unknown dialect 'xlm': choose one of {', '.join(DIALECTS)}")
    assert text.endswith("did you mean 'xml'?")


@pytest.mark.parametrize(
    ("argv", "names"),
    [
        (("read", "--nonsense"), "--nonsense"),
        (("explain",), "CODE"),
        (("convert",), "--to"),
        (("codes", "surplus"), "surplus"),
    ],
)
def test_wrong_arguments_are_named_in_one_line(argv: tuple[str, ...], names: str) -> None:
    text = refusal(*argv)

    assert names in text
    assert text.endswith("--help")


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "the payload is empty"),
        (b" \n\t", "the payload is empty"),
        (b"\xff\xfe\x00", "the payload is not UTF-8 text: byte 0xff at 0"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x90\xd0", "the payload is not UTF-8 text: byte 0x90 at 9"),
        (b"a" * 10_000_000, "the payload is too large"),
    ],
    ids=["empty", "blank", "not UTF-8", "binary", "10 MB"],
)
@pytest.mark.parametrize("command", [("read",), ("convert", "--to", "flat")], ids=["read", "convert"])
def test_a_payload_that_cannot_be_read_is_refused(command: tuple[str, ...], payload: bytes, reason: str) -> None:
    assert refusal(*command, stdin=payload).startswith(reason)


def test_a_text_stdin_that_is_too_long_is_refused() -> None:
    assert refusal("read", stdin="a" * (LONGEST_JSON + 1)).startswith("the payload is too large")


@pytest.mark.parametrize("payload", ["<tool_error>" * 20_000, '{"message":"\\ud800"}'])
def test_a_strange_payload_is_answered_without_a_traceback(payload: str) -> None:
    code, out, err = run("read", "--json", stdin=payload)

    assert code in (0, 1)
    assert json.loads(out).keys() == {"failure", "rule", "decision", "repair"}
    assert err == ""


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "none.json"

    assert refusal("read", "-f", str(missing)) == f"cannot read {str(missing)!r}: No such file or directory"


def test_a_person_at_a_terminal_is_told_that_input_is_awaited() -> None:
    stderr = io.StringIO()

    code = cli.run(["read"], stdin=Terminal("boom"), stdout=io.StringIO(), stderr=stderr)

    assert code == 0
    assert "Ctrl-D" in stderr.getvalue()


def test_version_is_the_package_s() -> None:
    assert output("--version") == f"failwell {fw.__version__}\n"


def test_no_command_shows_the_help() -> None:
    assert output() == output("--help")
    assert "convert" in output()


@pytest.mark.parametrize("command", ["codes", "explain", "read", "convert", "schema", "demo", "proxy"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    assert f"Example: failwell {command}" in output(command, "--help")


def test_every_command_is_in_the_help() -> None:
    from failwell.cli.commands import app

    listed = {line.split()[0] for line in output("--help").partition("Commands:")[2].splitlines() if line.strip()}

    assert listed == {
        *("codes", "explain", "read", "convert", "schema", "demo", "check", "proxy", "dashboard", "events"),
    }
    assert len(app.registered_commands) + len(app.registered_groups) == len(listed)


@pytest.mark.parametrize("argv", [("codes",), ("explain", "TIMEOUT"), ("read",)])
def test_colours_are_for_terminals_that_want_them(argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)

    assert "\x1b[" not in run(*argv, stdin=RATE_LIMITED)[1]
    assert "\x1b[" in run(*argv, stdin=RATE_LIMITED, stdout=Terminal())[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run(*argv, stdin=RATE_LIMITED, stdout=Terminal())[1]


def test_without_its_libraries_the_command_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("failwell.cli.commands", "failwell.cli.panels", "failwell.cli.runner", "failwell.cli.demo"):
        monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.delattr(cli, name.rpartition(".")[2], raising=False)
    monkeypatch.setitem(sys.modules, "typer", None)

    assert "pip install 'failwell[cli]'" in refusal("codes")
    assert output("--version") == f"failwell {fw.__version__}\n"


class Broken(io.StringIO):
    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def flush(self) -> None:
        raise self.error


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    assert run("codes", stdout=Broken(BrokenPipeError()))[0::2] == (0, "")


def test_a_full_disk_is_one_line() -> None:
    code, _, err = run("schema", "flat", stdout=Broken(OSError(28, "No space left on device")))

    assert (code, err) == (2, "failwell: cannot write: No space left on device\n")


def test_the_process_reads_stdin_writes_stdout_and_exits() -> None:
    done = process("read", stdin=RATE_LIMITED.encode())

    assert done.returncode == 0
    assert b"retry in 60 s" in done.stdout
    assert done.stderr == b""


def test_the_process_refuses_in_one_line() -> None:
    done = process("read", stdin=b"\xff")

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1


def test_the_process_escapes_what_its_output_cannot_spell() -> None:
    text = '{"error":"not_found","message":"caf\u00e9 \u2192"}'.encode()

    shown = process("read", stdin=text, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    as_json = process("read", "--json", stdin=text, PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert rb"caf\xe9 \u2192" in shown.stdout
    assert json.loads(as_json.stdout)["failure"]["message"] == "caf\u00e9 \u2192"
    assert (shown.stderr, as_json.stderr) == (b"", b"")


def test_main_exits_with_the_code_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["failwell", "explain", "NONSENSE"])

    with pytest.raises(SystemExit) as exit_:
        cli.main()

    assert exit_.value.code == 2
    assert capsys.readouterr().err.startswith("failwell: unknown code 'NONSENSE'")


def test_closed_streams_are_no_reason_to_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    monkeypatch.setattr(sys, "argv", ["failwell", "read"])

    with pytest.raises(SystemExit) as exit_:
        cli.main()

    assert exit_.value.code == 2


class Interrupted(io.StringIO):
    def read(self, size: int | None = -1, /) -> str:
        raise KeyboardInterrupt


def test_an_interrupt_ends_it_quietly() -> None:
    stdout, stderr = io.StringIO(), io.StringIO()

    assert cli.run(["read"], stdin=Interrupted(), stdout=stdout, stderr=stderr) == 130
    assert stdout.getvalue() + stderr.getvalue() == ""


SERVER = """
import json, sys
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = [{"name": "add", "inputSchema": SCHEMA}]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"initialize": {"protocolVersion": "2025-06-18"}, "tools/list": {"tools": TOOLS}}.get(message["method"])
    if answer is None:
        n = message["params"]["arguments"].get("n")
        text = "fine" if isinstance(n, int) else "Invalid arguments: n must be an integer"
        answer = {"content": [{"type": "text", "text": text}], "isError": text != "fine"}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
"""


def test_a_live_call_is_made_read_and_mended(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    command = ("--tool", "add", "--json", "--", sys.executable, str(tmp_path / "server.py"))

    code, out, _ = run("read", "--arguments", '{"n": "5"}', *command)

    found = json.loads(out)
    assert (code, found["failure"]["type"]) == (0, "VALIDATION")
    assert found["repair"]["arguments"] == {"n": 5}
    assert run("read", "--arguments", '{"n": 5}', *command)[0] == 1


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--", sys.executable, "-c", "pass"), "server ended"),
        (("--tool", "x", "--", "no-such-program-anywhere"), "no-such-program-anywhere"),
    ],
)
def test_a_server_that_cannot_be_called_is_told_in_one_line(argv: tuple[str, ...], words: str) -> None:
    assert words in refusal("read", *argv)
