"""The pytest plugin in runs of its own: what users write, and what they are told when it fails."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpcore  # noqa: F401 - as mcp below; httpx would go on with a copy whose exceptions it does not know
import httpx
import httpx2
import mcp.server.lowlevel  # noqa: F401 - each run of pytester forgets what it was the first to import, which is slow
import pytest
import requests
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError

import failwell as fw
from failwell.check.peers import BadServer
from failwell.pytest_plugin import Faults, ServerConnection, assert_fails_well

pytest_plugins = ["pytester"]

SERVERS = {
    "fastmcp": "from fastmcp import FastMCP\nserver = FastMCP('tasks')",
    "mcp": "from mcp.server import MCPServer\nserver = MCPServer('tasks')",
}
TOOLS = '''
import failwell as fw
from {types} import ToolAnnotations

READS = ToolAnnotations(read_only_hint=True)

@server.tool(annotations=READS)
@fw.raises(fw.NotFound)
def read_task(task_id: int) -> str:
    """Read a task."""
    if task_id == 404:
        raise fw.NotFound("Task 404 does not exist.", suggestion="Call list_tasks to see what exists.")
    return "a task"
'''
PROTECTED = TOOLS + "\nfw.protect(server)\n"
RUN = "\nif __name__ == '__main__':\n    server.run()\n"
PLAIN_SUITE = "def test_contract(failwell_case):\n    failwell_case.check()\n"
SUITE = """
import pytest

@pytest.fixture
def failwell_provocations():
    return {("read_task", "NOT_FOUND"): {"task_id": 404}}

def test_contract(failwell_case):
    failwell_case.check()
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project of a user. Its modules are forgotten after each test."""
    pytester.syspathinsert()
    return pytester


def run(project: pytest.Pytester, *args: str) -> pytest.RunResult:
    return project.runpytest_inprocess(
        "-p", "failwell.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:warnings", "-rA", *args
    )


def write(
    project: pytest.Pytester, sdk: str, tools: str, suite: str = SUITE, target: str = "tasks_server:server"
) -> None:
    types = "mcp.types"
    project.makepyfile(tasks_server=f"{SERVERS[sdk]}\n{tools.replace('{types}', types)}{RUN}", test_tasks=suite)
    project.makeini(f"[pytest]\nfailwell_server = {target}\n")


@pytest.mark.parametrize("sdk", SERVERS)
def test_the_contract_covers_every_tool_and_every_declared_code(project: pytest.Pytester, sdk: str) -> None:
    write(project, sdk, PROTECTED)

    result = run(project)

    passed = [line.split("::")[1] for line in result.outlines if line.startswith("PASSED")]
    assert "test_contract[read_task/declares/NOT_FOUND]" in passed
    assert "test_contract[read_task/missing_field/task_id]" in passed
    assert "test_contract[read_task/wrong_type/task_id]" in passed
    assert result.parseoutcomes() == {"passed": len(passed)}


@pytest.mark.parametrize("sdk", SERVERS)
def test_a_server_that_is_a_program_is_held_to_its_contract_too(project: pytest.Pytester, sdk: str) -> None:
    write(project, sdk, PROTECTED, target=f"{sys.executable} tasks_server.py")

    result = run(project)

    result.stdout.fnmatch_lines("PASSED *read_task/declares/NOT_FOUND*")
    assert result.ret == 0


def test_it_is_there_without_being_asked_for(project: pytest.Pytester) -> None:
    write(project, "fastmcp", PROTECTED)

    result = project.runpytest_subprocess("-p", "no:cacheprovider", "-rA", "-k", "declares or empty")

    result.stdout.fnmatch_lines("PASSED *read_task/declares/NOT_FOUND*")
    assert result.ret == 0


def test_a_broken_contract_tells_the_one_broken_expectation_and_how_to_mend_it(project: pytest.Pytester) -> None:
    write(project, "fastmcp", TOOLS, PLAIN_SUITE)

    result = run(project, "-k", "missing_field")

    told = [line.removeprefix("E   ").strip() for line in result.outlines if line.startswith("E ")]
    call = "read_task(), the required field task_id is left out"
    assert told == [
        f"AssertionError: {call}: only plain text: a program has to guess",
        "read as: VALIDATION MISSING_REQUIRED_FIELD (guessed from its words)",
        "text: 1 validation error for call[read_task]",
        "task_id",
        "Missing required argument [type=missing_argument, input_value={}, input_type=dict]",
        "For further information visit https://errors.pydantic.dev/2.14/v/missing_argument",
        "fix: Give failures a type, a code and field paths that programs can read.",
    ]
    assert result.parseoutcomes()["failed"] == 1


def test_a_declared_code_that_nothing_provokes_fails(project: pytest.Pytester) -> None:
    write(project, "fastmcp", PROTECTED, PLAIN_SUITE)

    result = run(project, "-k", "declares")

    told = [line.removeprefix("E   ").strip() for line in result.outlines if line.startswith("E ")]
    assert told == [
        "AssertionError: read_task declares NOT_FOUND, and nothing provokes it",
        'fix: give arguments in the fixture failwell_provocations: {("read_task", "NOT_FOUND"): {…}}',
    ]


def test_a_code_that_is_not_the_declared_one_fails(project: pytest.Pytester) -> None:
    write(
        project,
        "fastmcp",
        PROTECTED.replace("raises(fw.NotFound)", 'raises("TASK_GONE")'),
        SUITE.replace("NOT_FOUND", "TASK_GONE"),
    )

    result = run(project, "-k", "declares")

    result.stdout.fnmatch_lines(
        ["E*AssertionError: the code is NOT_FOUND, not TASK_GONE", "E*read as: NOT_FOUND NOT_FOUND"]
    )


def test_a_provocation_of_what_no_tool_declares_is_told(project: pytest.Pytester) -> None:
    write(project, "fastmcp", PROTECTED, SUITE.replace('"NOT_FOUND"', '"DEADLOCK"'))

    result = run(project, "-k", "declares")

    result.stdout.fnmatch_lines("*failwell_provocations has cases that no tool declares: DEADLOCK of read_task")


def test_probes_of_a_file_provoke_declared_codes(project: pytest.Pytester) -> None:
    write(project, "fastmcp", PROTECTED, PLAIN_SUITE)
    project.makefile(
        ".toml",
        probes='[[probe]]\nname = "no such task"\ntool = "read_task"\narguments = { task_id = 404 }\n'
        'expect = { code = "NOT_FOUND" }\n',
    )
    project.makeini("[pytest]\nfailwell_server = tasks_server:server\nfailwell_probes = probes.toml\n")

    result = run(project, "-k", "declares")

    assert result.parseoutcomes()["passed"] == 1


def test_nothing_more_is_sent_to_a_writing_tool_that_ran_on_a_wrong_call(project: pytest.Pytester) -> None:
    counting = """
