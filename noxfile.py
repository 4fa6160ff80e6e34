"""The tests of protected servers against every supported SDK, each in an environment of its own: `make matrix`."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["sdk", "newer", "typescript"]

SDKS = ("mcp==1.21.2", "mcp==1.30.0", "mcp==2.3.0", "fastmcp==2.14.7", "fastmcp==3.4.10", "fastmcp==4.1.2")
NEWEST = ("mcp==2.3.0", "fastmcp==4.1.2")
OLDEST_PYTHON, NEWER_PYTHONS = "3.11", ("3.12", "3.13", "3.14")

# The words of errors differ between Pythons; the oldest one's stand in the docs, and are compared unless they are to be
# written anew (FAILWELL_TABLE=write).
OLDEST_S_TABLE = {"FAILWELL_TABLE": os.environ.get("FAILWELL_TABLE", "compare")}
NO_TABLE = {"FAILWELL_TABLE": ""}

# What all SDKs can share comes in the version that everything else is tested with.
SHARED = ("anyio", "jsonschema_rs", "msgspec", "pydantic", "pytest", "starlette", "uvicorn")


def interpreter(version: str) -> str | None:
    """Return a Python of a version that runs, also one that pyenv has and does not show; None if there is none."""
    found = shutil.which(f"python{version}")
    if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
        return found
    if not shutil.which("pyenv"):
        return None
    listed = subprocess.run(["pyenv", "versions", "--bare"], capture_output=True, text=True, check=False).stdout
    installed = [name for name in listed.split() if re.fullmatch(rf"{re.escape(version)}\.\d+", name)]
    if not installed:
        return None
    prefix = subprocess.run(["pyenv", "prefix", installed[-1]], capture_output=True, text=True, check=False).stdout
    return str(Path(prefix.strip()) / "bin" / "python")


def pinned() -> list[str]:
    """Return the shared packages with the versions that constraints.txt has for them."""
    lines = Path("constraints.txt").read_text().split()
    return [line for line in lines if line.partition("==")[0].lower().replace("-", "_") in SHARED]


def run(session: nox.Session, sdk: str, **env: str) -> None:
    """Install an SDK and run the tests with it."""
    # The constraints pin the newest SDK, so they do not hold here.
    session.install(sdk, *pinned(), "-e", ".[validation,pydantic]", env={"PIP_CONSTRAINT": ""})
    session.run(
        *("python", "-m", "pytest", "tests/matrix", "--quiet", "--confcutdir", "tests/matrix"),
        *("--override-ini", "filterwarnings=default"),  # old SDKs warn about what they stand on
        env={"MATRIX_SDK": sdk.partition("==")[0], **env},
    )


FOUND = [path for version in NEWER_PYTHONS if (path := interpreter(version))]


@nox.session(python=interpreter(OLDEST_PYTHON) or OLDEST_PYTHON)
@nox.parametrize("sdk", SDKS)
def sdk(session: nox.Session, sdk: str) -> None:
    """Test with one version of an SDK on the oldest Python."""
    run(session, sdk, **OLDEST_S_TABLE)


@nox.session(python=FOUND[-1:] or NEWER_PYTHONS[-1])
@nox.parametrize("sdk", NEWEST)
def newer(session: nox.Session, sdk: str) -> None:
    """Test with the newest version of an SDK on the newest Python there is."""
    session.log(f"newer Pythons on this machine: {', '.join(FOUND) or 'none'}; wanted: {', '.join(NEWER_PYTHONS)}")
    run(session, sdk, **NO_TABLE)


@nox.session(python=interpreter(OLDEST_PYTHON) or OLDEST_PYTHON)
def typescript(session: nox.Session) -> None:
    """Call servers of the newest SDKs with the clients from npm. Needs node 20."""
    session.install(*NEWEST, *pinned(), "-e", ".[validation,pydantic]", env={"PIP_CONSTRAINT": ""})
    session.run("python", "-m", "pytest", "tests/typescript/clients.py", "--quiet", "--confcutdir", "tests/typescript")


@nox.session(python=FOUND or NEWER_PYTHONS[-1])
@nox.parametrize("sdk", SDKS)
def every(session: nox.Session, sdk: str) -> None:
    """Test with one version of an SDK on every newer Python there is."""
    run(session, sdk, **NO_TABLE)
