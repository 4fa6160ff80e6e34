"""The command that a host runs to start the proxy."""

import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from failwell.hosts.document import BadConfig

_PASSING = ("archive-v0", "builds-v0", "environments-v2", ".cache", "Caches")
"""Folders of environments that uvx and pipx make for one run, and remove some day."""

NEEDS_HTTP = "the proxy in front of a URL needs aiohttp: pip install 'failwell[http-proxy]'"


def portable_command(*, is_url: bool) -> list[str]:
    """Return a command that works on every machine with uv: for files that a team shares."""
    return ["uvx", "--from", "failwell[http-proxy]", "failwell"] if is_url else ["uvx", "failwell"]


def local_command(
    *,
    is_url: bool,
    executable: Path = Path(sys.executable),
    which: Callable[[str], str | None] = shutil.which,
    has_http: bool | None = None,
) -> list[str]:
    """Return a command with an absolute path, as hosts that were not started from a shell have no useful PATH.

    Raises:
        BadConfig: failwell is not installed in a place that lasts, or lacks what a URL needs.
    """
    if any(part in _PASSING for part in executable.parts):
        uvx = which("uvx")
        if uvx is None:
            raise BadConfig(
                "failwell runs from a folder that will be removed: install it with uv tool install failwell"
            )
        return [uvx, *portable_command(is_url=is_url)[1:]]
    if is_url and not (find_spec("aiohttp") is not None if has_http is None else has_http):
        raise BadConfig(NEEDS_HTTP)
    script = executable.with_name("failwell.exe" if executable.suffix == ".exe" else "failwell")
    return [str(script)] if script.is_file() else [str(executable), "-m", "failwell"]
