"""The page of the command line, from the commands themselves."""

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from failwell.cli.commands import app, examples
from failwell.proxy import options, rewrite

_INTRODUCTION = """\
# The command line

Every command with its options and examples. `failwell COMMAND --help` prints the same.

```sh
uvx failwell proxy -- COMMAND            # the proxy needs no extra
uvx --from 'failwell[cli]' failwell …    # other commands; each names the extra it needs
pip install 'failwell[cli]'              # all commands except those below
pip install 'failwell[demo]'             # demo (adds the mcp SDK)
pip install 'failwell[cli,validation]'   # check (adds a JSON Schema validator)
pip install 'failwell[dashboard]'        # dashboard (adds aiohttp and SQLAlchemy)
pip install failwell                     # proxy -- COMMAND, and rewrite
pip install 'failwell[http-proxy]'       # proxy --url (adds aiohttp)
```

Results go to standard output. Problems go to standard error, in one line that says what is wrong and what to type
instead:

```text
$ failwell explain RATE_LIMTED
failwell: unknown code or exception 'RATE_LIMTED'; did you mean 'RATE_LIMITED'?
```

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | a finding: the input is not a failure, or the check found something |
| 2 | misuse: a wrong argument, file, input or server |
| 130 | interrupted; a server that was started is stopped too |

`failwell proxy` exits like its server, or with 126 or 127 if the server can't be started; see
[the proxy](../howto/proxy.md).

Output is coloured only on terminals, and never with `NO_COLOR`. With `TERM=dumb`, the demo prints plain lines.
`COLUMNS` sets the width.

## Completion in your shell

```sh
failwell --install-completion   # for the current shell: bash, zsh, fish or PowerShell
```

The tab key then completes commands, options, codes, types and formats. `failwell --show-completion` prints the script
instead.
"""
_OWN_HELP = ("--help", "-h")


def page() -> str:
    """Return the page."""
    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]  # a group has commands
    return _INTRODUCTION + "\n" + "\n".join(line for name in commands for line in _section(name, commands[name]))


def _section(name: str, command: Any, *, heading: str = "##") -> Iterator[str]:
    paragraphs = [" ".join(part.split()) for part in command.help.split("\n\n")]
    yield f"{heading} failwell {name}\n"
    for paragraph in paragraphs:
        if not paragraph.startswith("Example: "):
            yield f"{paragraph}\n"
    yield "```sh\n" + "\n".join(examples(command)) + "\n```\n"
    if rows := list(_OWN_OPTIONS[name]() if name in _OWN_OPTIONS else _rows(command)):
        yield "| option | what it does |\n|---|---|"
        yield from (f"| `{head}` | {words} |" for head, words in rows)
        yield ""
    for part, of_group in getattr(command, "commands", {}).items():
        yield from _section(f"{name} {part}", of_group, heading="###")


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
            yield head, _cell(option.help)


def _rewrite_rows() -> Iterator[tuple[str, str]]:
    for name, how in rewrite.OPTIONS.items():
        head = f"{name} {how['metavar']}" if "metavar" in how else name
        yield head, _cell(rewrite.sentence(how))


def _cell(words: str) -> str:
    return words.replace("|", "\\|").replace("*", "\\*")


_OWN_OPTIONS = {"proxy": _proxy_rows, "rewrite": _rewrite_rows}
"""Commands that parse their options themselves."""
