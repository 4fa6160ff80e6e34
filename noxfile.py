"""The tests of protected servers against every supported SDK, each in an environment of its own: `make matrix`."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.reuse_venv = "yes"

SDKS = ("mcp==1.21.2", "mcp==1.30.0", "mcp==2.3.0", "fastmcp==2.14.7", "fastmcp==3.4.10", "fastmcp==4.1.2")
NEWEST = ("mcp==2.3.0", "fastmcp==4.1.2")
OLDEST_PYTHON, NEWER_PYTHONS = "3.11", ("3.12", "3.13", "3.14")

# The words of errors differ between Pythons; the oldest one's stand in the docs, and are compared unless they are to be
# written anew (FAILWELL_TABLE=write).
OLDEST_S_TABLE = {"FAILWELL_TABLE": os.environ.get("FAILWELL_TABLE", "compare")}
NO_TABLE = {"FAILWELL_TABLE": ""}

# What the tests need beside the SDK. Its constraints, `pip freeze` of an environment that passed, are one file per SDK.
NEEDS = ("jsonschema-rs", "pytest", "starlette", "uvicorn")
CONSTRAINTS = Path("tests/matrix/constraints")


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


def install(session: nox.Session, sdk: str) -> None:
    """Install an SDK, failwell, and what the tests need, in the versions that are known to work together."""
    constraints = CONSTRAINTS / f"{sdk.replace('==', '-')}.txt"
    session.install(sdk, *NEEDS, "-e", ".[validation,pydantic]", env={"PIP_CONSTRAINT": str(constraints)})


def run(session: nox.Session, sdk: str, **env: str) -> None:
    """Install an SDK and run the tests with it."""
    install(session, sdk)
    session.run(
        *("python", "-m", "pytest", "tests/matrix", "--quiet", "--confcutdir", "tests/matrix"),
        *("--override-ini", "filterwarnings=default"),  # old SDKs warn about what they stand on
        env={"MATRIX_SDK": sdk.partition("==")[0], **env},
    )


FOUND = [path for version in NEWER_PYTHONS if (path := interpreter(version))]

nox.options.sessions = ["sdk", *(["newer"] if FOUND else []), "typescript"]


@nox.session(python=interpreter(OLDEST_PYTHON) or OLDEST_PYTHON)
@nox.parametrize("sdk", SDKS)
def sdk(session: nox.Session, sdk: str) -> None:
    """Test with one version of an SDK on the oldest Python."""
    run(session, sdk, **OLDEST_S_TABLE)


@nox.session(python=FOUND or NEWER_PYTHONS[-1])
@nox.parametrize("sdk", NEWEST)
def newer(session: nox.Session, sdk: str) -> None:
    """Test with the newest version of an SDK on every newer Python there is."""
    session.log(f"newer Pythons on this machine: {', '.join(FOUND) or 'none'}; wanted: {', '.join(NEWER_PYTHONS)}")
    run(session, sdk, **NO_TABLE)


@nox.session(python=interpreter(OLDEST_PYTHON) or OLDEST_PYTHON)
def typescript(session: nox.Session) -> None:
    """Call servers of the newest SDKs with the clients from npm. Needs node 20."""
    for sdk in NEWEST:
        install(session, sdk)
    session.run("python", "-m", "pytest", "tests/typescript/clients.py", "--quiet", "--confcutdir", "tests/typescript")


@nox.session(python=FOUND or NEWER_PYTHONS[-1])
@nox.parametrize("sdk", [sdk for sdk in SDKS if sdk not in NEWEST])
def older(session: nox.Session, sdk: str) -> None:
    """Test with an older version of an SDK on every newer Python there is. Not by default: `nox -s older`."""
    run(session, sdk, **NO_TABLE)
