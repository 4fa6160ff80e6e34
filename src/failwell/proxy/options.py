"""The options of `failwell proxy`, as one table, and the environment variables that their values may name."""

import os
import re
from collections.abc import Callable

TYPE_CHECKING = False

if TYPE_CHECKING:
    from failwell.retry._fleet import FleetLimits

_GRACE, _GRACE_OF_CALLS = 1.0, 4.0
DIALECTS = ("compact", "envelope", "flat", "meta", "xml")

USAGE = """\
Usage: failwell proxy [OPTIONS] -- COMMAND [ARGUMENTS]
       failwell proxy [OPTIONS] --url URL [--listen ADDRESS]

Start an MCP server, or stand in front of one that runs elsewhere. Everything passes through as it is, but the
failures of its tools become structured.

Example: failwell proxy --retry -- npx -y @modelcontextprotocol/server-filesystem /srv/data

Options:
"""


class BadOption(Exception):
    """The options make no sense; the text says which one, and why."""


class ProxyOptions:
    """What the operator wants. The command is the server to start."""

    def __init__(self) -> None:
        self.command: list[str] = []
        self.url: str | None = None
        self.listen: tuple[str, int] | None = None
        self.workers = 1
        self.header: tuple[tuple[str, str], ...] = ()
        self.allow_origin: tuple[str, ...] = ()
        self.dialect = "compact"
        self.flip_unflagged: tuple[str, ...] = ()
        self.validate = False
        self.retry = False
        self.retry_safe: tuple[str, ...] = ()
        self.attempts = 3
        self.deadline = 30.0
        self.limits: str | None = None
        self.restart = False
        self.events: str | None = None
        self.name: str | None = None
        self.dry_run = False
        self.quiet = False
        self.help = False
        self._grace: float | None = None

    @property
    def grace(self) -> float:
        """How long what runs may take to end: the server that was started, or the calls of a gateway."""
        if self._grace is not None:
            return self._grace
        return _GRACE if self.listen is None else _GRACE_OF_CALLS

    @grace.setter
    def grace(self, seconds: float) -> None:
        self._grace = seconds


def _dialect(text: str) -> str:
    if text not in DIALECTS:
        raise ValueError(f"must be one of {', '.join(DIALECTS)}")
    return text


def _names(text: str) -> tuple[str, ...]:
    found = tuple(name for part in text.split(",") if (name := part.strip()))
    if not found:
        raise ValueError("must name tools, separated by commas")
    return found


def _count(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text[:9]) <= 100):
        raise ValueError("must be a whole number from 1 to 100")
    return int(text)


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 86_400:
        raise ValueError("must be a number of seconds")
    return found


def _file(text: str) -> str:
    if not text:
        raise ValueError("must be a file, or the address of a store")
    return text


def _name(text: str) -> str:
    if not text.strip():
        raise ValueError("must be a name")
    return text


def _url(text: str) -> str:
    scheme, _, rest = text.partition("://")
    if scheme.lower() not in ("http", "https") or not rest.split("/")[0] or any(letter.isspace() for letter in text):
        raise ValueError("must be the address of a server, such as https://example.com/mcp")
    return text


def _store(text: str) -> str:
    scheme, _, rest = text.partition("://")
    if scheme.lower() not in ("redis", "rediss", "valkey", "valkeys", "unix") or not rest:
        raise ValueError("must be the address of a Redis or Valkey server, such as redis://localhost:6379/0")
    return text


def address(text: str) -> tuple[str, int]:
    """Return the host and the port in such an option.

    Raises:
        ValueError: there are none.
    """
    host, _, port = text.rpartition(":")
    if not (port.isdecimal() and int(port[:6]) < 65_536) or (":" in host and not host.startswith("[")):
        raise ValueError("must be a host and a port, such as 127.0.0.1:8080, or a port")
    return host.strip("[]") or "127.0.0.1", int(port)


def _header(text: str) -> tuple[tuple[str, str], ...]:
    name, colon, value = text.partition(":")
    is_sound = colon and name.replace("-", "").isalnum() and name.isascii() and value.strip().isprintable()
    if not is_sound:
        raise ValueError("must be a name and a value, such as 'Authorization: Bearer ${TOKEN}'")
    return ((name, value.strip()),)


# Options that may be given more than once.
_REPEATED = ("--header", "--allow-origin")
# Options whose value may hold a password.
_SECRET = ("--events", "--header", "--limits", "--url")

