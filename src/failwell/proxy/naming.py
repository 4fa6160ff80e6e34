"""`name_of`: what records call a server that its operator did not name. Never a value of an option or a variable."""

import os
import re
from collections.abc import Sequence

from failwell.proxy.options import Options

_LAUNCHERS = frozenset(
    ("bun", "bunx", "deno", "docker", "node", "npm", "npx", "pipx", "pnpm", "pnpx", "podman", "python", "uv", "uvx")
)
_VERSION = re.compile(r"[\d.]+$")
_COMMANDS = frozenset(("dlx", "exec", "run", "tool", "x"))
_ALONE = frozenset(
    ("-i", "-t", "-it", "-ti", "-u", "-y", "--init", "--interactive", "--isolated", "--quiet", "--rm", "--tty", "--yes")
)
"""Options of launchers without a value."""
_WITH_VALUE = frozenset(
    (
        *("-e", "-p", "-v", "-w", "--cpus", "--directory", "--env", "--env-file", "--from", "--memory", "--mount"),
        *("--name", "--network", "--package", "--project", "--publish", "--python", "--user", "--volume", "--with"),
        "--workdir",
    )
)
_THEN_A_NAME = frozenset(("-m", "--"))


def name_of(options: Options) -> str:
    """Return what to call the server: what its operator calls it, or where it is, or what is started."""
    if options.name is not None:
        return options.name
    if options.url is not None:
        return _without_user(options.url.partition("?")[0])
    return _started(options.command)


def _without_user(url: str) -> str:
    scheme, colon, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{colon}{host.rpartition('@')[2]}{slash}{path}"


def _started(command: Sequence[str]) -> str:
    """Return the program, or what a launcher starts; in doubt, the launcher."""
    program, *words = command
    name = os.path.basename(program)
    if name == "env":
        rest = words[next((at for at, word in enumerate(words) if "=" not in word), len(words)) :]
        return _started(rest) if rest and rest[0][:1] != "-" else name
    if _VERSION.sub("", name) not in _LAUNCHERS:
        return name
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word in _WITH_VALUE:
            is_value = True
        elif word in _ALONE or word in _THEN_A_NAME or word in _COMMANDS or (word[:2] == "--" and "=" in word):
            continue
        else:
            return name if word[:1] == "-" or "=" in word else os.path.basename(word) or name
    return name
