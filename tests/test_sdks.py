"""One table of the SDKs: their versions, and the modules that handle their servers and sessions."""

import re
import tomllib
from importlib import import_module, metadata
from pathlib import Path

import pytest

from failwell import _sdks

pytestmark = pytest.mark.table

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src/failwell"


@pytest.mark.parametrize("package", _sdks.SUPPORTED)
def test_the_extra_of_an_sdk_installs_the_versions_that_are_supported(package: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    least, below = (".".join(map(str, version)) for version in _sdks.SUPPORTED[package])

    assert project["optional-dependencies"][package] == [f"{package}>={least},<{below}"]


@pytest.mark.parametrize("package", _sdks.SUPPORTED)
def test_the_least_version_of_an_sdk_stands_in_the_table_alone(package: str) -> None:
    least = re.escape(".".join(map(str, _sdks.SUPPORTED[package][0])))
    said = re.compile(rf"(?<![\w.]){least}(?![\w.]*\d)")

    assert [path.name for path in SOURCES.rglob("*.py") if said.search(path.read_text(encoding="utf-8"))] == []
    assert said.search(_sdks.needs(package))


@pytest.mark.parametrize("name", sorted(set(_sdks.SERVERS.values())))
def test_what_handles_a_server_can_be_attached_to_it(name: str) -> None:
    assert callable(import_module(f"failwell.sdk.{name}").attach)


@pytest.mark.parametrize("name", sorted(set(_sdks.SESSIONS.values())))
def test_what_handles_a_session_can_wrap_it(name: str) -> None:
    assert callable(import_module(f"failwell.sdk.{name}").wrap)


@pytest.mark.parametrize(("package", "name"), [*_sdks.SERVERS, *_sdks.SESSIONS])
def test_every_class_in_the_table_is_one_of_an_sdk_of_the_table(package: str, name: str) -> None:
    assert package in _sdks.SUPPORTED


def test_only_the_modules_of_the_package_sdk_ask_for_the_version_of_an_sdk() -> None:
    asking = {
        path.relative_to(SOURCES).parts[0]
        for path in SOURCES.rglob("*.py")
        if re.search(r"\bsupported_version\(|metadata\.version\(", path.read_text(encoding="utf-8"))
    }

    assert asking == {"_sdks.py", "client", "sdk"}


def test_the_small_distribution_of_fastmcp_counts_as_fastmcp(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "fastmcp-slim":
            return "4.1.8"
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)

    assert _sdks.supported_version("fastmcp") == (4, 1, 8)
    with pytest.raises(metadata.PackageNotFoundError):
        _sdks.supported_version("mcp")
