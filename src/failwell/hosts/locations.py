"""The hosts, and where each keeps its configuration: one row per host."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple


class Host(NamedTuple):
    """A program that starts MCP servers.

    `files` are those of the user. Their first part is a folder of `_folders`; `*` stands for any name in a folder and
    for any key of a table. `project_file` lies in a project. `url_keys` are names of the address of a server elsewhere.
    """

    name: str
    title: str
    files: tuple[str, ...]
    project_file: str | None
    tables: tuple[tuple[str, ...], ...] = (("mcpServers",),)
    url_keys: tuple[str, ...] = ("url",)
    is_toml: bool = False


HOSTS = (
    Host(
        "claude-code",
        "Claude Code",
        ("{claude}/.claude.json",),
        ".mcp.json",
        tables=(("mcpServers",), ("projects", "*", "mcpServers")),
    ),
    Host("claude-desktop", "Claude Desktop", ("{settings}/Claude/claude_desktop_config.json",), None),
    Host("cursor", "Cursor", ("{home}/.cursor/mcp.json",), ".cursor/mcp.json"),
    Host(
        "vscode",
        "VS Code",
        (
            "{settings}/Code/User/mcp.json",
            "{settings}/Code/User/profiles/*/mcp.json",
            "{settings}/Code - Insiders/User/mcp.json",
            "{settings}/Code - Insiders/User/profiles/*/mcp.json",
        ),
        ".vscode/mcp.json",
        tables=(("servers",),),
    ),
    Host("windsurf", "Windsurf", ("{home}/.codeium/windsurf/mcp_config.json",), None, url_keys=("serverUrl", "url")),
    Host(
        "gemini",
        "Gemini CLI",
        ("{home}/.gemini/settings.json",),
        ".gemini/settings.json",
        url_keys=("httpUrl", "url"),
    ),
    Host(
        "codex", "Codex", ("{codex}/config.toml",), ".codex/config.toml", tables=(("mcp_servers",),), is_toml=True
    ),
)  # fmt: skip


class Location(NamedTuple):
    """A file of a host that exists."""

    host: Host
    file: Path
    is_project: bool


def find_files(
    *, home: Path, platform: str, environ: Mapping[str, str], project: Path | None = None
) -> Iterator[Location]:
    """Yield the files of all hosts that exist: those of the user, then those of a project."""
    seen: set[Path] = set()
    for location in _candidates(home, platform, environ, project):
        if location.file.is_file() and location.file not in seen:  # in the home folder a file is both
            seen.add(location.file)
            yield location


def _candidates(home: Path, platform: str, environ: Mapping[str, str], project: Path | None) -> Iterator[Location]:
    folders = {name: str(folder) for name, folder in _folders(home, platform, environ).items()}
    for host in HOSTS:
        for pattern in host.files:
            folder, _, rest = pattern.partition("/")
            base = Path(folder.format_map(folders))
            found = sorted(base.glob(rest)) if "*" in rest else [base / rest]
            yield from (Location(host, file, is_project=False) for file in found)
        if project is not None and host.project_file is not None:
            yield Location(host, project / host.project_file, is_project=True)


def state_folder(*, home: Path, platform: str, environ: Mapping[str, str]) -> Path:
    """Return where backups are kept, and what is needed to take changes back."""
    if platform == "win32":
        base = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(environ.get("XDG_STATE_HOME") or home / ".local" / "state")
    return base / "failwell" / "hosts"


def _folders(home: Path, platform: str, environ: Mapping[str, str]) -> dict[str, Path]:
    if platform == "win32":
        settings = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif platform == "darwin":
        settings = home / "Library" / "Application Support"
    else:
        settings = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return {
        "home": home,
        "settings": settings,
        "claude": Path(environ.get("CLAUDE_CONFIG_DIR") or home),
        "codex": Path(environ.get("CODEX_HOME") or home / ".codex"),
    }
