"""`failwell policy`."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failwell.cli.policy import proposal
from failwell.policy_file import PolicyFile
from failwell.proxy.options import parse
from failwell.proxy.recorder import server_name
from tests.cli.streams import output, refusal, run

SERVER = """
import json, sys

TOOLS = [
    {"name": "get_task", "inputSchema": {"type": "object"}},
    {"name": "get_or_create_task", "inputSchema": {"type": "object"}},
    {"name": "list_tasks", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "get_lock", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": False}},
]
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    results = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "tasks", "version": "1"}},
        "tools/list": {"tools": TOOLS},
    }
    assert request["method"] in results, request  # no tool is called
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": results[request["method"]]}), flush=True)
"""


@pytest.fixture
def server(tmp_path: Path) -> list[str]:
    file = tmp_path / "server.py"
    file.write_text(SERVER)
    return ["--", sys.executable, str(file)]


def agreed(text: str) -> str:
    """Return a proposal that the operator agrees with."""
    return text.replace("# trust_", "trust_").replace("# read_only", "read_only")


def test_what_gives_the_right_to_repeat_a_call_is_only_proposed(server: list[str]) -> None:
    text = output("policy", "init", *server)

    before, after = PolicyFile.parse(text), PolicyFile.parse(agreed(text))
    names = ["get_task", "get_or_create_task", "list_tasks", "get_lock"]
    assert list(before.servers["tasks"].tools) == names
    assert [before.tool("tasks", name).read_only for name in names] == [None] * 4
    assert before.server("tasks") == PolicyFile().server("tasks")
    assert [after.tool("tasks", name).read_only for name in names] == [True, None, None, None]
    assert (after.server("tasks").trust_inferred, after.server("tasks").trust_read_verbs) == (True, True)
    assert "# The server says that it is read-only." in text


def test_the_server_may_get_another_name(server: list[str]) -> None:
    assert list(PolicyFile.parse(output("policy", "init", "--name", "mine", *server)).servers) == ["mine"]


def test_a_proposal_says_what_a_proxy_calls_the_server(server: list[str]) -> None:
    proxied = parse(server)
    named = f'# A proxy calls this server "{server_name(proxied)}": use that name here, or start the proxy with --name.'

    assert named in output("policy", "init", *server).splitlines()
    assert "A proxy calls" not in output("policy", "init", "--name", "tasks", *server)


def test_without_a_server_there_is_nothing_to_propose() -> None:
    assert refusal("policy", "init") == (
        "no server given: use failwell policy init -- COMMAND or failwell policy init URL"
    )
    assert "cannot start" in refusal("policy", "init", "--", "/there/is/no/such/server")


@given(st.lists(st.text(max_size=20) | st.sampled_from(["*", "get_*", 'a"]\nread_only = true\n["', "get_x\r\n#"])))
def test_the_names_of_a_server_can_say_nothing_but_names(names: list[str]) -> None:
    tools: list[dict[str, Any]] = [{"name": name} for name in names]

    for server in names or ["s"]:
        file = PolicyFile.parse(proposal(server, tools))

        assert set(file.__struct_fields__) - {"servers"} == {
            name for name in file.__struct_fields__ if not getattr(file, name) and name != "servers"
        }
        [rules] = file.servers.values()
        assert {tool for tool, said in rules.tools.items() if said.read_only is not None} == set()
        assert file.tool(server, "pay_card") == PolicyFile().tool("", "")


def test_check_names_every_line_that_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("[tools.x]\nreadonly = true\ntimeout = 0\n")

    ran = run("policy", "check", str(file))

    assert (ran.code, ran.out) == (1, "")
    assert [line.removeprefix(f"{file}:")[:2] for line in ran.err.splitlines()] == ["2:", "3:"]
    file.write_text("[servers.a.tools.x]\nread_only = true\n")
    assert output("policy", "check", str(file)) == "The file is valid: 1 server and 1 tool.\n"


def test_a_server_that_a_policy_file_does_not_name_is_told(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('attempts = 2\n[servers."git*"]\nretry = true\n')

    ran = run("policy", "show", str(file), "--server", "hub")

    assert json.loads(ran.out) == {"attempts": 2}
    assert ran.err == "failwell: the file has nothing about a server 'hub'; it names: git*\n"
    assert run("policy", "show", str(file), "--server", "github").err == ""


def test_the_file_of_the_user_is_the_one_that_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    assert refusal("policy", "check").startswith(f"there is no policy file at '{tmp_path}")
    (tmp_path / "failwell").mkdir()
    (tmp_path / "failwell" / "policy.toml").write_text("attempts = 2\n[tools.'get_*']\nread_only = true\n")
    assert json.loads(output("policy", "show")) == {"attempts": 2}
    assert json.loads(output("policy", "show", "--tool", "get_x")) == {"attempts": 2, "read_only": True}


def test_show_refuses_what_is_not_understood(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("x = 1\n")

    assert 'there is no key "x"' in refusal("policy", "show", str(tmp_path / "policy.toml"))


def test_the_schema_is_written_whole() -> None:
    schema = json.loads(output("policy", "schema"))

    assert jsonschema_rs.is_valid(schema, tomllib.loads("[tools.x]\nread_only = true"))
    assert not jsonschema_rs.is_valid(schema, tomllib.loads("[tools.x]\nreadonly = true"))
