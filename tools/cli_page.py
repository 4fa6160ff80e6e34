"""The page of the command line, from the commands themselves."""

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from failwell.cli.commands import app, examples
from failwell.proxy import options

_INTRODUCTION = """\
# The command line

Written from the commands themselves; `failwell COMMAND --help` says the same.

```sh
pip install 'failwell[cli]'              # all commands but those below
pip install 'failwell[demo]'             # demo: needs the mcp SDK
pip install 'failwell[cli,validation]'   # check: needs a validator of JSON Schema
pip install 'failwell[dashboard]'        # dashboard: needs aiohttp and SQLAlchemy
pip install failwell                     # proxy: needs nothing more, in front of a command
pip install 'failwell[http-proxy]'       # proxy --url: needs aiohttp
```

Results go to standard output, problems to standard error, in one line that says what is wrong and what to do:

```text
$ failwell explain RATE_LIMTED
failwell: unknown code 'RATE_LIMTED'; did you mean 'RATE_LIMITED'?
```

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | a finding: the payload is not a failure, or the check found something |
| 2 | misuse: an argument, a file, a payload or a server that cannot be worked with |
| 130 | interrupted, or told to end: a server that was started is ended too |

`failwell proxy` ends as its server does, with 126 or 127 if that cannot be started; see [the proxy](proxy.md).

Colours are for terminals. They are off where standard output is no terminal, and with `NO_COLOR`; with `TERM=dumb` the
demo prints plain lines as well. `COLUMNS` sets the width.

## Completion in your shell

```sh
failwell --install-completion   # bash, zsh, fish or PowerShell: the one that you are in
```

Then the tab key completes commands and options, codes and types behind `failwell explain`, types behind `--type`, and
dialects behind `--dialect`, `--to` and `failwell schema`. `failwell --show-completion` prints the script instead, for
those who keep their own.
"""
_OWN_HELP = ("--help", "-h")


def page() -> str:
    """Return the page."""
    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]  # a group has commands
    return _INTRODUCTION + "\n" + "\n".join(line for name in commands for line in _section(name, commands[name]))


def _section(name: str, command: Any) -> Iterator[str]:
    paragraphs = [" ".join(part.split()) for part in command.help.split("\n\n")]
    yield f"## failwell {name}\n"
    for paragraph in paragraphs:
        if not paragraph.startswith("Example: "):
            yield f"{paragraph}\n"
    yield "```sh\n" + "\n".join(examples(command)) + "\n```\n"
    if rows := list(_proxy_rows() if name == "proxy" else _rows(command)):
        yield "| option | what it does |\n|---|---|"
        yield from (f"| `{head}` | {words} |" for head, words in rows)
        yield ""


def _rows(command: Any) -> Iterator[tuple[str, str]]:
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            yield parameter.metavar, _cell(parameter.help)
        elif not set(parameter.opts) & set(_OWN_HELP):
            value = f" {parameter.metavar}" if parameter.metavar else ""
            yield ", ".join(parameter.opts) + value, _cell(parameter.help)


def _proxy_rows() -> Iterator[tuple[str, str]]:
    for option in options.OPTIONS:
        if option.name not in _OWN_HELP:
            head = f"{option.name} {option.metavar}" if option.metavar else option.name
            yield head, _cell(f"{option.help[0].upper()}{option.help[1:]}.")


def _cell(words: str) -> str:
    return words.replace("|", "\\|").replace("*", "\\*")
