"""`failwell proxy`: check the options, start the server, then load what the proxy needs and run it.

The server is started first because it takes longest: the proxy loads its own parts while the server loads.
"""

import os
import sys
from typing import TYPE_CHECKING

from failwell._automatic import SWITCHED_OFF, is_automatic
from failwell.proxy.options import (
    BadOption,
    ProxyOptions,
    fill_variables,
    help_text,
    parse,
    quote_for_url,
    tell_operator,
)
from failwell.proxy.stdio.process import Child

if TYPE_CHECKING:
    from collections.abc import Iterator

    from failwell.proxy.recorder import ProxyMetrics

_MISUSE = 2
_LONGEST_SENTENCE = 2000
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127


def main(argv: list[str]) -> int:
    """Run the proxy on the process's own streams and return the exit code; negative: the signal to die of."""
    _open_closed_streams()
    try:
        options = parse(argv)
        if options.help:
            os.write(1, help_text().encode())
            return 0
        if not is_automatic():
            tell_operator(SWITCHED_OFF)
        if options.policy is not None or has_user_policy():
            take_policy(options)
        options.events = fill_events(options.events)
        check_installed(options)
        events = open_events(options.events)
        metrics = _open_metrics(options)
    except BadOption as misuse:
        return _refuse(str(misuse), _MISUSE)
    if options.url is not None:
        from failwell.proxy.http.runner import run as run_http

        return run_http(options, events, metrics=metrics)
    try:
        child = Child(options.command)
    except (OSError, ValueError) as failed:
        return _cannot_start(options.command[0], failed)
    from failwell.proxy.stdio.runner import run as run_stdio  # only now: the server is starting meanwhile

    return run_stdio(options, child, events, metrics=metrics)


def _open_metrics(options: ProxyOptions) -> "ProxyMetrics | None":
    if options.metrics is None:
        return None
    from failwell.proxy.recorder import ProxyMetrics

    return ProxyMetrics(options)


def has_user_policy() -> bool:
    """Return whether there may be a policy file of the user: `policy_file` looks again, but takes long to load."""
    home = os.path.expanduser("~")
    given = os.environ.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME", "")
    folder = given if os.path.isabs(given) else os.path.join(home, ".config")
    return os.path.isfile(os.path.join(folder, "failwell", "policy.toml"))


def take_policy(options: ProxyOptions) -> None:
    """Have the policy file say what is wanted of each tool.

    Raises:
        BadOption: the file cannot be used.
    """
    from failwell.policy_file import BadPolicyFile, PolicyFile
    from failwell.proxy.policies import ToolPolicies
    from failwell.proxy.recorder import server_name

    try:
        file = PolicyFile.load(options.policy)
        if options.limits is None and file.limits is not None and is_automatic():
            options.limits = file.limits_url
    except BadPolicyFile as wrong:
        raise BadOption(f"--policy: {wrong}") from None
    options.policies = ToolPolicies(options, file, server=server_name(options))
    if not is_automatic():
        return
    options.retry = options.retry or any(options.policies.values("retry"))
    options.limits = options.limits if options.retry else None
    options.validate = options.validate or any(options.policies.values("validate"))
    if any(options.policies.values("flip")):
        options.flip_unflagged = (*options.flip_unflagged, "*")
    options.response_size = min(options.policies.values("response_size"), default=None)
    for name in ("timeout", "deadline"):
        limits = [*options.policies.values(name), *([] if getattr(options, name) is None else [getattr(options, name)])]
        setattr(options, name, min(limits, default=None))


def _refuse(sentence: str, code: int) -> int:
    tell_operator(sentence)
    return code


def open_events(where: str | None) -> int | str | None:
    """Return an open file for records, or the address of a store, which is connected to later.

    Raises:
        BadOption: it is neither, or the file cannot be opened.
    """
    if where is None:
        return None
    scheme, colon, rest = where.partition("://")
    if colon:
        from failwell.records._addresses import STORES_BY_URL

        is_file = scheme == "sqlite"
        if scheme not in STORES_BY_URL or not rest.strip("/") or (is_file and rest[0] != "/"):
            raise BadOption("--events takes a file, sqlite:///FILE, postgresql://HOST/DATABASE or otlp:URL")
        if is_file:
            _check_folder(rest[1:].partition("?")[0])
        if "keep_" in rest:
            _check_retention(rest, is_file=is_file)
        return where
    path = where.removeprefix("jsonl:")
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except (OSError, ValueError) as failed:
        raise BadOption(f"--events {path}: {_reason(failed)}") from None


