"""The command line: `failwell demo`, `codes`, `explain`, `read`, `convert`, `schema`."""

from failwell.cli.entry import main, run

__all__ = ["main", "run"]
