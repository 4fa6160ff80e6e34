"""`failwell proxy` as hosts start it: exit codes, signals, bad input."""

import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import failwell as fw
from failwell import dialects
from failwell.proxy import bounds, command, options
from failwell.proxy.options import BadOption, help_text, parse
from failwell.proxy.stdio import process, restarts
from failwell.proxy.stdio.restarts import refuse_client
from tests.proxy.clients import HELLO, SERVER

INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode() + b"\n"


@contextlib.contextmanager
def start(*argv: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "failwell", "proxy", *argv]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def run(*argv: str, sent: bytes = b"") -> tuple[int, bytes, str]:
    with start(*argv) as process:
        stdout, stderr = process.communicate(sent, timeout=30)
    return process.returncode, stdout, stderr.decode()


def test_a_command_that_does_not_exist_is_told_to_both_sides() -> None:
    code, stdout, stderr = run("--", "no-such-program", sent=INITIALIZE)

    assert code == 127
    assert stderr == "failwell: cannot start no-such-program: No such file or directory\n"
    assert json.loads(stdout) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32603, "message": "failwell: cannot start no-such-program: No such file or directory"},
    }


def test_a_file_that_is_no_program_is_told_too(tmp_path: Path) -> None:
    code, stdout, stderr = run(str(tmp_path))

    assert (code, stdout) == (126, b"")
    assert stderr == f"failwell: cannot start {tmp_path}: Permission denied\n"


def test_a_client_that_says_nothing_is_not_waited_for() -> None:
    with start("--", "no-such-program") as process:
        assert process.wait(timeout=30) == 127


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ((), "no server given: use failwell proxy -- COMMAND or failwell proxy --url URL"),
        (("--",), "no server given: use failwell proxy -- COMMAND or failwell proxy --url URL"),
        (("--nonsense", "--", "x"), "unknown option '--nonsense'; see failwell proxy --help"),
        (("--dialect", "klingon", "x"), "--dialect must be one of compact, envelope, flat, meta, xml, not 'klingon'"),
        (("--attempts", "0", "x"), "--attempts must be a whole number from 1 to 100, not '0'"),
        (("--deadline=soon", "x"), "--deadline must be a number of seconds, not 'soon'"),
        (("--deadline=nan", "x"), "--deadline must be a number of seconds, not 'nan'"),
        (("--retry=yes", "x"), "--retry takes no value"),
        (("--events", "--", "x"), "--events needs a value: --events WHERE"),
        (("--events=", "x"), "--events must be a file, or the address of a store"),
        (("--flip-unflagged", ", ,", "x"), "--flip-unflagged must name tools, separated by commas, not ', ,'"),
    ],
)
def test_misuse_is_told_in_one_line(argv: tuple[str, ...], told: str) -> None:
    with pytest.raises(BadOption) as refused:
        parse(list(argv))

    assert str(refused.value) == told


def test_misuse_ends_with_2_before_anything_is_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    missing = tmp_path / "nowhere" / "events"

    code, stdout, stderr = run("--events", str(missing), "--", "touch", str(started))

    assert (code, stdout, stderr) == (2, b"", f"failwell: --events {missing}: No such file or directory\n")
    assert not started.exists()


def test_options_end_where_the_command_begins() -> None:
    found = parse(["--retry", "--attempts=5", "--flip-unflagged", "a, b", "npx", "--validate", "--", "x"])

    assert found.command == ["npx", "--validate", "--", "x"]
    assert (found.retry, found.attempts, found.flip_unflagged, found.validate) == (True, 5, ("a", "b"), False)


def test_the_help_names_every_option() -> None:
    for option in options.OPTIONS:
        assert re.search(rf"^  (-h, )?{option.name}\b", help_text(), re.MULTILINE)
    assert run("--help") == (0, help_text().encode(), "")


def test_every_dialect_can_be_chosen() -> None:
    assert tuple(dialects.DIALECTS) == options.DIALECTS


