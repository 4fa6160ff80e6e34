"""The table of commands, and the parser that runs them.

To add a command, write a module with its name and a function with its name in it, and add a row here.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, TextIO

import typer
from typer.main import get_command

import failwell as fw
from failwell._help import help_page
from failwell._spelling import did_you_mean
from failwell.cli import (
    check,
    codes,
    completion,
    convert,
    dashboard,
    demo,
    events,
    explain,
    hosts,
    policy,
    proxy,
    read,
    rewrite,
    schema,
    serve,
)
from failwell.cli.streams import Misuse, Streams

app = typer.Typer(
    name="failwell",
    help="Structured errors and safe retries for MCP tools.",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        context.obj.stdout.write(f"failwell {fw.__version__}\n")
        raise typer.Exit


# In the order of the help.
app.command("codes")(codes.codes)
app.command("explain", **explain.NUMBERS_ARE_NO_OPTIONS)(explain.explain)
app.command("read")(read.read)
app.command("convert")(convert.convert)
app.command("schema")(schema.schema)
app.command("demo")(demo.demo)
app.command("check")(check.check)
app.command("dashboard")(dashboard.dashboard)
app.command("events")(events.events)
app.add_typer(policy.app, name="policy")
app.command("hosts")(hosts.hosts)
app.command("serve")(serve.serve)
app.command("rewrite", **rewrite.PARSED_BY_ITSELF)(rewrite.rewrite)
app.command("proxy", **proxy.PARSED_BY_THE_PROXY)(proxy.proxy)

# The parser's errors: typer brought click along as a package of its own until it took the code in.
_ParserError: type[Exception] = typer.BadParameter.__mro__[2]


def run_command(argv: Sequence[str], *, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run a command and return its exit code.

    Raises:
        Misuse: the arguments or the payload are not what the command takes.
    """
    root = command_tree()
    if not argv and completion.is_requested():
        return completion.respond(root)
    path, command, rest = _find(root, argv)
    is_group = hasattr(command, "commands")
    if rest and is_group and not rest[0].startswith("-"):
        meant = did_you_mean(rest[0], command.commands) or f": choose one of {', '.join(command.commands)}"
        raise Misuse(f"unknown command {rest[0]!r}{meant}")
    if not rest and is_group:
        argv = [*argv, "--help"]
    _refuse_empty_values(command, rest)
    try:
        with root.make_context("failwell", list(argv), obj=Streams(stdin, stdout, stderr)) as context:
            code = root.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except _ParserError as error:
        raise Misuse(_misuse(error, path, command, rest)) from None
    except SystemExit as ended:  # installing and showing the completion end so
        return 2 if ended.code else 0
    return code if isinstance(code, int) else 0


def _find(root: Any, argv: Sequence[str]) -> tuple[str, Any, Sequence[str]]:
    """Return the command that the words call, how it is called, and the words behind that."""
    path, command = "failwell", root
    for place, word in enumerate(argv):
        if word not in getattr(command, "commands", {}):
            return path, command, argv[place:]
        path, command = f"{path} {word}", command.commands[word]
    return path, command, ()


def _refuse_empty_values(command: Any, words: Sequence[str]) -> None:
    """Refuse an option without its value, as a variable that is not set leaves it: `--type=`, `--policy ""`.

    Raises:
        Misuse: there is one.
    """
    taking = {name: one for one in command.params if not getattr(one, "is_flag", True) for name in one.opts}
    own = words[: words.index("--")] if "--" in words else words
    for word, after in pairwise((*own, None)):
        name, equals, value = str(word).partition("=")
        if name in taking and (not value if equals else after == ""):
            raise Misuse(f"{name} needs a value: {name} {taking[name].metavar}")


def _misuse(error: Exception, path: str, command: Any, words: Sequence[str]) -> str:
    """Return what is wrong in one line, and what to type instead: the option that was meant, or an example."""
    text = " ".join(getattr(error, "format_message", error.__str__)().rstrip(".").split())
    names = [name for one in command.params for name in one.opts]
    known = {*names, "--help"}
    unknown = [word for word in words if word.startswith("--") and word != "--" and word.partition("=")[0] not in known]
    if unknown and ("No such option" in text or "unexpected extra argument" in text):
        name = unknown[0].partition("=")[0]
        if meant := did_you_mean(name, names):
            return f"unknown option {name!r}{meant}"
        text = f"unknown option {name!r}"
    text = re.sub(r"^No such option: (\S+)$", r"unknown option '\1'", text)
    text = re.sub(r"^Invalid value for '(\S+)': Input should be (.+?)(?:, unable .*)?$", r"\1 must be \2", text)
    text = text.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
    text = text.replace("a valid number", "a number")
    text = text.replace("a valid integer", "a whole number")
    text = re.sub(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", r"unexpected argument '\1'", text)
    example = f"; for example: {shown[0]}" if (shown := examples(command)) else ""
    return f"{text[:1].lower()}{text[1:]}{example}; see {path} --help"


def command_tree() -> Any:
    """Return the command with all that are below it, each with our help."""
    root: Any = get_command(app)
    for path, command in walk(root):
        command.get_help = partial(_help, path, command)
    return root


def walk(command: Any, path: str = "failwell") -> Iterator[tuple[str, Any]]:
    """Yield a command and those below it, each with the words that call it."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from walk(below, f"{path} {name}")


def _help(path: str, command: Any, context: Any) -> str:
    parameters = [one for one in command.get_params(context) if not getattr(one, "hidden", False)]
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    options = [one for one in parameters if one.param_type_name != "argument"]
    below = {name: one.help for name, one in getattr(command, "commands", {}).items()}
    words = [path, "[OPTIONS]", *map(_usage, arguments), *(["COMMAND"] if below else [])]
    return help_page(
        usage=[" ".join(words)],
        about="\n\n".join(part for part in _paragraphs(command.help) if not part.startswith("Example: ")),
        sections={
            "Commands": [(name, _paragraphs(text)[0]) for name, text in below.items()],
            "Arguments": [(one.metavar, _with_default(one)) for one in arguments],
            "Options": [(_option_head(one), _with_default(one)) for one in options],
        },
        examples=examples(command),
    ).rstrip("\n")


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def _usage(argument: Any) -> str:
    name = str(argument.metavar)
    if name == "COMMAND":
        return "[-- COMMAND... | URL]"
    return name if argument.required else f"[{name}{'...' if argument.nargs == -1 else ''}]"


def _option_head(option: Any) -> str:
    names = ", ".join(sorted(option.opts, key=len))
    return f"{names} {option.metavar}" if option.metavar else names


def _with_default(parameter: Any) -> str:
    default = parameter.default
    has_default = isinstance(default, str | int | float) and not isinstance(default, bool) and default != ""
    shown = f"{default:g}" if isinstance(default, float) else str(default)
    return f"{parameter.help} [default: {shown}]" if has_default else str(parameter.help)


def examples(command: Any) -> list[str]:
    """Return the examples in the help of a command."""
    return re.findall(r"^ *Example: (.+)$", command.help, re.MULTILINE)
