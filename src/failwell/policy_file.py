"""`PolicyFile`: what an operator knows about servers and tools, and how to call them, in one TOML file.

It is strict: a misspelt `read_only = false` that was passed over would be a card that is charged twice.
"""

import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import fields

from failwell._json import is_object
from failwell._spelling import did_you_mean
from failwell.advice import Policy, Tool, matching

_LONGEST_FILE = 1 << 20
_MOST_PROBLEMS = 20
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SCHEMA = "https://json-schema.org/draft/2020-12/schema"

_YEAR = 365 * 86_400
_Attempts = Annotated[int, Meta(ge=1, le=100)]
_Seconds = Annotated[float, Meta(ge=0, le=_YEAR)]
_SomeSeconds = Annotated[float, Meta(gt=0, le=_YEAR)]
_Bytes = Annotated[int, Meta(ge=1000)]
_Address = Annotated[str, Meta(min_length=1)]
_Dialect = Literal["compact", "envelope", "flat", "meta", "xml"]


class Key(NamedTuple):
    """What the value of a key must be, in words, and what it does."""

    must: str
    description: str


_SWITCH = "true or false"
KEYS = {
    "retry": Key(_SWITCH, "Retry failed calls where that is safe."),
    "attempts": Key("a whole number from 1 to 100", "Maximum number of tries per call."),
    "timeout": Key("a number of seconds greater than 0", "Maximum duration of one try."),
    "deadline": Key("a number of seconds", "Maximum duration of a call, including all its tries."),
    "max_wait": Key("a number of seconds", "The longest wait before another try."),
    "trust_inferred": Key(_SWITCH, "Treat a rate limit or a refused connection in plain text as not executed."),
    "validate": Key(_SWITCH, "Reject invalid arguments before they reach the server (proxy)."),
    "flip": Key(_SWITCH, "Treat text that reads like an error as an error, even if the server does not flag it."),
    "response_size": Key("a number of bytes, at least 1000", "The largest result to pass on (proxy)."),
    "dialect": Key("one of compact, envelope, flat, meta, xml", "The format of failures (proxy)."),
    "read_only": Key(_SWITCH, "The tool changes nothing, whatever the server says about it."),
    "idempotent": Key(_SWITCH, "The tool may run twice with the same effect, whatever the server says about it."),
    "trust_annotations": Key(_SWITCH, "Trust what the server says about its tools."),
    "trust_read_verbs": Key(
        _SWITCH,
        "Tools without annotations are read-only if their names begin with get, list, search, read or describe.",
    ),
    "limits": Key(
        "the address of a Redis or Valkey server",
        "Where processes share retry limits; ${NAME} is replaced with the value of an environment variable.",
    ),
    "tools": Key("a table, such as [tools.NAME]", "Tools by name or pattern."),
    "servers": Key("a table, such as [servers.NAME]", "Servers by name or pattern."),
}
"""All keys of a policy file."""


class _Rules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    retry: bool | None = None
    attempts: _Attempts | None = None
    timeout: _SomeSeconds | None = None
    deadline: _Seconds | None = None
    max_wait: _Seconds | None = None
    trust_inferred: bool | None = None
    validate: bool | None = None
    flip: bool | None = None
    response_size: _Bytes | None = None
    dialect: _Dialect | None = None


