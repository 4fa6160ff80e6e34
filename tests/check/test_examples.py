"""Our own example servers fail well in every dialect."""

import sys
from pathlib import Path

import pytest

from failwell.check.report import Report
from failwell.dialects import DIALECTS
from tests.check.servers import EXAMPLES, checked, failed_grades

_SERVERS = ("fastmcp_server", "mcp_server", "mcp_lowlevel_server")


def in_dialect(server: str, dialect: str, folder: Path) -> Report:
    source = (EXAMPLES / f"{server}.py").read_text()
    spoken = source.replace("fw.protect(server", f"fw.protect(server, dialect={dialect!r}")
    assert spoken != source
    program = folder / f"{server}.py"
    program.write_text(spoken)
    return checked([sys.executable, str(program)])


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "meta"])
@pytest.mark.parametrize("server", _SERVERS)
def test_an_example_has_the_full_score(server: str, dialect: str, tmp_path: Path) -> None:
    report = in_dialect(server, dialect, tmp_path)

    assert failed_grades(report) == set()
    assert report.score == 100


@pytest.mark.parametrize("server", _SERVERS)
def test_meta_loses_only_what_its_text_cannot_say(server: str, tmp_path: Path) -> None:
    report = in_dialect(server, "meta", tmp_path)

    assert failed_grades(report) == {"says_retry", "lists_options"}
    assert report.channels["machine"] == report.channels["call"] == 100
    assert 90 < report.score < 100