def test_settings_have_the_defaults_of_the_table() -> None:
    found = parse(["x"])
    expected = {option.name[2:].replace("-", "_"): option.default for option in options.OPTIONS if option.parse}

    assert {name: getattr(found, name) for name in expected} == {**expected, "grace": 12.0}
    assert not any(getattr(found, option.name[2:].replace("-", "_")) for option in options.OPTIONS if not option.parse)
    assert found.attempts == fw.Policy().attempts


def test_calls_of_a_gateway_have_more_time_to_end_than_a_server() -> None:
    gateway = ["--url", "https://example.com/mcp", "--listen", "8080"]

    assert parse(gateway).grace == 4.0
    assert parse([*gateway, "--grace", "2"]).grace == 2.0


def test_values_of_an_option_that_may_be_repeated_add_up() -> None:
    found = parse(["--header", "A: 1", "--header=B:2", "--url", "https://example.com/mcp", "--allow-origin", "a,b"])

    assert found.header == (("A", "1"), ("B", "2"))
    assert found.allow_origin == ("a", "b")


def test_the_exit_code_and_standard_error_are_the_server_s() -> None:
    code, stdout, stderr = run("--", "sh", "-c", "echo hello >&2; exit 5")

    assert (code, stdout, stderr) == (5, b"", "hello\n")


def test_the_end_of_input_ends_the_server_and_the_summary_follows() -> None:
    params = {"name": "act", "arguments": {"do": "fail:404 Not Found"}}
    call = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}).encode() + b"\n"
    code, stdout, stderr = run("--", *SERVER, sent=INITIALIZE + call)

    assert (code, stdout.count(b"\n")) == (0, 2)
    assert stderr == "failwell: 1 call, 1 failed\nfailwell:   act: 1 call, 1 failed (NOT_FOUND 1)\n"
    assert run("--quiet", "--", *SERVER, sent=INITIALIZE + call)[2] == ""


@pytest.mark.parametrize(("server", "code"), [((), -signal.SIGTERM), (("--stubborn",), 137)])
def test_sigterm_ends_the_server_and_then_the_proxy(server: tuple[str, ...], code: int) -> None:
    with start("--grace", "0.1", "--", *SERVER, *server) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(INITIALIZE)
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)

        assert process.wait(timeout=30) == code


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_the_host_sees_the_signal_that_it_ended_the_server_with(number: signal.Signals) -> None:
    dies = f"import os, signal; signal.signal({int(number)}, signal.SIG_DFL); os.write(1, b'up\\n'); signal.pause()"
    server = [sys.executable, "-I", "-c", dies]
    codes = []
    for started in (server, [sys.executable, "-m", "failwell", "proxy", "--", *server]):
        with subprocess.Popen(started, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            process.send_signal(number)
            codes.append(process.wait(timeout=30))

    assert codes == [-number, -number]


def test_a_server_that_answers_sigterm_with_an_exit_code_keeps_it() -> None:
    ends = (
        "import os, signal; signal.signal(signal.SIGTERM, lambda *_: os._exit(143)); "
        "os.write(1, b'up\\n'); signal.pause()"
    )
    with start("--", sys.executable, "-I", "-c", ends) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGTERM)

        assert process.wait(timeout=30) == 143


def test_other_signals_reach_the_server_and_do_not_end_the_proxy() -> None:
    says = (
        "import os, signal, sys; signal.signal(signal.SIGHUP, lambda *_: os.write(1, b'reloaded\\n')); "
        "os.write(1, b'up\\n'); sys.stdin.read()"
    )
    with start("--", sys.executable, "-I", "-c", says) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGHUP)

        assert process.stdout.readline() == b"reloaded\n"
        assert process.communicate(timeout=30)[0] == b""


def test_a_program_that_leaves_a_grandchild_behind_is_not_waited_for() -> None:
    with start("--", "sh", "-c", "sleep 60 & echo $!; exit 4") as process:
        assert process.stdout is not None
        grandchild = int(process.stdout.readline())
        try:
            assert process.wait(timeout=30) == 4
        finally:
            os.kill(grandchild, signal.SIGKILL)