class ToolRules(_Rules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a policy file says of a tool. None: it says nothing."""

    read_only: bool | None = None
    idempotent: bool | None = None


class ServerRules(_Rules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a policy file says of a server. None: it says nothing."""

    trust_annotations: bool | None = None
    trust_read_verbs: bool | None = None
    tools: dict[str, ToolRules] = {}


class PolicyFile(ServerRules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an operator knows about servers and tools, and how to call them.

    A tool's section beats its server's, and a server's section beats the general one. Within a section each field
    comes from the most specific name or pattern that gives it, as in `Policy.tools`.
    """

    limits: _Address | None = None
    servers: dict[str, ServerRules] = {}

    @classmethod
    def load(cls, path: str | Path | None = None) -> "PolicyFile":
        """Return what a file says; without a path, the one in the user's configuration folder, if it exists.

        No file of the working directory is ever read unasked: a repository could call its tools read-only.

        Raises:
            BadPolicyFile: it cannot be read, or not all of it is understood.
        """
        file = user_policy_path() if path is None else Path(path)
        if path is None and not file.is_file():
            return cls()
        try:
            with file.open("rb") as stream:
                raw = stream.read(_LONGEST_FILE + 1)
        except OSError as failed:
            raise BadPolicyFile([Problem(f"cannot be read: {failed.strerror}")], str(file)) from None
        if len(raw) > _LONGEST_FILE:
            raise BadPolicyFile([Problem(f"is too large: at most {_LONGEST_FILE:,} bytes are read")], str(file))
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise BadPolicyFile([Problem("is not UTF-8 text")], str(file)) from None
        return cls.parse(text, source=str(file))

    @classmethod
    def parse(cls, text: str, *, source: str = "the policy") -> "PolicyFile":
        """Return what a TOML text says.

        Raises:
            BadPolicyFile: not all of it is understood.
        """
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as wrong:
            raise BadPolicyFile([Problem(f"is not valid TOML: {wrong}")], source) from None
        except RecursionError:
            raise BadPolicyFile([Problem("is nested too deeply")], source) from None
        problems = [*_problems(found, cls, ())]
        if problems:
            raise BadPolicyFile(_located(problems[:_MOST_PROBLEMS], text), source)
        return msgspec.convert(found, cls)

    @property
    def limits_url(self) -> str | None:
        """The address in `limits`, with environment variables filled in.

        Raises:
            BadPolicyFile: a variable is not set.
        """

        def variable(found: re.Match[str]) -> str:
            name = found.group(1)
            if name not in os.environ:
                raise BadPolicyFile([Problem(f"limits needs the variable {name}, which is not set")], "the policy")
            return quote(os.environ[name], safe="")

        return None if self.limits is None else _VARIABLE.sub(variable, self.limits)

    def server(self, name: str) -> ServerRules:
        """Return what the file says about a server, without its tools."""
        return _merged(ServerRules, [self, *matching(self.servers, name)])

    def tool(self, server: str, name: str) -> ToolRules:
        """Return what the file says about a tool of a server."""
        sections = [self, *matching(self.servers, server)]
        return _merged(ToolRules, [*sections, *(rules for one in sections for rules in matching(one.tools, name))])

    def policy(self, server: str, tool: str, *, base: Policy | None = None) -> Policy:
        """Return the policy for a tool's calls: from the file, else from *base*."""
        base = (base or Policy()).for_tool(tool)
        of_tool, of_server = self.tool(server, tool), self.server(server)
        # As the one of a tool it is the most specific, so that it beats all that the base says.
        own = {name: getattr(of_tool, name) for name in Tool.__struct_fields__}
        if of_tool.retry is False:
            own["attempts"] = 1
        known = {name: value for name, value in own.items() if value is not None}
        before = {name: getattr(base.tool(tool), name) for name in Tool.__struct_fields__}
        verbs = of_server.trust_read_verbs
        return msgspec.structs.replace(
            base,
            tools={**base.tools, tool: Tool(**{**before, **known})},
            trust_read_verbs=base.trust_read_verbs if verbs is None else verbs,
        ).for_tool(tool)


def user_policy_path() -> Path:
    """Return where the policy file of the user is, whether there is one or not."""
    home = Path.home()
    given = os.environ.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME", "")
    # A relative folder is none, says the specification, and would be one of the working directory.
    folder = Path(given) if Path(given).is_absolute() else home / ".config"
    return folder / "failwell" / "policy.toml"


def policy_schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy file."""
    found = msgspec.json.schema(PolicyFile)
    for table in found["$defs"].values():
        table.pop("description", None)
        for name, field in table["properties"].items():
            kinds = [kind for kind in field.pop("anyOf", ()) if kind != {"type": "null"}]
            field.pop("default", None)  # TOML knows no null: what is not said is left out
            field |= {**(kinds[0] if kinds else {}), "description": KEYS[name].description}
    return {"$schema": _SCHEMA, "title": "failwell policy file", **found}


class Problem(NamedTuple):
    """What is wrong in a policy file, and in which line, if that is known."""

    text: str
    path: tuple[str, ...] = ()
    line: int | None = None


class BadPolicyFile(ValueError):
    """A policy file cannot be used; `problems` has all that is wrong, up to 20, and the text says the same."""

    def __init__(self, problems: list[Problem], source: str) -> None:
        self.problems = tuple(problems)
        self.source = source
        super().__init__("\n".join(self._line(problem) for problem in problems))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self.problems), self.source)

    def _line(self, problem: Problem) -> str:
        if problem.line is None:
            return f"{self.source}{':' if problem.path else ''} {problem.text}"
        return f"{self.source}:{problem.line}: {problem.text}"


_SomeRules = TypeVar("_SomeRules", ToolRules, ServerRules)


def _merged(kind: type[_SomeRules], rules: "list[Any]") -> _SomeRules:
    """Return what all of them say, the later ones first."""
    names = [name for name in kind.__struct_fields__ if name != "tools"]
    stated = {name: value for one in rules for name in names if (value := getattr(one, name, None)) is not None}
    return kind(**stated)


_SECTIONS: dict[str, type[Struct]] = {"tools": ToolRules, "servers": ServerRules}
"""The keys that hold tables by name or pattern, and what is in those tables."""


def _problems(table: Mapping[str, Any], kind: type[Struct], path: tuple[str, ...]) -> Iterator[Problem]:
    """Yield what is wrong in one table and those in it."""
    known = {field.name: field.type for field in fields(kind)}
    for name, value in table.items():
        here = (*path, name)
        if name not in known:
            where = f"in {_section(path)}" if path else "at the top level"
            yield Problem(f"there is no key {_quoted(name)} {where}{did_you_mean(name, known)}", here)
        elif name not in _SECTIONS:
            try:
                msgspec.convert(value, known[name])
            except msgspec.ValidationError:
                given = "" if name == "limits" else f", not {_quoted(value)}"  # which may hold a password
                yield Problem(f"{name} must be {KEYS[name].must}{given}", here)
        elif not is_object(value):
            yield Problem(f"{name} must be {KEYS[name].must}, not {_quoted(value)}", here)
        else:
            yield from _problems_of_section(value, _SECTIONS[name], here)


def _problems_of_section(section: Mapping[str, Any], kind: type[Struct], path: tuple[str, ...]) -> Iterator[Problem]:
    for name, value in section.items():
        if is_object(value):
            yield from _problems(value, kind, (*path, name))
        else:
            yield Problem(f"{_section((*path, name))} must be a table, not {_quoted(value)}", (*path, name))


def _quoted(value: Any) -> str:
    is_number = isinstance(value, float)  # which may be one that JSON does not know
    text = str(value) if is_number else msgspec.json.encode(value, enc_hook=str).decode(errors="replace")
    return text if len(text) <= 60 else f"{text[:57]}…"


def _section(path: tuple[str, ...]) -> str:
    """Return the header of a section as one writes it."""
    names = (name if name.isascii() and name.replace("-", "_").isidentifier() else _quoted(name) for name in path)
    return f"[{'.'.join(names)}]"


def _located(problems: list[Problem], text: str) -> list[Problem]:
    """Return problems with their lines. Headers and keys are read as TOML, line by line."""
    lines: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            keys = section = _keys_of(stripped)
        elif "=" in stripped and not stripped.startswith("#"):
            keys = (*section, *_keys_of(f"{stripped.partition('=')[0]} = 0"))
        else:
            continue
        for end in range(1, len(keys) + 1):  # a header and a dotted key open the tables around them too
            lines.setdefault(keys[:end], number)
    return [problem._replace(line=_line_of(problem.path, lines)) for problem in problems]


def _line_of(path: tuple[str, ...], lines: Mapping[tuple[str, ...], int]) -> int | None:
    """Return the line of a key, else that of the nearest table around it."""
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), None)


def _keys_of(line: str) -> tuple[str, ...]:
    """Return the names of a header or a key."""
    try:
        found: Any = tomllib.loads(line)
    except (tomllib.TOMLDecodeError, RecursionError):
        return ()
    keys: list[str] = []
    while is_object(found) and found:
        name, found = next(iter(found.items()))
        keys.append(name)
    return tuple(keys)
