"""The stranger's path: what is published is installed into an empty environment, and its first pages are followed.

Run by `nox -s stranger`: it takes longer than a test should.
"""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import failwell as fw
from tests.matrix.stdio import Wire
from tests.stranger.pages import follow

ROOT = Path(__file__).parents[2]
PAGES = ("server", "agent", "proxy", "check")
SECRETS = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----\n[A-Za-z0-9+/=\n]{200}")
UNWANTED = re.compile(
    r"(^|/)(\.git|\.venv|\.env|\.nox|\.coverage|__pycache__|\.pypirc|node_modules)(/|$)|\.(pyc|pem|key)$"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    [path] = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a shell with an environment: the first page finds it empty, the others go on in it."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "NOX"))}
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return kept | {"PATH": path, "PIP_CONSTRAINT": str(ROOT / "constraints.txt"), "TERM": "dumb", "COLUMNS": "80"}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_to_start_with_can_be_followed_to_the_letter(
    page: str, wheel: Path, env: dict[str, str], tmp_path: Path
) -> None:
    compared = follow((ROOT / "docs" / "start" / f"{page}.md").read_text(encoding="utf-8"), tmp_path, wheel, env)

    assert compared >= 2
    if page == "server":
        assert_fails_well(tmp_path, env)


def assert_fails_well(folder: Path, env: dict[str, str]) -> None:
    """Ask the server that the page has led to, and look at the bare wire."""
    with subprocess.Popen(
        ["python", "server.py"],
        cwd=folder,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            result = Wire(process, "handshake").call("find_task", {"task_id": "t-9"})
        finally:
            process.kill()

    assert result["isError"] is True
    assert result["content"][0]["text"] == "Task 't-9' does not exist.\nUse: list_tasks"
    assert result["_meta"]["dev.failwell/failure"]["code"] == "NOT_FOUND"


def test_the_wheel_holds_the_package_its_types_and_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        contents = {name: archive.read(name) for name in names}
    source = {f"failwell/{path.relative_to(ROOT / 'src/failwell')}" for path in (ROOT / "src/failwell").rglob("*.py")}
    [metadata] = (contents[name].decode() for name in names if name.endswith(".dist-info/METADATA"))

    assert {name.partition("/")[0] for name in names} == {"failwell", f"failwell-{fw.__version__}.dist-info"}
    assert {name for name in names if name.startswith("failwell/") and name.endswith(".py")} == source
    assert "failwell/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert "Requires-Dist: msgspec" in metadata
    assert [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line] == [
        "Requires-Dist: msgspec>=0.20"
    ]
    assert [name for name in names if UNWANTED.search(name) or SECRETS.search(contents[name])] == []


def test_the_source_distribution_holds_what_builds_and_tests_it_and_nothing_else(built: Path) -> None:
    [path] = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        files = [member for member in archive.getmembers() if member.isfile()]
        contents = {member.name.partition("/")[2]: archive.extractfile(member).read() for member in files}  # type: ignore[union-attr]  # a file has contents

    assert {
        "pyproject.toml",
        "Makefile",
        "constraints.txt",
        "noxfile.py",
        "LICENSE",
        "README.md",
        "src/failwell/py.typed",
    } <= set(contents)
    assert [name for name in contents if UNWANTED.search(name) or SECRETS.search(contents[name])] == []
