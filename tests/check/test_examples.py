"""Our own example servers fail well in every dialect."""

import asyncio
import sys
from typing import Any

import pytest

from failwell.check.peers.memory import MemoryPeer
from failwell.check.report import Report
from failwell.check.runner import CheckPlan, check
from failwell.dialects import DIALECTS
from tests.check.servers import EXAMPLES, PATIENT, checked, failed_grades

_SERVERS = ("fastmcp_server", "mcp_server", "mcp_lowlevel_server")


def in_dialect(server: str, dialect: str) -> Report:
    """What a check of an example finds that speaks a dialect. In memory: processes are started once, below."""
    source = (EXAMPLES / f"{server}.py").read_text()
    spoken = source.replace("fw.protect(server", f"fw.protect(server, dialect={dialect!r}")
    assert spoken != source
    module: dict[str, Any] = {"__name__": server}
    exec(compile(spoken, f"{server}.py", "exec"), module)
    return asyncio.run(check(lambda: MemoryPeer.start(module["server"]), CheckPlan(limits=PATIENT)))


@pytest.mark.parametrize("server", _SERVERS)
def test_an_example_as_it_is_has_the_full_score(server: str) -> None:
    report = checked([sys.executable, str(EXAMPLES / f"{server}.py")])

    assert (failed_grades(report), report.score) == (set(), 100)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("server", _SERVERS)
def test_an_example_has_the_full_score_in_each_dialect(server: str, dialect: str) -> None:
    report = in_dialect(server, dialect)

    assert failed_grades(report) == set()
    assert report.score == 100
