"""The pytest plugin: a server under test, failing upstreams, and one test per case of the server's contract.

Loaded by every pytest run where failwell is installed, so nothing but pytest is imported until a test asks for it.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from failwell.pytest_plugin.assertions import assert_fails_well
    from failwell.pytest_plugin.connection import ServerConnection
    from failwell.pytest_plugin.contract import BoundCase, Provocation
    from failwell.pytest_plugin.faults import Faults

__all__ = ["Faults", "ServerConnection", "assert_fails_well"]

_HOME = {"Faults": "faults", "ServerConnection": "connection", "assert_fails_well": "assertions"}
_MARKER = "failwell_server"
_COMPARED_BY_VALUE = (str, list, tuple)
_INI = {
    "failwell_server": "the server under test: module:name, a command or a URL",
    "failwell_probes": "a TOML file of calls that must fail, as `failwell check --probes` takes it",
    "failwell_values": "a TOML file of valid values for fields, as `failwell check --values` takes it",
}
_NO_SERVER = (
    "no server under test: mark the test with @pytest.mark.failwell_server(server), or set failwell_server in the "
    "configuration of pytest to module:name, a command or a URL"
)


class _Servers:
    """The servers of a run: each is started once, and ended with the run."""

    def __init__(self) -> None:
        self._connections: dict[str | int, tuple[ServerConnection, Any]] = {}
        self._unguarded: dict[int, set[str]] = {}
        self._stack = ExitStack()

    def connection(self, target: Any) -> "ServerConnection":
        from failwell.pytest_plugin.connection import ServerConnection

        key = repr(target) if type(target) in _COMPARED_BY_VALUE else id(target)
        if key not in self._connections:
            # The target is kept too: an id is only unique as long as its object lives.
            self._connections[key] = (self._stack.enter_context(ServerConnection(target)), target)
        return self._connections[key][0]

    def unguarded(self, connection: "ServerConnection") -> set[str]:
        """Return the tools of a server that may change something and did not refuse a wrong call."""
        return self._unguarded.setdefault(id(connection), set())

    def close(self) -> None:
        self._stack.close()


_SERVERS = pytest.StashKey[_Servers]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the settings."""
    for name, about in _INI.items():
        parser.addini(name, about)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", f"{_MARKER}(target): the server under test: an object, module:name, command or URL"
    )
    config.stash[_SERVERS] = _Servers()


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the servers of the run."""
    if _SERVERS in config.stash:
        config.stash[_SERVERS].close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each case of a server's contract, where `failwell_case` is asked for."""
    if "failwell_case" not in metafunc.fixturenames:
        return
    from failwell.check.peers import BadServer
    from failwell.pytest_plugin.contract import cases_of

    try:
        connection = _connection(metafunc.definition, metafunc.config)
        cases = cases_of(connection.tools, _plan(metafunc.config))
    except (BadServer, TypeError) as bad:
        raise pytest.UsageError(str(bad)) from None
    metafunc.parametrize("failwell_case", cases, ids=[case.id for case in cases], indirect=True)


@pytest.fixture
def failwell_server(request: pytest.FixtureRequest) -> "ServerConnection":
    """The server under test, connected: `call(tool, arguments)`, `await acall(tool, arguments)`, `tools`."""
    return _connection(request.node, request.config)


@pytest.fixture
def failwell_faults() -> Iterator["Faults"]:
    """An upstream on loopback that fails as it is told to; point the code under test at its `url`."""
    from failwell.pytest_plugin.faults import Faults

    with Faults() as faults:
        yield faults


@pytest.fixture
def failwell_provocations() -> "dict[tuple[str, str], Provocation]":
    """How to provoke what tools declare, by tool and code: arguments, or a function that returns them. Override it."""
    return {}


@pytest.fixture
def failwell_case(
    request: pytest.FixtureRequest,
    failwell_server: "ServerConnection",
    failwell_provocations: "dict[tuple[str, str], Provocation]",
) -> "BoundCase":
    """One case of the contract of the server under test; `check()` tries it."""
    from failwell.pytest_plugin.contract import BoundCase, declared_codes

    declared = {(tool["name"], code) for tool in failwell_server.tools for code in declared_codes(tool)}
    if stale := sorted(failwell_provocations.keys() - declared):
        listed = ", ".join(f"{code} of {tool}" for tool, code in stale)
        advice = "declare it with @fw.raises, and protect the server so that it is published"
        pytest.fail(f"failwell_provocations has cases that no tool declares: {listed}\n{advice}", pytrace=False)
    unguarded = request.config.stash[_SERVERS].unguarded(failwell_server)
    return BoundCase(request.param, failwell_server, failwell_provocations, unguarded=unguarded, skip=pytest.skip)


def _connection(node: Any, config: pytest.Config) -> "ServerConnection":
    marker = node.get_closest_marker(_MARKER)
    target: Any = marker.args[0] if marker and marker.args else config.getini("failwell_server")
    if not target:
        raise pytest.UsageError(_NO_SERVER)
    return config.stash[_SERVERS].connection(target)


def _plan(config: pytest.Config) -> Any:
    from failwell.check.probes.user_probes import read_probes, read_values
    from failwell.check.runner import CheckPlan

    probes, values = _file(config, "failwell_probes"), _file(config, "failwell_values")
    try:
        return CheckPlan(probes=read_probes(probes) if probes else (), values=read_values(values) if values else {})
    except ValueError as wrong:
        raise pytest.UsageError(f"failwell_probes or failwell_values: {wrong}") from None


def _file(config: pytest.Config, setting: str) -> str | None:
    name: str = config.getini(setting)
    if not name:
        return None
    path: Path = (config.inipath.parent if config.inipath else Path(config.rootpath)) / name
    try:
        return path.read_text(encoding="utf-8")
    except OSError as missing:
        raise pytest.UsageError(f"{setting}: {name}: {missing.strerror}") from None


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
