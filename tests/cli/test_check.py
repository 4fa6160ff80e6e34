"""`failwell check` as people and CI run it, and what it shows."""

import io
import json
import sys
from pathlib import Path

import pytest

from failwell.cli import check
from tests.check.reports import samples
from tests.check.servers import graded, odd
from tests.cli.streams import Terminal, run

PATIENT = ("--start-timeout", "120", "--timeout", "60")


def test_a_clean_run_exits_with_0() -> None:
    code, out, err = run("check", *PATIENT, "--", *graded("none"))

    assert (code, err) == (0, "")
    assert out.startswith("100 of 100  A  graded 1")


def test_findings_exit_with_1_and_say_what_to_change() -> None:
    code, out, err = run("check", *PATIENT, "--", *graded("flagged"))

    assert (code, err) == (1, "")
    assert "flagged 14×" in out
    assert "1. Flag failures as errors" in out
    assert "raise fw." in out or "isError" in out


def test_json_is_one_object_with_the_promised_keys() -> None:
    code, out, _ = run("check", *PATIENT, "--json", "--", *odd("strict"))

    found = json.loads(out)
    assert code == 1
    assert 0 < found["score"] < 100
    assert found["grade"] in "ABCDF"
    assert [tool["name"] for tool in found["tools"]] == ["look", "send", "(server)"]
    assert {"grade", "passed", "weight", "reason", "channel"} == found["tools"][0]["probes"][0]["grades"][0].keys()
    assert {one["tool"] for one in found["not_probed"]} == {"send"}


def test_a_tool_that_the_policy_calls_read_only_gets_valid_calls_too(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("timeout = 60\n[tools.send]\nread_only = true\n[tools.look]\nread_only = false\n")

    _, out, _ = run("check", *PATIENT[:2], "--policy", str(policy), "--json", "--", *odd("strict"))

    found = json.loads(out)
    assert {one["name"]: one["read_only"] for one in found["tools"][:2]} == {"look": False, "send": True}
    assert {one["tool"] for one in found["not_probed"]} == {"look"}


def test_annotations_that_the_policy_does_not_trust_make_no_tool_read_only(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("trust_annotations = false\n")

    _, out, _ = run("check", *PATIENT, "--policy", str(policy), "--json", "--", *odd("strict"))

    assert not any(one["read_only"] for one in json.loads(out)["tools"])


def test_a_policy_file_that_is_not_understood_is_one_line_and_exit_2(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("timout = 3\n")

    code, _, err = run("check", "--policy", str(policy), "--", *odd("strict"))

    assert code == 2
    assert "did you mean 'timeout'?" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["no-such-program-anywhere"], "cannot start 'no-such-program-anywhere': No such file or directory"),
        (odd("garbage"), "the server ended: it wrote 'Hello, I am a web server'"),
        (odd("broken"), "the server ended: ModuleNotFoundError: No module named 'absent'"),
        (odd("unwilling"), "the server refused to start a session: not today"),
        (odd("no_tools"), "the server has no tools: there is nothing to check"),
        (odd("no_list"), "the server does not list its tools: its answer is not an MCP answer"),
        ([], "no server given: use failwell check -- COMMAND or failwell check URL"),
        (["http://127.0.0.1:9/mcp"], "cannot reach http://127.0.0.1:9/mcp: Connection refused"),
    ],
    ids=["absent", "garbage", "broken", "unwilling", "no-tools", "no-list", "nothing", "nobody"],
)
def test_a_server_that_cannot_be_checked_is_one_line_and_exit_2(command: list[str], line: str) -> None:
    code, out, err = run("check", *PATIENT, "--", *command)

    assert (code, out, err) == (2, "", f"failwell: {line}\n")


def test_an_invalid_schema_is_one_line_that_names_the_tool() -> None:
    code, _, err = run("check", *PATIENT, "--", *odd("invalid_schema"))

    assert code == 2
    assert err.startswith("failwell: the input schema of send is invalid: ")
    assert err.count("\n") == 1


def test_a_server_that_says_nothing_is_given_up() -> None:
    code, _, err = run("check", "--start-timeout", "0.2", "--", sys.executable, "-c", "import time; time.sleep(60)")

    assert (code, err) == (2, "failwell: the server did not answer within 0.2 s\n")