# Name, what stands for its value in the help (None for a switch), how the value is read, what it does.
TABLE = (
    ("--url", "URL", _url, "stand in front of a server that runs elsewhere"),
    ("--listen", "ADDRESS", address, "speak HTTP here, such as 127.0.0.1:8080, and not standard input and output"),
    ("--workers", "N", _count, "how many processes listen there, 1 unless told"),
    ("--header", "NAME:VALUE", _header, "send this to the URL too; ${NAME} stands for a variable"),
    ("--allow-origin", "ORIGIN,…", _names, "let pages of these origins in; * for all"),
    ("--dialect", "NAME", _dialect, f"how failures are written: {', '.join(DIALECTS)}"),
    ("--flip-unflagged", "TOOL,…", _names, "error texts of these tools are errors even if not flagged; * for all"),
    ("--validate", None, None, "refuse wrong arguments before they reach the server"),
    ("--retry", None, None, "make failed calls again where that is worth it and safe"),
    ("--retry-safe", "TOOL,…", _names, "these tools may run twice, whatever they say themselves"),
    ("--attempts", "N", _count, "how often a call is made at most, 3 unless told"),
    ("--deadline", "SECONDS", _seconds, "how long a call may take with its retries, 30 unless told"),
    ("--limits", "URL", _store, "share the limits of retries with other proxies, in a Redis; ${NAME} as for --header"),
    ("--restart", None, None, "start the server again if it dies"),
    (
        "--events",
        "WHERE",
        _file,
        "keep records of all calls: a file of JSON lines, sqlite:///FILE, postgresql://…, otlp:URL",
    ),
    ("--name", "NAME", _name, "what records call the server"),
    ("--dry-run", None, None, "report what would change, and change nothing"),
    ("--quiet", None, None, "no summary on standard error at the end"),
    ("--grace", "SECONDS", _seconds, "how long the server may take to end, 1 unless told; with --listen, calls: 4"),
    ("--help", None, None, "show this and exit"),
)
_BY_NAME = {row[0]: row for row in TABLE} | {"-h": TABLE[-1]}


def parse(argv: list[str]) -> ProxyOptions:
    """Return the options and the command.

    Raises:
        Misuse: an option is unknown or has no value that makes sense, or there is no command.
    """
    options = ProxyOptions()
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            options.command = rest
            break
        if not word.startswith("-"):
            options.command = [word, *rest]
            break
        _take(options, word, rest)
        if options.help:
            return options
    if options.limits is not None and not options.retry:
        raise BadOption("--limits are those of retries, so it needs --retry")
    if options.workers > 1 and options.listen is None:
        raise BadOption("--workers listen somewhere, so they need --listen")
    if not options.command:
        if options.url is not None:
            return options
        raise BadOption("there is no command to start; write it behind --, such as: failwell proxy -- npx some-server")
    if options.url is not None:
        raise BadOption("there is a command and a --url; the proxy stands in front of one of them")
    return options


def _take(options: ProxyOptions, word: str, rest: list[str]) -> None:
    name, equals, value = word.partition("=")
    row = _BY_NAME.get(name)
    if row is None:
        from failwell._spelling import did_you_mean  # only when something is misspelt

        raise BadOption(f"there is no option {name}; see failwell proxy --help{did_you_mean(name, _BY_NAME)}")
    name, shown, read, _ = row
    attribute = name[2:].replace("-", "_")
    if read is None:
        if equals:
            raise BadOption(f"{name} takes no value")
        setattr(options, attribute, True)
        return
    if not equals:
        if not rest or rest[0] == "--":
            raise BadOption(f"{name} needs a value: {name} {shown}")
        value = rest.pop(0)
    try:
        found = read(value)
        setattr(options, attribute, getattr(options, attribute) + found if name in _REPEATED else found)
    except ValueError as wrong:
        raise BadOption(f"{name} {wrong}" + ("" if name in _SECRET else f", not {value!r}")) from None


def help_text() -> str:
    """Return what `--help` shows."""
    heads = [f"  {name}{' ' + shown if shown else ''}" for name, shown, _, _ in TABLE]
    width = max(map(len, heads)) + 2
    lines = (f"{head:{width}}{row[3]}" for head, row in zip(heads, TABLE, strict=True))
    return USAGE + "\n".join(lines) + "\n"


_VARIABLE = re.compile(r"\$\{(\w+)\}")


def filled(value: str, *, option: str, written: Callable[[str], str] = str) -> str:
    """Return a value with each `${NAME}` replaced by the variable of that name, *written* as the place needs it.

    Raises:
        Misuse: a variable is not set.
    """

    def variable(found: re.Match[str]) -> str:
        name = found.group(1)
        if name not in os.environ:
            raise BadOption(f"{option} needs the variable {name}, which is not set")
        return written(os.environ[name])

    return _VARIABLE.sub(variable, value)


def limits_of(options: ProxyOptions, *, scope: str, warn: "Callable[[str], object]") -> "FleetLimits | None":
    """Return the limits at the address that the options name; None if they name none.

    Proxies in front of the same server share them: *scope* says which one that is.

    Raises:
        BadOption: it is no address, or it names a variable that is not set.
    """
    if options.limits is None:
        return None
    from failwell.retry._fleet import FleetLimits

    url = filled(options.limits, option="--limits", written=_quoted)
    try:
        return FleetLimits.at(url, scope=scope, warn=warn)
    except ValueError as wrong:
        raise BadOption(f"--limits: {wrong}") from None


def _quoted(value: str) -> str:
    from urllib.parse import quote

    return quote(value, safe="")