def test_a_file_that_the_host_shares_with_its_server_stays_open() -> None:
    source, target = os.pipe()
    server = [sys.executable, "-c", f"import os; os.write({target}, b'hello')"]
    proxy = [sys.executable, "-m", "failwell", "proxy", "--", *server]
    ran = subprocess.run(proxy, stdin=subprocess.DEVNULL, pass_fds=(target,), timeout=30, check=False)
    os.close(target)

    assert (ran.returncode, os.read(source, 100)) == (0, b"hello")
    os.close(source)


def test_closed_streams_do_no_harm() -> None:
    command = f"exec {sys.executable} -m failwell proxy -- sh -c 'exit 6' <&- >&-"
    assert subprocess.run(["sh", "-c", command], timeout=30, check=False).returncode == 6


def test_after_a_signal_everything_ends_before_hosts_kill() -> None:
    after_death = bounds.LAST_LINES_WAIT + bounds.LAST_ANSWERS_WAIT
    signalled = min(parse(["x"]).grace, bounds.SIGNAL_GRACE) + after_death
    never_spoke = bounds.FIRST_LINE_WAIT + after_death

    assert max(signalled, never_spoke) <= 2


@pytest.mark.parametrize(
    ("program", "loaded", "absent"),
    [
        pytest.param(
            "from failwell.proxy.command import parse; parse(['x'])",
            "failwell.proxy.options",
            {"msgspec", "json", "logging", "socket", "asyncio", "shutil", "typer", "failwell.failure"},
            id="before the server runs, nothing heavy",
        ),
        pytest.param(
            "import failwell.proxy.stdio.runner",
            "failwell.proxy.stdio.session",
            {"msgspec", "json", "logging", "asyncio", "typer", "failwell.failure"},
            id="before a tool is asked for, no decoder",
        ),
        pytest.param(
            "import failwell.proxy.stdio.lazy_reader, failwell.proxy.stdio.restarts",
            "failwell.proxy.conversation",
            {"json", "failwell.failure", "failwell.advice", "failwell.codes", "failwell.phrases", "failwell._trace"},
            id="from the first call to the end of a session, nothing that only failures need",
        ),
    ],
)
def test_parts_are_loaded_when_they_are_needed(program: str, loaded: str, absent: set[str]) -> None:
    bare = {name: value for name, value in os.environ.items() if not name.startswith("COV")}  # which loads much
    command = [sys.executable, "-c", f"import sys; {program}; print(*sys.modules)"]
    names = subprocess.run(command, capture_output=True, text=True, check=True, env=bare).stdout.split()

    assert loaded in names
    assert absent.isdisjoint(names)


def test_a_child_has_two_pipes_and_an_exit_code() -> None:
    with pytest.raises(FileNotFoundError):
        process.Child(["no-such-program"])
    started = process.Child(["sh", "-c", "read line; echo $line; kill -9 $$"])
    os.write(started.stdin, b"hello\n")

    assert os.read(started.stdout, 100) == b"hello\n"
    assert started.wait() == 137
    started.terminate()
    os.close(started.stdin)
    os.close(started.stdout)


def test_restarts_wait_longer_each_time_and_stop() -> None:
    now = 0.0
    deaths = restarts.Restarts(clock=lambda: now)

    assert [deaths.next_delay() for _ in range(6)] == [0.0, 0.1, 0.2, 0.4, 0.8, None]
    now = 100.0
    assert deaths.next_delay() == 0.0


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        (["--nonsense"], 2, "failwell: unknown option '--nonsense'; see failwell proxy --help\n"),
        (["--events", "/no/where", "x"], 2, "failwell: --events /no/where: No such file or directory\n"),
        (["--", "no-such-program"], 127, "failwell: cannot start no-such-program: No such file or directory\n"),
        (["--", "/"], 126, "failwell: cannot start /: Permission denied\n"),
        (["--", "a\0b"], 126, "failwell: cannot start ab: embedded null byte\n"),
    ],
)
def test_what_cannot_start_says_why(
    argv: list[str], code: int, told: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)

    command.run_and_exit(argv)

    assert ended == [code]
    assert capfd.readouterr() == ("", told)