def fill_events(where: str | None) -> str | None:
    """Return the value of `--events` with its environment variables, quoted where it is an address.

    Raises:
        BadOption: a variable is not set.
    """
    if where is None:
        return None
    return fill_variables(where, option="--events", quote=quote_for_url if "://" in where else str)


def _check_folder(path: str) -> None:
    """Refuse a file that could never be created."""
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise BadOption(f"--events {path}: No such file or directory")


def _check_retention(address: str, *, is_file: bool) -> None:
    """Refuse what the thread that opens the store would only find out later."""
    from urllib.parse import parse_qs

    from failwell.records._retention import parse_retention

    query = {
        name: values[0] if len(values) == 1 else values for name, values in parse_qs(address.partition("?")[2]).items()
    }
    try:
        parse_retention(query, is_file=is_file)
    except ValueError as wrong:
        raise BadOption(f"--events: {wrong}") from None


def check_installed(options: ProxyOptions) -> None:
    """Refuse options whose packages are not installed, all at once.

    Raises:
        BadOption: it says which, and what installs them.
    """
    missing = [(option, module, extra) for option, module, extra in _packages(options) if not _is_installed(module)]
    if missing:
        needs = ", ".join(dict.fromkeys(f"{option} needs {module.replace('_', '-')}" for option, module, _ in missing))
        package = f"'failwell[{','.join(dict.fromkeys(extra for _, _, extra in missing))}]'"
        raise BadOption(f"{needs}: uvx --from {package} failwell proxy …, or pip install {package}")


def _packages(options: ProxyOptions) -> "Iterator[tuple[str, str, str]]":
    """Yield each option that needs a package, the module, and the extra that installs it."""
    scheme, colon, _ = (options.events or "").partition("://")
    if colon:
        from failwell.records._addresses import STORES_BY_URL

        if store := STORES_BY_URL.get(scheme):
            yield from (("--events", module, extra) for module, extra in store.packages)
    if options.url is not None:
        yield "--url", "aiohttp", "http-proxy"
    if options.validate:
        yield "--validate", "jsonschema_rs", "validation"
    if options.limits is not None:
        yield "--limits", "redis", "redis"
    if options.metrics is not None:
        yield "--metrics", "prometheus_client", "metrics"


def _is_installed(module: str) -> bool:
    from importlib.util import find_spec

    names = module.split(".")
    return all(find_spec(".".join(names[: end + 1])) is not None for end in range(len(names)))


def _cannot_start(program: str, failed: Exception) -> int:
    from failwell.redact.scrubber import clean, scrub_program  # only now: no server is waiting to be started

    sentence = clean(f"cannot start {scrub_program(program)}: {_reason(failed)}", _LONGEST_SENTENCE)
    code = _refuse(sentence, _NOT_FOUND if isinstance(failed, FileNotFoundError) else _NOT_EXECUTABLE)

    from failwell.proxy.stdio.restarts import refuse_client

    refuse_client(sentence, source=0, target=1)
    return code


def _reason(failed: Exception) -> str:
    return getattr(failed, "strerror", None) or str(failed)


def _open_closed_streams() -> None:
    """Keep pipes from getting the numbers of streams that the host has closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def run_and_exit(argv: list[str]) -> None:
    """Run the proxy and end the process at once: a thread may wait for the client forever."""
    try:
        code = main(argv)
    except KeyboardInterrupt:
        code = 130
    except Exception as failed:  # never a traceback to the host
        code = _refuse(f"the proxy failed: {type(failed).__name__}", 70)
    if code < 0:
        _die_of(-code)
    os._exit(code if code >= 0 else 128 - code)


def _die_of(number: int) -> None:
    """End as the server did, so that the host sees the same; the first process of a container outlives its signals."""
    import signal

    if number != signal.SIGQUIT:  # that one would leave a core file
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
