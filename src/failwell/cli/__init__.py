"""The command line: `failwell demo`, `codes`, `explain`, `read`, `convert`, `schema`, `check`, `proxy`."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from failwell.cli.runner import run

__all__ = ["main", "run"]


def main() -> None:
    """Run the command that the process was started with, and exit.

    A proxy is part of every start of a host: it loads nothing of the other commands.
    """
    if sys.argv[1:2] == ["proxy"]:
        from failwell.proxy.command import run_and_exit

        run_and_exit(sys.argv[2:])
    from failwell.cli.runner import main as run_command

    run_command()


def __getattr__(name: str) -> object:
    if name == "run":
        from failwell.cli.runner import run

        return run
    raise AttributeError(f"module 'failwell.cli' has no attribute {name!r}")