from mcp.server.lowlevel import Server
from mcp import types

RAN = []

async def list_tools(context, params):
    schema = {"type": "object", "required": ["a", "b"],
              "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    return types.ListToolsResult(tools=[types.Tool(name="write", input_schema=schema)])

async def call_tool(context, params):
    RAN.append(params.arguments)
    return types.CallToolResult(content=[types.TextContent(type="text", text="done")])

server = Server("careless", on_list_tools=list_tools, on_call_tool=call_tool)
"""
    count = "def test_ran_once():\n    from careless import RAN\n    assert len(RAN) == 1\n"
    project.makepyfile(careless=counting, test_a=PLAIN_SUITE, test_b=count)
    project.makeini("[pytest]\nfailwell_server = careless:server\n")

    result = run(project)

    outcomes = result.parseoutcomes()
    assert (outcomes["failed"], outcomes["passed"]) == (1, 1)
    assert outcomes["skipped"] >= 5
    result.stdout.fnmatch_lines("*write may change something, and an earlier wrong call was not refused*")


def test_a_marker_gives_the_server_too_and_the_fixture_calls_it(project: pytest.Pytester) -> None:
    suite = """
import pytest
from failwell.pytest_plugin import assert_fails_well
from tasks_server import server

pytestmark = pytest.mark.failwell_server(server)

def test_no_such_task(failwell_server):
    failure = assert_fails_well(failwell_server.call("read_task", {"task_id": 404}), type="NOT_FOUND", code="NOT_FOUND")
    assert failure.suggestion == "Call list_tasks to see what exists."

def test_success(failwell_server):
    assert failwell_server.call("read_task", {"task_id": 1})["content"][0]["text"] == "a task"
    assert [tool["name"] for tool in failwell_server.tools] == ["read_task"]
"""
    write(project, "fastmcp", PROTECTED, suite, target="nobody:knows")

    assert run(project, "--strict-markers").parseoutcomes() == {"passed": 2}


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("", "*no server under test: mark the test with @pytest.mark.failwell_server(server), or set failwell_server*"),
        ("no_module:server", "*there is no server 'no_module:server': No module named 'no_module'*"),
        ("tasks_server:nothing", "*there is no server 'tasks_server:nothing': *no attribute 'nothing'*"),
        ("tasks_server:fw.Failure", "*expected a server of fastmcp or the mcp SDK, a command or a URL, not *"),
        ("no-such-program --flag", "*cannot start 'no-such-program': No such file or directory*"),
    ],
)
def test_a_server_that_is_not_there_is_told_in_one_line(project: pytest.Pytester, target: str, told: str) -> None:
    write(project, "fastmcp", PROTECTED, target=target)

    result = run(project)

    result.stdout.fnmatch_lines(told)
    assert result.ret == 2
    assert "Traceback" not in result.stdout.str()


def test_faults_reach_the_tool_as_real_failures_of_its_upstream(project: pytest.Pytester) -> None:
    weather = """
import os
import failwell as fw
import httpx
from mcp.types import ToolAnnotations

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
@fw.raises(fw.RateLimited, "CONNECTION_REFUSED")
def weather(city: str) -> str:
    response = httpx.get(os.environ["WEATHER_URL"], timeout=5)
    response.raise_for_status()
    return response.text

fw.protect(server)
"""
    suite = """
import pytest

@pytest.fixture(autouse=True)
def upstream(monkeypatch, failwell_faults):
    monkeypatch.setenv("WEATHER_URL", failwell_faults.url)

@pytest.fixture
def failwell_provocations(failwell_faults):
    def limited():
        failwell_faults.rate_limited(retry_after=7)
        return {"city": "Berlin"}

    def down():
        failwell_faults.refused()
        return {"city": "Berlin"}

    return {("weather", "RATE_LIMITED"): limited, ("weather", "CONNECTION_REFUSED"): down}

def test_contract(failwell_case):
    failwell_case.check()
"""
    write(project, "fastmcp", weather, suite)

    result = run(project)

    result.stdout.fnmatch_lines(
        ["PASSED *weather/declares/RATE_LIMITED*", "PASSED *weather/declares/CONNECTION_REFUSED*"]
    )
    assert result.ret == 0


def test_a_run_that_does_not_use_it_imports_nothing_but_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text(
        "import sys\ndef test_modules():\n"
        "    ours = sorted(name for name in sys.modules if name.startswith('failwell'))\n"
        "    assert ours == ['failwell', 'failwell._lazy', 'failwell.pytest_plugin']\n"
        "    assert not {'msgspec', 'mcp', 'jsonschema_rs'} & sys.modules.keys()\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "failwell.pytest_plugin",
        "-p",
        "no:cacheprovider",
        str(tmp_path),
    ]
    quiet = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": "/usr/bin:/bin"}

    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=quiet)

    assert done.returncode == 0, done.stdout


def test_the_files_of_the_manual_pass_as_they_are_shown(project: pytest.Pytester) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "testing.md").read_text(encoding="utf-8")
    files = re.findall(r"```python\n# (\w+)\.py\n(.*?)```", page, re.DOTALL)
    assert [name for name, _ in files] == ["weather_server", "test_weather", "test_contract"]
    project.makepyfile(**dict(files))
    project.makeini("[pytest]\nfailwell_server = weather_server:server\n")

    result = run(project)

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["PASSED *test_contract[[]forecast/declares/*", "PASSED test_weather.py::test_a_city_that_does_not_exist"],
        consecutive=False,
    )


GOOD = fw.encode(fw.NotFound("Task 7 does not exist.", suggestion="Call list_tasks.", actions=["list_tasks"]))
WRONG_INPUT = fw.check_arguments(
    {}, {"type": "object", "required": ["task_id"], "properties": {"task_id": {"type": "integer"}}}, tool="read_task"
)


def text(words: str, *, flagged: bool = True) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], "isError": flagged}


@pytest.mark.parametrize(
    ("result", "expected", "told"),
    [
        (GOOD, {"code": "GONE"}, "the code is NOT_FOUND, not GONE"),
        (GOOD, {"type": "TRANSIENT"}, "the type is NOT_FOUND, not TRANSIENT"),
        (fw.encode(WRONG_INPUT or fw.error("x")), {"field": "owner"}, "no field problem for owner"),
        (
            text("all is well", flagged=False),
            {},
            "the call succeeded, though its arguments break the tool's own schema",
        ),
        (text("Something went wrong"), {}, "only plain text: a program has to guess"),
        (fw.success("fine"), {}, "the call succeeded, though its arguments break the tool's own schema"),
    ],
)
def test_only_the_first_broken_expectation_is_told(result: Any, expected: dict[str, str], told: str) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_fails_well(result, **expected)

    assert str(caught.value).splitlines()[0] == told


@pytest.mark.parametrize(
    "result",
    [
        GOOD,
        {"jsonrpc": "2.0", "id": 1, "result": GOOD},
        fw.NotFound("Task 7 does not exist.", suggestion="Call list_tasks."),
    ],
    ids=["wire", "rpc", "exception"],
)
def test_a_failure_in_any_form_is_returned_if_it_is_well(result: Any) -> None:
    failure = assert_fails_well(result, type="NOT_FOUND", code="NOT_FOUND")

    assert (failure.code, failure.suggestion) == ("NOT_FOUND", "Call list_tasks.")


def test_what_clients_of_the_sdks_give_is_understood() -> None:
    server = FastMCP("tasks")

    @server.tool
    def read_task(task_id: int) -> str:
        raise fw.NotFound("Task 7 does not exist.", suggestion="Call list_tasks.")

    fw.protect(server)

    async def both() -> tuple[Any, Any]:
        async with Client(server) as client:
            result = await client.call_tool("read_task", {"task_id": 7}, raise_on_error=False)
            try:
                await client.call_tool("read_task", {"task_id": 7})
            except ToolError as exc:
                return result, exc
        raise AssertionError("the client did not raise")

    for given in asyncio.run(both()):
        assert assert_fails_well(given, code="NOT_FOUND").message == "Task 7 does not exist."


FAULTS: dict[str, tuple[Callable[[Faults], None], str]] = {
    "rate limited": (lambda faults: faults.rate_limited(retry_after=7), "RATE_LIMITED"),
    "broken": (lambda faults: faults.broken(503), "SERVICE_UNAVAILABLE"),
    "garbage": (Faults.garbage, "CONNECTION_LOST"),
    "cut off": (Faults.cut_off, "CONNECTION_LOST"),
    "silent": (Faults.silent, "UPSTREAM_TIMEOUT"),
    "reset": (Faults.reset, "CONNECTION_LOST"),
    "refused": (Faults.refused, "CONNECTION_REFUSED"),
}


@pytest.mark.parametrize("client", [httpx, httpx2, requests], ids=["httpx", "httpx2", "requests"])
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_fails_real_clients_in_its_way(client: Any, fault: str) -> None:
    inject, code = FAULTS[fault]
    with Faults() as faults:
        inject(faults)

        with pytest.raises(Exception) as caught:  # noqa: PT011 - each client has classes of its own
            client.get(faults.url, timeout=0.2 if fault == "silent" else 30).raise_for_status()

        found = fw.from_exception(caught.value)
        assert found.code == code
        assert found.retry_after == (7 if fault == "rate limited" else None)
        faults.answer(200, {"back": True})
        assert client.get(faults.url, timeout=30).json() == {"back": True}


def test_faults_remember_what_was_asked() -> None:
    with Faults() as faults:
        httpx.post(f"{faults.url}/tasks?x=1", content=b"hello", timeout=30)

    assert faults.requests == [("POST", "/tasks?x=1", b"hello")]


def test_a_connection_serves_tests_with_an_event_loop_too() -> None:
    server = FastMCP("tasks")
    server.tool(lambda: "fine", name="ok")

    async def use(connection: ServerConnection) -> dict[str, Any]:
        return await connection.acall("ok")

    with ServerConnection(lambda: server) as connection:
        assert asyncio.run(use(connection))["content"][0]["text"] == "fine"
    with pytest.raises(ConnectionError, match="closed"):
        connection.call("ok")


def test_a_server_whose_start_fails_is_told() -> None:
    @asynccontextmanager
    async def broken(server: Any) -> Any:
        raise RuntimeError("no database")
        yield

    with pytest.raises(BadServer, match="the server did not start: RuntimeError: no database"):
        ServerConnection(FastMCP("tasks", lifespan=broken))
