"""The workflow in examples/ci: its own steps are run for real, on a server that fails well and on one that does not."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW = yaml.safe_load((ROOT / "examples" / "ci" / "check.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["check"]["steps"]
INSTALL, CHECK = (step["run"] for step in STEPS if "run" in step)
REPORTS = {"failures.xml", "failures.sarif", "failures.html"}


def checked(server: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    shutil.copy(server, folder / "server.py")
    scripts = Path(sys.executable).parent
    env = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-e", "-c", CHECK], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def test_what_it_installs_exists() -> None:
    [extras] = re.fullmatch(r"pip install 'failwell\[([\w,-]+)\]'", INSTALL).groups()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_it_uploads_what_the_check_writes_even_if_it_fails() -> None:
    uploads = {step["uses"].partition("@")[0]: step for step in STEPS if "upload" in step.get("uses", "")}
    paths = uploads["actions/upload-artifact"]["with"]["path"].split()

    assert {*paths, uploads["github/codeql-action/upload-sarif"]["with"]["sarif_file"]} == REPORTS
    assert {step["if"] for step in uploads.values()} == {"${{ !cancelled() }}"}
    assert WORKFLOW["permissions"]["security-events"] == "write"


@pytest.mark.parametrize(("server", "code"), [("examples/tasks/server.py", 0), ("examples/tasks/bare.py", 1)])
def test_it_passes_a_server_that_fails_well_and_no_other(server: str, code: int, tmp_path: Path) -> None:
    done = checked(ROOT / server, tmp_path)

    assert done.returncode == code, done.stderr
    assert {path.name for path in tmp_path.iterdir()} >= REPORTS
    findings = json.loads((tmp_path / "failures.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert ("typed" in {finding["ruleId"] for finding in findings}) == bool(code)
    assert ET.parse(tmp_path / "failures.xml").getroot().tag == "testsuites"
