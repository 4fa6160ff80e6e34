"""The example servers run, and fail as they are meant to."""

from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from tests.matrix import sdks, stdio

FOLDER = Path(__file__).parents[2] / "examples" / "servers"
NEEDS = {"fastmcp_server.py": "fastmcp", "mcp_server.py": "mcp", "mcp_lowlevel_server.py": "lowlevel"}


def test_every_example_is_run() -> None:
    assert {path.name for path in FOLDER.glob("*.py")} == set(NEEDS)


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_fails_well(name: str) -> None:
    if NEEDS[name] not in sdks.KINDS or (NEEDS[name] != "fastmcp" and sdks.HAS_MCP_1):
        pytest.skip("made for another SDK")

    with stdio.started(FOLDER / name) as client:
        read, missing, wrong, taken, crash, unknown = (
            client.call(tool, arguments)
            for tool, arguments in (
                ("read_task", {"task": "t-1"}),
                ("read_task", {"task": "t-9"}),
                ("claim_task", {"tsk": "t-1", "hours": "many"}),
                ("claim_task", {"task": "t-1", "hours": 9}),
                ("claim_task", {"task": "t-9", "hours": 1}),
                ("read_tasks", {}),
            )
        )
        listed = client.request("tools/list", {})["result"]["tools"]

    assert read["content"][0]["text"] == "write the report"
    assert (seen(missing).code, seen(missing).actions) == ("NOT_FOUND", ("list_tasks",))
    assert {problem.path: problem.kind for problem in seen(wrong).fields} == {
        "task": "missing",
        "hours": "type",
        "tsk": "unknown",
    }
    assert (seen(taken).code, seen(taken).details) == ("CONFLICT", {"most": 8})
    assert (seen(crash).code, bool(seen(crash).id)) == ("INTERNAL_ERROR", True)
    assert (seen(unknown).code, seen(unknown).actions[0]) == ("UNKNOWN_TOOL", "read_task")
    assert listed[0]["_meta"]["dev.failwell/raises"][0]["code"] == "NOT_FOUND"


def seen(result: dict[str, Any]) -> fw.Failure:
    found = fw.read(result)
    assert found is not None
    return found
