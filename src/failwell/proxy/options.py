"""The options of `failwell proxy`: one table that the parser, the help, the docs and shell completion are made from."""

import argparse
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from failwell._automatic import is_automatic

if TYPE_CHECKING:
    from failwell.proxy.policies import ToolPolicies
    from failwell.retry._fleet import FleetLimits

# A test compares it with the table of dialects, which takes longer to load than the server may wait.
DIALECTS = ("compact", "envelope", "flat", "meta", "xml")
# Behind a URL nothing has to end, and hosts kill whoever is still there two seconds after they closed its input.
_GRACE, _GRACE_OF_URL, _GRACE_OF_CALLS = 12.0, 1.0, 4.0  # a pool of connections may live on for ten seconds
_RETRY_DEADLINE = 30.0
_LONGEST_SENTENCE = 2000

_USAGE = ("failwell proxy [OPTIONS] -- COMMAND...", "failwell proxy [OPTIONS] --url URL [--listen ADDRESS]")
_ABOUT = """\
Put failwell in front of a server you can't modify.

It starts an MCP server, or connects to one that runs elsewhere. Failures of its tools become structured; \
everything else passes through unchanged."""
_EXAMPLES = (
    "failwell proxy --retry -- npx -y @modelcontextprotocol/server-filesystem /srv/data",
    "failwell proxy --url https://example.com/mcp --listen 127.0.0.1:8080",
)


class BadOption(Exception):
    """The options make no sense; the text says which one, and why."""


class ProxyOptions(argparse.Namespace):
    """What the operator wants; the command is the server to start. `OPTIONS` has the defaults."""

    command: list[str]
    url: str | None
    listen: tuple[str, int] | None
    workers: int
    header: tuple[tuple[str, str], ...]
    header_variable: tuple[tuple[str, str], ...]
    allow_origin: tuple[str, ...]
    dialect: str
    flip_unflagged: tuple[str, ...]
    validate: bool
    retry: bool
    retry_safe: tuple[str, ...]
    attempts: int
    timeout: float | None
    deadline: float | None
    limits: str | None
    restart: bool
    events: str | None
    metrics: tuple[str, int] | None
    name: str | None
    observe: bool
    policy: str | None
    quiet: bool
    grace: float
    help: bool
    policies: "ToolPolicies | None" = None
    response_size: int | None = None

    @property
    def retry_deadline(self) -> float:
        """How long a call may take with its retries before no other is made."""
        return _RETRY_DEADLINE if self.deadline is None else self.deadline


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


def _limit(text: str) -> float:
    found = _seconds(text)
    if not found:
        raise ValueError("must be a number of seconds greater than 0")
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


