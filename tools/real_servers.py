"""The real servers that the recording tools start: published packages that work without a network and without keys.

Install them anywhere, and say where with `--bin` (more than once if they are in several places):

    pip install mcp-server-time mcp-server-git mcp-server-fetch markitdown-mcp office-word-mcp-server
    pip install "mcp<2" mcp-server-sqlite mcp-server-duckdb mcp-server-calculator mcp-shell-server
    npm install @modelcontextprotocol/server-{filesystem,memory,everything,sequential-thinking} mcp-server-commands
    npm install @kazuph/mcp-taskmanager mcp-hello-world mcp-shrimp-task-manager @cyanheads/git-mcp-server
    pip install mysql-mcp-server mcp-pdf-reader mcp-mathematics mcp-email-server elasticsearch-mcp-server
    pip install "mcp<2" mcp-text-editor mcp-server-http-request mcp-python-interpreter mcp-todo mcp-server-tree-sitter
    npm install mcp-ripgrep @bytebase/dbhub

Each line of `pip` needs an environment of its own. The databases of `mysql` and `elastic` are out of reach on purpose.
"""

import argparse
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple


class RealServer(NamedTuple):
    """A server: its name, its command with `{work}` for the working directory, and where its program is."""

    name: str
    command: tuple[str, ...]
    is_node: bool = False


SERVERS: dict[str, RealServer] = {
    server.name: server
    for server in (
        RealServer("time", ("mcp-server-time",)),
        RealServer("git", ("mcp-server-git",)),
        RealServer("fetch", ("mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips")),
        RealServer("markitdown", ("markitdown-mcp",)),
        RealServer("word", ("word_mcp_server",)),
        RealServer("sqlite", ("mcp-server-sqlite", "--db-path", "{work}/notes.db")),
        RealServer("duckdb", ("mcp-server-duckdb", "--db-path", "{work}/facts.duckdb")),
        RealServer("calculator", ("mcp-server-calculator",)),
        RealServer("shell", ("mcp-shell-server",)),
        RealServer("filesystem", ("mcp-server-filesystem", "{work}"), is_node=True),
        RealServer("memory", ("mcp-server-memory",), is_node=True),
        RealServer("everything", ("mcp-server-everything",), is_node=True),
        RealServer("thinking", ("mcp-server-sequential-thinking",), is_node=True),
        RealServer("commands", ("mcp-server-commands",), is_node=True),
        RealServer("tasks", ("mcp-taskmanager",), is_node=True),
        RealServer("hello", ("mcp-hello-world",), is_node=True),
        RealServer("planner", ("mcp-shrimp-task-manager",), is_node=True),
        RealServer("git-node", ("git-mcp-server",), is_node=True),
        RealServer("text-editor", ("mcp-text-editor",)),
        RealServer("todo", ("mcp-todo",)),
        RealServer("tree-sitter", ("mcp-server-tree-sitter",)),
        RealServer("python", ("mcp-python-interpreter", "--dir", "{work}")),
        RealServer("http", ("mcp-server-http-request",)),
        RealServer("math", ("mcp-mathematics",)),
        RealServer("pdf", ("mcp-pdf-reader",)),
        RealServer("email", ("mcp-email-server", "stdio")),
        RealServer("mysql", ("mysql_mcp_server",)),
        RealServer("elastic", ("elasticsearch-mcp-server",)),
        RealServer("ripgrep", ("mcp-ripgrep",), is_node=True),
        RealServer("dbhub", ("dbhub", "--demo"), is_node=True),
    )
}
ENVIRONMENT = {
    "ALLOW_COMMANDS": "ls,cat,echo,grep,head,wc,tail,sort,uname",
    "NO_COLOR": "1",
    "MYSQL_HOST": "127.0.0.1",
    "MYSQL_PORT": "9",
    "MYSQL_USER": "app",
    "MYSQL_PASSWORD": "none",
    "MYSQL_DATABASE": "shop",
    "ELASTICSEARCH_HOSTS": "http://127.0.0.1:9",
}


def options() -> argparse.ArgumentParser:
    """Return the options that the recording tools share."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", action="append", default=[], type=Path, help="where the servers' programs are")
    parser.add_argument("--work", required=True, type=Path, help="an empty directory to work in")
    return parser


def command_of(server: RealServer, places: list[Path], work: Path) -> list[str] | None:
    """Return the command that starts a server, or None if its program is not there."""
    program, *rest = server.command
    found = None
    for place in places:
        if server.is_node == (place.name == ".bin") and (place / program).exists():
            found = str(place / program)
    found = found or (None if places else shutil.which(program))
    return [found, *(part.format(work=work) for part in rest)] if found else None


def run(*command: str, cwd: Path) -> None:
    """Run a program that prepares something, quietly."""
    subprocess.run(command, cwd=cwd, check=True, capture_output=True)
