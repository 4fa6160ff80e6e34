"""What the figures were measured on, without anything that names the machine or a place on it."""

import os
import platform
from importlib import metadata
from pathlib import Path

# What is measured, and what stands beside it.
_PACKAGES = (
    "aiohttp",
    "failwell",
    "fastmcp",
    "google-api-core",
    "jsonschema",
    "jsonschema-rs",
    "mcp",
    "mcp-rescue",
    "msgspec",
    "pydantic",
    "redis",
    "redress",
    "sqlalchemy",
    "stamina",
    "tenacity",
    "uvloop",
)


def describe() -> dict[str, str]:
    """Return processor, cores, system, Python and the versions of what is compared."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": _system(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        **{name: _version(name) for name in _PACKAGES},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return f"{next(names, 'unknown')} ({platform.machine()})"


def _system() -> str:
    try:
        return f"{platform.system()}, {platform.freedesktop_os_release()['PRETTY_NAME']}"
    except (OSError, KeyError):
        return platform.system()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
