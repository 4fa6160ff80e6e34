"""`failwell hosts` on a home folder of its own: what is listed, changed, restored and refused."""

import contextlib
import json
import os
import re
import stat
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failwell.hosts import files, json_document, launcher, servers, toml_document
from failwell.hosts.document import BadConfig
from failwell.hosts.locations import HOSTS, find_files, state_folder
from tests.check.servers import graded
from tests.cli.streams import Terminal, run

HERE = Path(__file__).parent
BY_NAME = {host.name: host for host in HOSTS}
FILES = {
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "gemini": ".gemini/settings.json",
    "codex": ".codex/config.toml",
}
"""Where the file of a user is on Linux."""


def configurations(name: str) -> list[Any]:
    parts = re.split(r"^=== (.+)\n", (HERE / name).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return [pytest.param(text, id=title) for title, text in zip(parts[::2], parts[1::2], strict=True)]


JSON = configurations("json_configurations.txt")
TOML = configurations("toml_configurations.txt")
VARIANTS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "no final newline": lambda text: text.rstrip("\n"),
    "BOM": lambda text: "\ufeff" + text,
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("sys.platform", "linux")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return tmp_path


def write(file: Path, text: str) -> bytes:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file.read_bytes()


def hosts(*argv: str, code: int = 0) -> str:
    ran = run("hosts", *argv)
    assert ran.code == code, ran
    return ran.out


def listed(*argv: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(hosts("list", "--json", *argv))
    return found


@pytest.mark.parametrize(
    ("columns", "headers"),
    [
        (50, ["host", "server", "proxy"]),
        (60, ["host", "server", "proxy"]),
        (80, ["host", "server", "starts", "proxy"]),
        (120, ["host", "server", "starts", "file", "proxy"]),
    ],
)
def test_a_narrow_terminal_still_says_whether_the_proxy_is_in_front(
    home: Path, columns: int, headers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = '{"command": "docker", "args": ["run", "-i", "--rm", "ghcr.io/github/github-mcp-server"]}'
    write(
        home / FILES["cursor"], f'{{"mcpServers": {{"github": {command}, "linear": {{"url": "https://a.test/mcp"}}}}}}'
    )
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")

    shown = run("hosts", stdout=Terminal()).out.splitlines()

    assert shown[0].split() == headers
    assert shown[2].endswith("no; the host may sign in")
    assert max(map(len, shown)) <= columns


def test_there_are_thirty_configurations_of_each_format() -> None:
    assert len(JSON) >= 30
    assert len(TOML) >= 30


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("text", JSON)
def test_unwrapping_restores_json_byte_by_byte(home: Path, text: str, variant: str) -> None:
    check_round_trip(home / FILES["cursor"], VARIANTS[variant](text))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("text", TOML)
def test_unwrapping_restores_toml_byte_by_byte(home: Path, text: str, variant: str) -> None:
    check_round_trip(home / FILES["codex"], VARIANTS[variant](text))


def check_round_trip(file: Path, text: str) -> None:
    before = write(file, text)

    wrapped = wrap_all()
    after = file.read_bytes()
    assert len(servers_in(after.decode())) >= len(wrapped)
    unwrap(wrapped)

    assert (after != before) == bool(wrapped)
    assert file.read_bytes() == before


def read() -> files.Config:
    [location] = find_files(home=Path.home(), platform="linux", environ={})
    return files.read_config(location)


def servers_in(text: str) -> list[str]:
    return re.findall(r"\bproxy\b", text)


def wrap_all() -> set[tuple[str, ...]]:
    """Put the proxy in front of all servers that allow it, and return their keys."""
    config = read()
    edits = [
        files.Edit(server, tuple(servers.wrap(server, ["/opt/failwell"])))
        for server in config.servers
        if server.obstacle is None
    ]
    state().write(config, edits, is_back=False)
    return {edit.server.keys for edit in edits}


def unwrap(keys: set[tuple[str, ...]]) -> None:
    config = read()
    wanted = [server for server in config.servers if server.keys in keys]
    assert all(server.proxied for server in wanted)
    edits = [state().edit_back(config.location.file, server) for server in wanted]
    state().write(config, edits, is_back=True)


def state() -> files.HostState:
    return files.HostState(state_folder(home=Path.home(), platform="linux", environ={}))


@pytest.mark.parametrize("text", JSON)
def test_an_edit_elsewhere_in_json_survives_unwrapping(home: Path, text: str) -> None:
    file = home / FILES["cursor"]
    check_edit_in_between(
        file, text, edit=lambda now: now.replace('"mcpServers"', '"edited": [true],\n"mcpServers"', 1)
    )


@pytest.mark.parametrize("text", TOML)
def test_an_edit_elsewhere_in_toml_survives_unwrapping(home: Path, text: str) -> None:
    check_edit_in_between(home / FILES["codex"], text, edit=lambda now: f"edited = 1 # by hand\n{now}\n# more\n")


def check_edit_in_between(file: Path, text: str, *, edit: Callable[[str], str]) -> None:
    write(file, text)

    wrapped = wrap_all()
    write(file, edit(file.read_text(encoding="utf-8")))
    unwrap(wrapped)

    assert file.read_text(encoding="utf-8") == edit(text)


def test_a_server_that_was_edited_keeps_its_edits_when_it_is_unwrapped(home: Path) -> None:
    file = home / FILES["cursor"]
    write(file, '{"mcpServers": {"a": {"command": "npx", "args": ["x"], "env": {"A": "1"}}}}')
    hosts("wrap", "--yes")

    edited = file.read_text(encoding="utf-8").replace('"x"]', '"x", "--new"]').replace('"1"', '"2"')
    write(file, edited)
    hosts("unwrap", "--yes")

    assert file.read_text(encoding="utf-8") == (
        '{"mcpServers": {"a": {"command": "npx", "args": ["x", "--new"], "env": {"A": "2"}}}}'
    )


def test_a_file_that_the_host_wrote_anew_is_unwrapped_by_what_it_says(home: Path) -> None:
    text = {
        "mcpServers": {
            "a": {"command": "npx", "args": ["x"]},
            "b": {"type": "http", "url": "https://api.example.com/mcp", "headers": {"X-Key": "k"}},
        }
    }
    file = home / FILES["claude-code"]
    write(file, json.dumps(text))
    hosts("wrap", "--yes")

    write(file, json.dumps(json.loads(file.read_bytes()), indent=4))
    hosts("unwrap", "--yes")

    assert json.loads(file.read_bytes()) == text


def test_a_file_of_another_machine_is_unwrapped_without_a_record(home: Path) -> None:
    file = home / FILES["cursor"]
    before = write(file, '{"mcpServers": {"a": {"command": "npx", "args": ["x"]}}}')
    hosts("wrap", "--yes")

    for record in state_folder(home=home, platform="linux", environ={}).glob("*.json"):
        record.unlink()
    hosts("unwrap", "--yes")

    assert file.read_bytes() == before


@pytest.mark.parametrize("name", FILES)
def test_every_host_is_wrapped_with_an_absolute_command(home: Path, name: str) -> None:
    host, file = BY_NAME[name], home / FILES[name]
    key = host.tables[0][0]
    write(file, f'[{key}.s]\ncommand = "npx"\n' if host.is_toml else json.dumps({key: {"s": {"command": "npx"}}}))

    hosts("wrap", "--host", name, "--yes")

    text = file.read_text(encoding="utf-8")
    server = (tomllib.loads if host.is_toml else json.loads)(text)[key]["s"]
    assert Path(server["command"]).is_absolute()
    assert server["args"][-4:] == ["proxy", "--name=s", "--", "npx"]


@pytest.mark.parametrize(("name", "key"), [("windsurf", "serverUrl"), ("gemini", "httpUrl"), ("vscode", "url")])
def test_a_url_is_found_under_the_name_that_the_host_uses(home: Path, name: str, key: str) -> None:
    table = BY_NAME[name].tables[0][0]
    server = {key: "https://api.example.com/mcp", "headers": {"X-Key": "k"}}
    before = write(home / FILES[name], json.dumps({table: {"s": server}}))

    hosts("wrap", "--yes")
    wrapped = json.loads((home / FILES[name]).read_bytes())[table]["s"]
    hosts("unwrap", "--yes")

    assert wrapped["args"][-4:] == ["--url", server[key], "--header-variable", "X-Key:FAILWELL_HEADER_1"]
    assert wrapped["env"] == {"FAILWELL_HEADER_1": "k"}
    assert (home / FILES[name]).read_bytes() == before


def test_what_is_wrapped_is_not_wrapped_again(home: Path) -> None:
    file = home / FILES["cursor"]
    write(file, '{"mcpServers": {"a": {"command": "npx", "args": ["x"]}}}')
    hosts("wrap", "--yes")
    once = file.read_bytes()

    ran = run("hosts", "wrap", "--yes")

    assert ran.out == "Nothing to change.\n"
    assert "a (Cursor): the proxy is already in front" in ran.err
    assert file.read_bytes() == once


def test_servers_of_single_projects_in_claude_code_are_found(home: Path) -> None:
    write(home / ".claude.json", json.dumps({"projects": {"/a": {"mcpServers": {"x": {"command": "npx"}}}, "/b": {}}}))

    [row] = listed()

    assert (row["host"], row["name"], row["scope"]) == ("claude-code", "x", "project")


def test_a_project_s_file_is_left_alone_unless_asked_for_and_gets_a_portable_command(home: Path) -> None:
    shared = home / "project" / ".mcp.json"
    before = write(shared, '{"mcpServers": {"a": {"command": "npx", "args": ["x"]}}}')

    ran = run("hosts", "wrap", "a", "--yes")
    assert shared.read_bytes() == before
    assert ran.err == "failwell: without --project, servers in project files are left alone: a\n"
    hosts("wrap", "--project", "--yes")
    assert not run("hosts", "wrap").err

    server = json.loads(shared.read_bytes())["mcpServers"]["a"]
    assert [server["command"], *server["args"]] == ["uvx", "failwell", "proxy", "--name=a", "--", "npx", "x"]


def test_without_yes_the_change_is_shown_and_nothing_is_written(home: Path) -> None:
    file = home / FILES["cursor"]
    before = write(file, '{"mcpServers": {\n"a": {"command": "npx", "env": {"TOKEN": "swordfish"}}}}')

    shown = hosts("wrap")

    assert '-"a": {"command": "npx"' in shown
    assert '"args": ["proxy", "--name=a", "--", "npx"]' in shown
    assert "swordfish" not in shown
    assert file.read_bytes() == before
    assert not (home / ".local").exists()


def test_the_variable_that_a_header_comes_from_is_shown_and_its_value_is_not(home: Path) -> None:
    server = {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer swordfish"}}
    write(home / FILES["cursor"], json.dumps({"mcpServers": {"a": server}}))

    shown = hosts("wrap")

    assert '"--header-variable", "Authorization:FAILWELL_HEADER_1"' in shown
    assert "swordfish" not in shown


def test_a_read_only_file_stays_as_it_is(home: Path) -> None:
    file = home / FILES["cursor"]
    before = write(file, '{"mcpServers": {"a": {"command": "npx"}}}')
    file.chmod(0o444)

    ran = run("hosts", "wrap", "--yes")

    assert (ran.code, file.read_bytes()) == (2, before)
    assert ran.err == "failwell: ~/.cursor/mcp.json: it is read-only, so nothing was written\n"


def test_names_cannot_write_to_the_terminal(home: Path) -> None:
    servers = {"\x1b[31mred": {"command": "npx"}, "\x1b[2Jodd": {}}
    for file in (home / FILES["cursor"], home / "project" / ".mcp.json"):
        write(file, json.dumps({"mcpServers": servers}))

    ran = [run("hosts", *argv) for argv in ((), ("wrap",), ("wrap", "--yes"), ("unwrap", "--yes"))]

    assert all("red" in one.out for one in ran)
    assert "odd" in ran[1].err
    assert not any("\x1b" in one.out + one.err for one in ran)


def test_a_url_that_the_host_may_sign_in_to_is_listed_and_not_wrapped(home: Path) -> None:
    file = home / FILES["cursor"]
    before = write(
        file,
        json.dumps({"mcpServers": {"n": {"url": "https://mcp.example.com"}, "o": {"url": "https://x", "oauth": {}}}}),
    )

    ran = run("hosts", "wrap", "--yes")

    assert [row["name"] for row in listed() if row["obstacle"]] == ["n", "o"]
    assert "n (Cursor): the host may sign in to it; if it does not, add --signed-out" in ran.err
    assert "o (Cursor): the host signs in to it (oauth)" in ran.err
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("cursor", '{\n"mcpServers": {\n"a": {"command": "x" "args": []}\n}\n}', "line 3, column 22: expected a comma"),
        ("cursor", '{"mcpServers": {"a": {"command": "x"}}', "line 1, column 39: expected a comma or }"),
        ("cursor", "{'mcpServers': {}}", "line 1, column 2: expected a key in double quotes"),
        ("cursor", '{"mcpServers": /* {}}', "line 1, column 16: a comment is not closed"),
        ("cursor", '{"mcpServers": {"a": {"command": "x\n"}}}', "line 1, column 34: a string is not closed"),
        ("cursor", "<<<<<<< HEAD\n{}", "line 1, column 1: expected a value"),
        ("cursor", "[" * 500, "nested too deeply"),
        ("codex", '[mcp_servers.a]\ncommand = "x\n', "line 2, column 13: illegal character"),
        ("codex", '[mcp_servers.a]\ncommand = "x"\ncommand = "y"\n', "line 3, column 14: cannot overwrite a value"),
        ("codex", "[mcp_servers.a]\n[mcp_servers.a]\n", "line 2, column 15: cannot declare mcp_servers.a twice"),
        ("codex", "a = " + "[" * 500, "nested too deeply"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named_with_its_place_and_left_as_it_is(home: Path, name: str, text: str, place: str) -> None:
    file = home / FILES[name]
    before = write(file, text)

    ran = run("hosts", "wrap", "--yes")

    assert ran.code == 2
    assert ran.err.startswith(f"failwell: ~/{file.relative_to(home).as_posix()}: ")
    assert place in ran.err
    assert file.read_bytes() == before
    assert sorted(file.parent.iterdir()) == [file]


def test_a_file_that_is_no_utf_8_is_refused_with_its_place(home: Path) -> None:
    file = home / FILES["cursor"]
    write(file, "")
    file.write_bytes(b'{\n "a": "\xff"}')

    assert "line 2, column 8: it is not UTF-8 text" in run("hosts", "wrap", "--yes").err


def test_a_file_that_changed_since_it_was_read_is_not_written(home: Path) -> None:
    file = home / FILES["cursor"]
    write(file, '{"mcpServers": {"a": {"command": "npx"}}}')
    [location] = find_files(home=home, platform="linux", environ={})
    config = files.read_config(location)
    [server] = config.servers
    edit = files.Edit(server, tuple(servers.wrap(server, ["/opt/failwell"])))

    newer = write(file, '{"mcpServers": {}}')

    with pytest.raises(BadConfig, match="changed since it was read"):
        files.HostState(home / "state").write(config, [edit], is_back=False)
    assert file.read_bytes() == newer


def test_a_file_keeps_its_mode_and_a_link_stays_a_link(home: Path) -> None:
    real = home / "dotfiles" / "mcp.json"
    write(real, '{"mcpServers": {"a": {"command": "npx"}}}')
    real.chmod(0o640)
    (home / ".cursor").mkdir()
    (home / FILES["cursor"]).symlink_to(real)

    hosts("wrap", "--yes")

    assert (home / FILES["cursor"]).is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert b"proxy" in real.read_bytes()


def test_the_backup_holds_what_was_there_and_only_the_user_can_read_it(home: Path) -> None:
    before = write(home / FILES["cursor"], '{"mcpServers": {"a": {"command": "npx"}}}')

    hosts("wrap", "--yes")

    [backup] = [file for file in (home / ".local/state/failwell/hosts/backups").rglob("*") if file.is_file()]
    assert backup.read_bytes() == before
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_a_server_that_no_host_has_is_refused_with_the_nearest_name(home: Path) -> None:
    write(home / FILES["cursor"], '{"mcpServers": {"github": {"command": "npx"}}}')

    ran = run("hosts", "wrap", "gihtub", "--yes")

    assert (ran.code, ran.err) == (
        2,
        "failwell: no host has a server 'gihtub'; did you mean 'github'?; failwell hosts lists them\n",
    )


def test_options_of_the_proxy_are_checked_and_put_in_front(home: Path) -> None:
    write(home / FILES["cursor"], '{"mcpServers": {"a": {"command": "npx"}}}')

    assert run("hosts", "wrap", "--options", "--retyr", "--yes").code == 2
    hosts("wrap", "--options", "--retry --attempts 2", "--yes")

    args = json.loads((home / FILES["cursor"]).read_bytes())["mcpServers"]["a"]["args"]
    assert args[-6:] == ["--name=a", "--retry", "--attempts", "2", "--", "npx"]


@pytest.mark.parametrize(
    ("platform", "environ", "files_there"),
    [
        ("darwin", {}, ["Library/Application Support/Claude/claude_desktop_config.json",
                        "Library/Application Support/Code/User/mcp.json", ".codeium/windsurf/mcp_config.json"]),
        ("win32", {"APPDATA": "{home}/R"}, ["R/Claude/claude_desktop_config.json", "R/Code/User/mcp.json"]),
        ("win32", {}, ["AppData/Roaming/Claude/claude_desktop_config.json"]),
        ("linux", {"XDG_CONFIG_HOME": "{home}/c"}, ["c/Code/User/mcp.json", "c/Code/User/profiles/-1a/mcp.json"]),
        ("linux", {"CLAUDE_CONFIG_DIR": "{home}/cc", "CODEX_HOME": "{home}/cx"}, ["cc/.claude.json", "cx/config.toml"]),
    ],
)  # fmt: skip
def test_files_are_found_on_each_platform(
    home: Path, platform: str, environ: dict[str, str], files_there: list[str]
) -> None:
    for name in files_there:
        write(home / name, "{}")

    found = find_files(home=home, platform=platform, environ={k: v.format(home=home) for k, v in environ.items()})

    assert sorted(str(one.file.relative_to(home)) for one in found) == sorted(files_there)


def test_a_tool_environment_that_will_be_removed_is_not_written_into_a_file() -> None:
    passing = Path("/home/u/.cache/uv/archive-v0/abc/bin/python")

    command = launcher.local_command(is_url=True, executable=passing, which=lambda name: f"/home/u/.local/bin/{name}")

    assert command == ["/home/u/.local/bin/uvx", "--from", "failwell[http-proxy]", "failwell"]
    with pytest.raises(BadConfig, match="uv tool install failwell"):
        launcher.local_command(is_url=False, executable=passing, which=lambda _: None)


def test_a_url_needs_what_speaks_http() -> None:
    with pytest.raises(BadConfig, match=re.escape("failwell[http-proxy]")):
        launcher.local_command(is_url=True, executable=Path("/opt/venv/bin/python"), has_http=False)


def test_check_grades_what_stands_behind_the_proxy_and_names_what_does_not_start(home: Path) -> None:
    command, *args = graded("none")
    servers = {
        "plain": {"command": command, "args": args},
        "proxied": {"command": "/opt/failwell", "args": ["proxy", "--", command, *args]},
        "gone": {"command": "no-such-server"},
        "asks": {"command": command, "args": args, "env": {"TOKEN": "${input:token}"}},
    }
    write(home / FILES["cursor"], json.dumps({"mcpServers": servers}))

    rows = {row["name"]: row for row in json.loads(hosts("check", "--json"))}

    assert rows["plain"]["grade"] == rows["proxied"]["grade"] != None  # noqa: E711  # both have one
    assert rows["plain"]["score"] == rows["proxied"]["score"]
    assert rows["gone"]["reason"] == "cannot start 'no-such-server': No such file or directory"
    assert rows["asks"]["reason"] == "only the host can start it or sign in to it"


def start(server: dict[str, Any], *messages: dict[str, Any]) -> list[Any]:
    """Start a server as a host does, send messages, and return what it answers until it ends."""
    done = subprocess.run(
        [server["command"], *server["args"]],
        input="".join(json.dumps(message) + "\n" for message in messages),
        capture_output=True,
        text=True,
        env={**os.environ, **server.get("env", {})},
        timeout=120,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read_task", "arguments": {}}}


def test_what_a_host_starts_after_wrapping_is_the_server_behind_the_proxy(home: Path) -> None:
    program = (
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    text = f'connection refused for {os.environ[\"WHO\"]} {sys.argv[1]}'\n"
        "    result = {'isError': True, 'content': [{'type': 'text', 'text': text}]}\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': json.loads(line)['id'], 'result': result}), flush=True)\n"
    )
    entry = {"command": sys.executable, "args": ["-c", program, "--flag"], "env": {"WHO": "ada"}}
    write(home / FILES["cursor"], json.dumps({"mcpServers": {"s": entry}}))

    hosts("wrap", "--yes")
    [answer] = start(json.loads((home / FILES["cursor"]).read_bytes())["mcpServers"]["s"], CALL)

    assert answer["result"]["content"][0]["text"].startswith("connection refused for ada --flag")
    assert answer["result"]["_meta"]["errorCode"] == "CONNECTION_REFUSED"


def test_what_a_host_starts_for_a_url_sends_the_headers_that_the_host_would_have_sent(home: Path) -> None:
    seen: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.headers["X-Key"], self.headers["Authorization"]))
            result = {"isError": True, "content": [{"type": "text", "text": "connection refused"}]}
            body = json.dumps({"jsonrpc": "2.0", "id": json.loads(raw)["id"], "result": result}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as upstream:
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{upstream.server_address[1]}/mcp"
        entry = {"type": "http", "url": url, "headers": {"X-Key": "swordfish", "Authorization": "Bearer t"}}
        write(home / FILES["cursor"], json.dumps({"mcpServers": {"s": entry}}))
        hosts("wrap", "--yes")
        wrapped = json.loads((home / FILES["cursor"]).read_bytes())["mcpServers"]["s"]
        [answer] = start(wrapped, CALL)
        upstream.shutdown()

    assert set(seen) == {("swordfish", "Bearer t")}
    assert answer["result"]["_meta"]["errorCode"] == "CONNECTION_REFUSED"
    assert "swordfish" not in " ".join(wrapped["args"])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(json_values, st.sampled_from([None, 0, 2]))
def test_the_scanner_reads_json_as_everyone_does(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)

    assert json_document.parse(text).value == value


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (json_document.parse, toml_document.parse):
        with contextlib.suppress(BadConfig):
            parse(text)