def test_validation_that_is_not_installed_is_told(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    assert command.main(["--validate", "x"]) == 2
    line = "uvx --from 'failwell[validation]' failwell proxy …, or pip install 'failwell[validation]'"
    assert capfd.readouterr().err == f"failwell: --validate needs jsonschema-rs: {line}\n"


def test_all_that_is_not_installed_is_told_at_once(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    assert command.main(["--validate", "--metrics", "0", "--events", "postgresql://h/d", "x"]) == 2
    needs = "--events needs sqlalchemy, --events needs psycopg, --validate needs jsonschema-rs, --metrics needs"
    package = "'failwell[postgres,validation,metrics]'"
    line = f"uvx --from {package} failwell proxy …, or pip install {package}"
    assert capfd.readouterr().err == f"failwell: {needs} prometheus-client: {line}\n"


def test_the_help_is_the_same_everywhere(capfd: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--help"]) == 0
    assert capfd.readouterr().out == help_text()


def test_a_bug_of_the_proxy_is_one_line_too(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(command, "parse", lambda _: 1 / 0)

    command.run_and_exit([])

    assert ended == [70]
    assert capfd.readouterr().err == "failwell: the proxy failed: ZeroDivisionError\n"


def test_each_request_of_a_client_without_a_server_is_answered_once() -> None:
    source, to = os.pipe()
    come, target = os.pipe()
    os.write(to, b'{"jsonrpc":"2.0","method":"x"}\nnonsense\n' + INITIALIZE)

    refuse_client("no server", source=source, target=target)

    assert json.loads(os.read(come, 1000))["error"] == {"code": -32603, "message": "failwell: no server"}
    for end in (source, to, come, target):
        os.close(end)


def test_a_client_that_leaves_without_a_word_is_not_answered() -> None:
    source, to = os.pipe()
    come, target = os.pipe()
    os.close(to)

    refuse_client("no server", source=source, target=target)

    os.close(target)
    assert os.read(come, 1000) == b""
    for end in (source, come):
        os.close(end)


def test_the_log_is_for_its_owner_only(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    run("--events", str(log), "--", "true")

    assert stat.S_IMODE(log.stat().st_mode) == 0o600


SLOW_TO_END = "import sys, time\nfor line in sys.stdin: pass\nprint('gone', flush=True)\ntime.sleep(2.5)\nsys.exit(7)\n"


@pytest.mark.slow
def test_a_server_that_takes_its_time_to_end_ends_by_itself(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"

    code, stdout, _ = run("--events", str(events), "--", sys.executable, "-c", SLOW_TO_END)

    assert (code, stdout) == (7, b"gone\n")
    assert "died" not in events.read_text()


def test_an_answer_that_comes_after_the_end_of_the_input_is_waited_for() -> None:
    late = (
        "import json, sys, time\n"
        "asked = [json.loads(line) for line in sys.stdin]\n"  # it answers only once its input has ended
        "time.sleep(1.5)\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': asked[-1]['id'], 'result': {'content': []}}), flush=True)\n"
    )
    call = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"act","arguments":{}}}\n'

    code, stdout, _ = run("--grace", "1", "--", sys.executable, "-c", late, sent=call)

    assert (code, stdout) == (0, b'{"jsonrpc": "2.0", "id": 2, "result": {"content": []}}\n')


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends a process with its parent")
def test_a_proxy_that_is_killed_leaves_no_server_behind() -> None:
    deaf = "import time; print('up', flush=True); time.sleep(600)"
    with start("--", sys.executable, "-c", deaf) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"up\n"
        process.kill()

        assert process.stderr.read() == b""  # which ends once the server, too, has let go of it
