"""What is published works without the checkout: each extra alone, each how-to guide and each example.

Run by `nox -s stranger`: it makes an environment for each extra.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.stranger.paths import ROOT, built, wheel

__all__ = ["built", "wheel"]

EXTRAS: list[str] = sorted(
    tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
)
PROGRAMS = {
    "all": "import failwell as fw; fw.check_arguments({}, {'type': 'object'})",
    "cli": "import failwell.cli.commands",
    "dashboard": "import failwell.cli.commands, failwell.dashboard.server",
    "demo": "import failwell.cli.commands, failwell.demo.runner",
    "fastmcp": "import failwell as fw, fastmcp; fw.protect(fastmcp.FastMCP('x'))",
    "http-proxy": "import failwell.proxy.http.gateway",
    "mcp": "import failwell as fw; from mcp.server import MCPServer; fw.protect(MCPServer('x'))",
    "metrics": "import failwell.metrics",
    "otel": "import failwell.integrations.opentelemetry",
    "otlp": "import failwell.records._otlp",
    "postgres": "import psycopg, failwell as fw; fw.records.RecordStore",
    "pydantic": "import failwell.integrations.pydantic",
    "pytest": "import failwell.pytest_plugin",
    "redis": "import failwell.retry._redis",
    "stamina": "import failwell.integrations.stamina",
    "telemetry": "import failwell as fw; fw.records.Recorder('sqlite:///calls.db').close()",
    "tenacity": "import failwell.integrations.tenacity",
    "validation": "import failwell as fw; fw.check_arguments({}, {'type': 'object'})",
}
"""What each extra makes possible."""

GUIDES = sorted((ROOT / "docs" / "howto").glob("*.md"))
# Guides whose programs need more than an environment: a server of somebody else, or pytest around them.
NOT_ALONE = {"testing"}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SERVERS = sorted((ROOT / "examples" / "servers").glob("*.py"))
# Programs that need the files beside them. Agents of frameworks are run by `nox -s stacks`, where these are installed.
IN_FOLDERS = [f"agents/{name}_agent.py" for name in ("fastmcp", "mcp", "stamina", "tenacity")] + ["tasks/compare.py"]


def environment(folder: Path, requirement: str) -> dict[str, str]:
    """Make an environment that holds a requirement, and return the variables of a shell in it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "NOX"))}
    env = kept | {"UV_CONSTRAINT": str(ROOT / "constraints.txt")}
    # Not pip, which the tutorials are followed with: it takes ten times as long, and this makes twenty environments.
    install = [sys.executable, "-m", "uv", "pip", "install", "--python", str(folder), "--quiet", requirement]
    subprocess.run(install, check=True, env=env, timeout=600)
    return env | {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def everything(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment(tmp_path_factory.mktemp("environment"), f"failwell[all,pytest] @ {wheel.as_uri()}")


def run(argv: list[str], folder: Path, env: dict[str, str]) -> None:
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_every_extra_is_tried() -> None:
    assert sorted(PROGRAMS) == EXTRAS


def test_what_is_uploaded_is_sound(built: Path) -> None:
    files = [str(path) for path in built.iterdir()]

    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True, timeout=120)


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_alone_makes_its_part_work(extra: str, wheel: Path, tmp_path: Path) -> None:
    env = environment(tmp_path / "environment", f"failwell[{extra}] @ {wheel.as_uri()}")

    run(["python", "-c", PROGRAMS[extra]], tmp_path, env)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_the_programs_of_a_guide_run_in_an_empty_folder(
    guide: Path, everything: dict[str, str], tmp_path: Path
) -> None:
    if guide.stem in NOT_ALONE:
        pytest.skip("its programs are tests")
    blocks = re.findall(r"^```python\n(.*?)^```$", guide.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "guide.py").write_text("\n".join(blocks), encoding="utf-8")

    run(["python", "guide.py"], tmp_path, everything)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_in_an_empty_folder(example: Path, everything: dict[str, str], tmp_path: Path) -> None:
    shutil.copy(example, tmp_path)

    run(["python", example.name], tmp_path, everything)


@pytest.mark.parametrize("program", IN_FOLDERS)
def test_an_example_runs_with_only_the_files_beside_it(
    program: str, everything: dict[str, str], tmp_path: Path
) -> None:
    folder, _, name = program.partition("/")
    shutil.copytree(ROOT / "examples" / folder, tmp_path / folder)

    run(["python", name], tmp_path / folder, everything)


@pytest.mark.parametrize("server", SERVERS, ids=lambda path: path.stem)
def test_an_example_of_a_server_can_be_asked(server: Path, everything: dict[str, str], tmp_path: Path) -> None:
    shutil.copy(server, tmp_path)

    arguments = ["--tool", "read_task", "--arguments", '{"task": "t-9"}']
    run(["failwell", "read", *arguments, "--", "python", server.name], tmp_path, everything)


def test_the_commands_of_the_image_run_and_end_by_a_signal(wheel: Path, tmp_path: Path) -> None:
    text = (ROOT / "examples" / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    (extras,) = re.findall(r"/source\[(.+?)\]", text)
    (check,) = re.findall(r"^    CMD (\[.+\])$", text, re.MULTILINE)
    env = environment(tmp_path / "image", f"failwell[{extras}] @ {wheel.as_uri()}")
    events = f"sqlite:///{tmp_path / 'calls.db'}"
    words = ["--url", "http://127.0.0.1:9/mcp", "--listen", "127.0.0.1:0", "--retry", "--events", events]
    gateway = subprocess.Popen(
        [shutil.which("failwell", path=env["PATH"]) or "", "proxy", *words], env=env, stderr=subprocess.PIPE, text=True
    )
    assert gateway.stderr is not None
    line = next(line for line in gateway.stderr if "listening on" in line)
    port = re.findall(r"127\.0\.0\.1:(\d+)/mcp", line)[0]
    run([part.replace(":8080", f":{port}") for part in json.loads(check)], tmp_path, env)
    gateway.terminate()
    gateway.communicate(timeout=60)

    assert gateway.returncode == 0
