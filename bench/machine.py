"""What the figures were measured on, without anything that names the machine or a place on it."""

import math
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from msgspec import Struct

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


SAMPLES, WORK = 60, 40_000
MOST_WAITING, MOST_SPREAD = 0.05, 0.10


class Noise(Struct, frozen=True):
    """How much a machine disturbs what is measured on it.

    `waiting` is the share of time that a busy process did not get the processor; `spread` is how far the processor time
    of the same work reaches from its median, for all but the fastest and the slowest tenth.
    """

    waiting: float
    spread: float

    @property
    def is_quiet(self) -> bool:
        """Whether figures that are measured now say more about us than about others."""
        return self.waiting <= MOST_WAITING and self.spread <= MOST_SPREAD

    def __str__(self) -> str:
        return f"{self.waiting:.0%} of the time spent waiting for the processor, {self.spread:.0%} spread"


def listen(clock: Callable[[], float] = time.perf_counter, processor: Callable[[], float] = time.process_time) -> Noise:
    """Measure the noise: the same work again and again, about half a second of it."""
    took: list[float] = []
    start, used = clock(), processor()
    for _ in range(SAMPLES):
        before = processor()
        sum(range(WORK))
        took.append(processor() - before)
    elapsed, busy = clock() - start, processor() - used
    waiting = max(1 - busy / elapsed, 0.0) if elapsed else math.inf
    tenths = statistics.quantiles(took, n=10)
    median = statistics.median(took)
    return Noise(waiting, max(tenths[-1] - median, median - tenths[0]) / median if median else math.inf)


def describe() -> dict[str, str]:
    """Return processor, cores, system, Python and the versions of what is compared."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": _system(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        **{name: _version(name) for name in _PACKAGES},
    }


def commit() -> str | None:
    """Return the commit that is measured, with a plus sign if files were changed since; None outside a repository."""
    try:
        ran = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
            capture_output=True, text=True, check=True, cwd=Path(__file__).parent,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return None
    return ran.stdout.strip()


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
