"""The command line as a whole, from arguments and stdin to output and exit code."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import failwell as fw
from failwell import cli
from failwell.cli.commands import command_tree
from failwell.dialects import DIALECTS
from tests.cli.streams import RATE_LIMITED, Terminal, output, refusal, run, run_without


def process(*argv: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "failwell", *argv],
        input=stdin,
        capture_output=True,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
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
        (b"", "the input is empty"),
        (b" \n\t", "the input is empty"),
        (b"\xff\xfe\x00", "the payload is not UTF-8 text: byte 0xff at 0"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x90\xd0", "the payload is not UTF-8 text: byte 0x90 at 9"),
        (b"a" * 10_000_000, "the input is too large"),
    ],
    ids=["empty", "blank", "not UTF-8", "binary", "10 MB"],
)
@pytest.mark.parametrize("command", [("read",), ("convert", "--to", "flat")], ids=["read", "convert"])
def test_a_payload_that_cannot_be_read_is_refused(command: tuple[str, ...], payload: bytes, reason: str) -> None:
    assert refusal(*command, stdin=payload).startswith(reason)


def test_a_text_stdin_that_is_too_long_is_refused() -> None:
    refused = refusal("read", stdin="a" * 10_000_000)
    longest = int(refused.removeprefix("the input is too large: at most ").partition(" ")[0].replace(",", ""))

    assert refusal("read", stdin="a" * (longest + 1)) == refused


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
    assert f"Examples:\n  failwell {command}" in output(command, "--help")


def test_every_command_is_in_the_help() -> None:
    from failwell.cli.commands import app

    listed = {
        line.split()[0]
        for line in output("--help").partition("Commands:")[2].partition("\n\n")[0].splitlines()
        if line.strip()
    }

    assert listed == {
        *("codes", "explain", "read", "convert", "schema", "demo", "check", "proxy", "dashboard", "events", "hosts"),
        *("policy", "rewrite", "serve"),
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


@pytest.mark.parametrize(
    ("argv", "absent", "extras"),
    [
        (("codes",), "typer", "cli"),
        (("hosts", "wrap", "--yes"), "rich", "cli"),
        (("check", "--", "server"), "typer", "cli,validation"),
        (("check", "--", "server"), "jsonschema_rs", "cli,validation"),
        (("demo",), "typer", "demo"),
        (("demo",), "mcp", "demo"),
        (("dashboard", "--store", "sqlite://"), "typer", "dashboard"),
        (("dashboard", "--store", "sqlite://"), "aiohttp", "dashboard"),
        (("dashboard", "--store", "sqlite://"), "sqlalchemy", "dashboard"),
    ],
)
def test_a_command_without_its_libraries_names_the_one_line_that_makes_it_work(
    argv: tuple[str, ...], absent: str, extras: str
) -> None:
    ran = run_without((absent,), *argv)

    package = f"'failwell[{extras}]'"
    line = f"uvx --from {package} failwell {argv[0]} …, or pip install {package}"
    assert ran == (2, "", f"failwell: failwell {argv[0]} needs more than is installed: {line}\n")


@pytest.mark.parametrize("argv", [(), ("--help",), ("-h",), ("--hlep",)])
def test_without_its_libraries_the_command_line_says_what_works_and_what_installs_the_rest(
    argv: tuple[str, ...],
) -> None:
    ran = run_without(("typer",), *argv)

    line = "uvx --from 'failwell[cli]' failwell …, or pip install 'failwell[cli]'"
    works = "only failwell proxy and failwell rewrite work as installed"
    assert ran == (2, "", f"failwell: {works}; for the other commands: {line}\n")


@pytest.mark.parametrize("absent", ["typer", "jsonschema_rs"])
@pytest.mark.parametrize("argv", [("hosts", "check"), ("policy", "init", "--", "server")])
def test_an_action_without_its_libraries_names_the_line_that_makes_all_of_it_work(
    argv: tuple[str, ...], absent: str
) -> None:
    ran = run_without((absent,), *argv)

    name, package = f"failwell {argv[0]} {argv[1]}", "'failwell[cli,validation]'"
    line = f"uvx --from {package} {name} …, or pip install {package}"
    assert ran == (2, "", f"failwell: {name} needs more than is installed: {line}\n")


@pytest.mark.parametrize("absent", ["typer", "no_such_library"])
@pytest.mark.parametrize(
    ("command", "sentence"), [("proxi", "; did you mean 'proxy'?"), ("nonsense", ": choose one of codes, ")]
)
def test_what_is_no_command_is_told_with_and_without_libraries(absent: str, command: str, sentence: str) -> None:
    ran = run_without((absent,), command, "--", "server")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"failwell: unknown command '{command}'{sentence}")


def test_it_is_known_of_each_command_what_installs_it() -> None:
    assert {name.partition(" ")[0] for name in cli.EXTRAS} == {*command_tree().commands} - {"proxy", "rewrite"}


def test_the_version_needs_no_libraries() -> None:
    assert run_without(("typer",), "--version") == (0, f"failwell {fw.__version__}\n", "")


def test_a_command_needs_only_the_libraries_that_it_uses() -> None:
    ran = run_without(("aiohttp", "anyio", "jsonschema_rs", "mcp", "sqlalchemy"), "codes")

    assert (ran.code, ran.err) == (0, "")
    assert "RATE_LIMITED" in ran.out


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
    assert capsys.readouterr().err.startswith("failwell: unknown code or exception 'NONSENSE'")


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