def test_the_first_run_writes_a_baseline_and_the_second_one_is_clean(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    first = run("check", *PATIENT, "--baseline", str(file), "--", *graded("safe"))
    second = run("check", *PATIENT, "--baseline", str(file), "--", *graded("safe"))

    lines = json.loads(file.read_text())
    assert (first[0], second[0]) == (0, 0)
    assert list(lines) == sorted(lines)
    assert lines["read_task/empty"] == "VALIDATION_FAILED -safe"


def test_what_got_worse_than_the_baseline_exits_with_1(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    run("check", *PATIENT, "--baseline", str(file), "--", *graded("safe"))
    code, out, err = run("check", *PATIENT, "--baseline", str(file), "--", *graded("size"))

    assert code == 1
    assert "16 worse than the baseline" in out
    assert "read_task/empty: size: 2," in out
    assert "16 grades are better than the baseline: keep them with --update-baseline" in err


def test_a_code_that_changed_is_worse(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    run("check", *PATIENT, "--baseline", str(file), "--", *graded("none"))
    lines = json.loads(file.read_text())
    file.write_text(json.dumps({**lines, "read_task/empty": "EMPTY_CALL"}))
    code, out, _ = run("check", *PATIENT, "--baseline", str(file), "--", *graded("none"))

    assert code == 1
    assert "read_task/empty: the code was EMPTY_CALL and is now VALIDATION_FAILED" in " ".join(out.split())


def test_a_baseline_can_be_written_anew(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    run("check", *PATIENT, "--baseline", str(file), "--", *graded("safe"))
    code, _, _ = run("check", *PATIENT, "--baseline", str(file), "--update-baseline", "--", *graded("size"))

    assert code == 0
    assert "-size" in file.read_text()


def test_a_lower_score_can_be_let_pass() -> None:
    assert run("check", *PATIENT, "--fail-under", "80", "--", *graded("flagged"))[0] == 0
    assert run("check", *PATIENT, "--fail-under", "99", "--", *graded("flagged"))[0] == 1


@pytest.mark.parametrize("option", ["--values", "--probes", "--baseline"])
def test_a_file_that_is_not_what_it_should_be_is_one_line_and_exit_2(option: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("][")
    code, out, err = run("check", option, str(file), "--", *graded("none"))

    assert (code, out) == (2, "")
    assert err.startswith(f"failwell: {file}: ")
    assert err.count("\n") == 1


def test_own_probes_and_values_come_from_files(tmp_path: Path) -> None:
    probes, values = tmp_path / "probes.toml", tmp_path / "values.toml"
    probes.write_text('[[probe]]\nname = "lazy"\ntool = "read_task"\narguments = {task = "nap", pace = "none"}\n')
    values.write_text('[read_task]\ntask = "t-17"\n')
    code, out, _ = run(
        "check", *PATIENT, "--json", "--probes", str(probes), "--values", str(values), "--", *graded("none")
    )

    calls = {probe["id"]: probe["arguments"] for tool in json.loads(out)["tools"] for probe in tool["probes"]}
    assert code == 0
    assert calls["read_task/own/lazy"] == {"task": "nap", "pace": "none"}
    assert calls["read_task/null/task"] == {"task": None, "pace": "quick"}
    assert calls["read_task/missing_field/pace"] == {"task": "t-17"}


def shown(**changes: object) -> str:
    out = io.StringIO()
    check.show(out, samples.report(samples.tool("read_task", samples.probe("empty", samples.FLAGGED)), **changes))
    return out.getvalue()


def test_the_table_has_the_score_the_tools_and_what_to_change() -> None:
    text = shown(changes=(samples.CHANGE,))

    assert text.startswith("61.5 of 100  C  tasks 1.2")
    assert "read_task" in text
    assert "1. Give failures a type  up to +16.1" in text


def test_what_got_worse_and_what_was_not_sent_is_listed() -> None:
    worse = samples.Regression(probe="read_task/empty", what="it is not flagged any more")
    left_out = samples.NotProbed(tool="write_task", probe=None, reason="it may change something")

    text = shown(worse=(worse,), not_probed=(left_out,))

    assert "read_task/empty" in text
    assert "it is not flagged any more" in text
    assert "1× it may change something (write_task)" in text


def test_progress_is_shown_on_a_terminal_and_wiped_at_the_end() -> None:
    out = Terminal()

    with check.show_progress(out) as tell:
        assert tell is not None
        tell(3, 10)

    assert out.getvalue() == "\r3 of 10 calls\r\x1b[K"


def test_progress_is_not_shown_to_a_file() -> None:
    with check.show_progress(io.StringIO()) as tell:
        assert tell is None