def parse_address(text: str) -> tuple[str, int]:
    """Return the host and the port in the value of an option.

    Raises:
        ValueError: it is not a host and a port.
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


def _header_variable(text: str) -> tuple[tuple[str, str], ...]:
    name, _, variable = text.partition(":")
    if not (name.replace("-", "").isalnum() and name.isascii() and re.fullmatch(r"\w+", variable)):
        raise ValueError("must be the name of a header and that of a variable, such as Authorization:TOKEN")
    return ((name, f"${{{variable}}}"),)


class Option(NamedTuple):
    """A row of the table.

    `metavar` stands for the value in the help, and `parse` reads the value; both are None for a switch. An option that
    `is_repeatable` adds to its earlier values. The value of one that `is_secret` may hold a password and is not quoted.
    """

    name: str
    metavar: str | None
    summary: str
    parse: Callable[[str], Any] | None = None
    default: Any = None
    is_repeatable: bool = False
    is_secret: bool = False

    @property
    def help(self) -> str:
        """What the option does, in a sentence, with its default."""
        sentence = f"{self.summary[0].upper()}{self.summary[1:]}."
        if self.default in (None, ()):
            return sentence
        return f"{sentence} [default: {self.default:{'g' if isinstance(self.default, int | float) else ''}}]"


OPTIONS = (
    Option("--url", "URL", "connect to the server at this URL instead of starting one", _url, is_secret=True),
    Option(
        "--listen",
        "ADDRESS",
        "serve HTTP on this address, such as 127.0.0.1:8080, instead of standard input and output",
        parse_address,
    ),
    Option("--workers", "N", "number of processes that listen there", _count, 1),
    Option(
        "--header",
        "NAME:VALUE",
        "send this header to the URL too; ${NAME} is replaced with the value of an environment variable",
        _header,
        (),
        is_repeatable=True,
        is_secret=True,
    ),
    Option(
        "--header-variable",
        "NAME:VARIABLE",
        "send this header too, with the value of an environment variable",
        _header_variable,
        (),
        is_repeatable=True,
    ),
    Option(
        "--allow-origin", "ORIGIN,…", "accept web pages from these origins; * for all", _names, (), is_repeatable=True
    ),
    Option("--dialect", "NAME", f"the format of failures: {', '.join(DIALECTS)}", _dialect, "meta"),
    Option(
        "--flip-unflagged",
        "TOOL,…",
        "treat error texts of these tools as errors even if they are not flagged; * for all",
        _names,
        (),
    ),
    Option("--validate", None, "reject invalid arguments before they reach the server"),
    Option("--retry", None, "retry failed calls where that helps and is safe"),
    Option("--retry-safe", "TOOL,…", "these tools are safe to run twice, whatever their annotations say", _names, ()),
    Option("--attempts", "N", "maximum number of tries per call", _count, 3),
    Option("--timeout", "SECONDS", "maximum duration of one try; it is then cancelled", _limit),
    Option(
        "--deadline",
        "SECONDS",
        f"maximum duration of a call with its retries (default: {_RETRY_DEADLINE:g}); if you set it, the call is then"
        " cancelled",
        _limit,
    ),
    Option(
        "--limits",
        "URL",
        "share retry limits with other proxies through Redis or Valkey; ${NAME} as for --header",
        _store,
        is_secret=True,
    ),
    Option("--restart", None, "restart the server if it dies"),
    Option(
        "--events",
        "WHERE",
        "keep records of all calls: a file of JSON lines, sqlite:///FILE, postgresql://…, otlp:URL",
        _file,
        is_secret=True,
    ),
    Option(
        "--metrics",
        "ADDRESS",
        "serve /metrics for Prometheus, /healthz and /readyz on this address, such as 127.0.0.1:9464",
        parse_address,
    ),
    Option("--name", "NAME", "the server's name in records", _name),
    Option(
        "--policy",
        "FILE",
        "the policy file; defaults to the one in your configuration folder",
        _file,
    ),
    Option("--observe", None, "change nothing, but report what would change"),
    Option("--quiet", None, "print no summary to standard error at the end"),
    Option(
        "--grace",
        "SECONDS",
        f"how long the server may take to exit after its last answer (default: {_GRACE:g}); with --url, running calls"
        f" (default: {_GRACE_OF_URL:g}; with --listen, {_GRACE_OF_CALLS:g})",
        _seconds,
    ),
    Option("--help", None, "show this message and exit"),
)


def parse(argv: list[str]) -> ProxyOptions:
    """Return the options and the command.

    Raises:
        BadOption: an option is unknown or has no value that makes sense, or there is no command.
    """
    options = ProxyOptions()
    try:
        _, unknown = _parser().parse_known_args(argv, options)
    except argparse.ArgumentError as wrong:
        raise BadOption(_misuse((wrong.argument_name or "").rpartition("/")[2])) from None
    if options.help:
        return options
    if unknown:
        from failwell._spelling import did_you_mean  # only when something is misspelt

        name = unknown[0].partition("=")[0]
        names = [option.name for option in OPTIONS]
        raise BadOption(f"unknown option {name!r}{did_you_mean(name, names) or '; see failwell proxy --help'}")
    if options.command[:1] == ["--"]:
        del options.command[0]
    if options.grace is None:
        in_front = _GRACE if options.url is None else _GRACE_OF_URL
        options.grace = in_front if options.listen is None else _GRACE_OF_CALLS
    _check(options)
    if not is_automatic():
        options.retry = options.validate = options.restart = False
        options.flip_unflagged, options.limits = (), None
    return options


def _check(options: ProxyOptions) -> None:
    if options.limits is not None and not options.retry:
        raise BadOption("--limits needs --retry: it shares the limits of retries")
    if options.workers > 1 and options.listen is None:
        raise BadOption("--workers needs --listen")
    if options.workers > 1 and options.metrics is not None:
        raise BadOption("--metrics can't be combined with --workers: it counts the calls of one process")
    if options.workers > 1 and not hasattr(os, "fork"):
        raise BadOption("--workers needs fork, which this system does not have; start several proxies instead")
    if not options.command and options.url is None:
        raise BadOption("no server given: use failwell proxy -- COMMAND or failwell proxy --url URL")
    if options.listen is not None and options.url is None:
        raise BadOption("--listen needs --url: a command is served over standard input and output")
    if options.command and options.url is not None:
        raise BadOption("give either a command or --url, not both")


def help_text() -> str:
    """Return what `--help` shows."""
    from failwell._help import help_page  # only for people

    heads = [" ".join(filter(None, (option.name, option.metavar))) for option in OPTIONS]
    rows = [(head.replace("--help", "-h, --help"), option.help) for head, option in zip(heads, OPTIONS, strict=True)]
    return help_page(usage=_USAGE, about=_ABOUT, sections={"Options": rows}, examples=_EXAMPLES)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        add_help=False,
        allow_abbrev=False,
        exit_on_error=False,
        # Each option makes one, and without a width it loads `shutil` to ask for that of the terminal: 2 ms and 0.7 MB.
        formatter_class=partial(argparse.HelpFormatter, width=80),
    )
    for option in OPTIONS:
        names = ("-h", option.name) if option.name == "--help" else (option.name,)
        if option.parse is None:
            parser.add_argument(*names, action="store_true")
            continue
        parser.add_argument(
            *names,
            metavar=option.metavar,
            type=partial(_value, option),
            default=option.default,
            action=_Extend if option.is_repeatable else "store",
        )
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser


class _Extend(argparse.Action):
    """Adds a tuple of values to those that were given before."""

    def __call__(self, _parser: Any, namespace: Any, values: Any, _name: str | None = None) -> None:
        setattr(namespace, self.dest, getattr(namespace, self.dest) + values)


def _value(option: Option, text: str) -> Any:
    assert option.parse is not None
    try:
        return option.parse(text)
    except ValueError as wrong:
        raise BadOption(f"{option.name} {wrong}" + ("" if option.is_secret else f", not {text!r}")) from None


def _misuse(name: str) -> str:
    """Return what is wrong with an option that the parser refuses: `_value` explains a wrong value."""
    metavar = next(option.metavar for option in OPTIONS if option.name == name)
    return f"{name} takes no value" if metavar is None else f"{name} needs a value: {name} {metavar}"


_VARIABLE = re.compile(r"\$\{(\w+)\}")


def fill_variables(value: str, *, option: str, quote: Callable[[str], str] = str) -> str:
    """Return a value with each `${NAME}` replaced by the environment variable of that name, quoted as *quote* does.

    Raises:
        BadOption: a variable is not set.
    """

    def variable(found: re.Match[str]) -> str:
        name = found.group(1)
        if name not in os.environ:
            raise BadOption(f"{option} needs the variable {name}, which is not set")
        return quote(os.environ[name])

    return _VARIABLE.sub(variable, value)


def tell_operator(*lines: str) -> None:
    """Write lines to standard error, without the secrets of what they quote."""
    from failwell.redact.scrubber import clean  # only when there is something to say

    lines = tuple(clean(line, _LONGEST_SENTENCE) for line in lines)
    with suppress(OSError):  # nobody reads it
        os.write(2, "".join(f"failwell: {line}\n" for line in lines).encode(errors="backslashreplace"))


def is_traced(events: int | str | None) -> bool:
    """Return whether calls have spans, given where events go: a collector takes them."""
    return isinstance(events, str) and events.startswith("otlp:")


def quote_for_url(value: str) -> str:
    """Return a text as a part of a URL, such as a password."""
    from urllib.parse import quote  # only where a URL is given

    return quote(value, safe="")


def open_limits(options: ProxyOptions, *, scope: str, warn: Callable[[str], object]) -> "FleetLimits | None":
    """Return the shared limits at the address in the options; None if there is no address.

    Proxies in front of the same server share them: *scope* says which one that is.

    Raises:
        BadOption: it is no address, or it names a variable that is not set.
    """
    if options.limits is None:
        return None
    from failwell.retry._fleet import FleetLimits

    url = fill_variables(options.limits, option="--limits", quote=quote_for_url)
    try:
        return FleetLimits.at(url, scope=scope, warn=warn)
    except ValueError as wrong:
        raise BadOption(f"--limits: {wrong}") from None
