"""The servers of a configuration, and the changes that put the proxy in front of one and take it away."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

from failwell._net import hostname_in, is_loopback
from failwell.hosts import json_document, toml_document
from failwell.hosts.document import BadConfig, Node, Splice
from failwell.hosts.locations import Host

HEADER_VARIABLE = "FAILWELL_HEADER_"
"""What the variables that headers come from begin with; a number follows."""
_HEADER_OPTION = "--header-variable"
_PROGRAM = re.compile(r"(?:^|[/\\])failwell(?:\.exe|[@=]=?[\w.]+)?$", re.IGNORECASE)
_SIGN_IN = ("oauth", "auth", "authProviderType", "headersHelper", "scopes", "oauth_resource")
"""Keys of servers that the host signs in to, or whose headers it makes anew for each connection."""
# What each header table of Codex becomes: variables with the values, or names of variables that are passed on.
_BEARER, _FROM_VARIABLES = "bearer_token_env_var", "env_http_headers"


class MemberChange(NamedTuple):
    """A member of a server's table that is written otherwise: its name and its text, before and after.

    The text begins with the key. Behind the member it may go on with one that was added.
    """

    before_key: str
    before: str
    after_key: str
    after: str


class Server(NamedTuple):
    """A server in a file: the keys that lead to it, and its table."""

    host: Host
    keys: tuple[str, ...]
    node: Node
    text: str

    @property
    def name(self) -> str:
        """What the host calls it."""
        return self.keys[-1]

    @property
    def command(self) -> list[str] | None:
        """The command with its arguments; None if the table has none that makes sense."""
        command, args = self._scalar("command"), self.node.members.get("args")
        if command is None or (args is not None and args.kind != "array"):
            return None
        items = args.items if args is not None else []
        return [command, *(item.scalar for item in items)] if all(item.kind == "string" for item in items) else None

    @property
    def url(self) -> str | None:
        """The address of a server that runs elsewhere."""
        return next((url for key in self.host.url_keys if (url := self._scalar(key)) is not None), None)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that the host sets."""
        env = self.node.members.get("env")
        members = env.members if env is not None else {}
        return {key: node.scalar for key, node in members.items() if node.kind == "string"}

    @property
    def proxied(self) -> "Proxied | None":
        """What stands behind the proxy; None if the proxy is not in front."""
        return _proxied(self.command or [])

    @property
    def line(self) -> int:
        """The line where it begins."""
        return self.text.count("\n", 0, max(self.node.key_start, 0)) + 1

    @property
    def span(self) -> tuple[int, int]:
        """Where its text begins and ends; a table of TOML ends with the last of its values."""
        return self.node.key_start, _end(self.node)

    @property
    def obstacle(self) -> str | None:
        """Why the proxy cannot stand in front; None if it can."""
        if self.proxied is not None:
            return "the proxy is already in front"
        if self.command is not None:
            return None
        if self.url is None:
            return "it has neither a command nor a URL that can be understood"
        if not self.url.lower().startswith(("http://", "https://", "$")):
            return "its URL is not an HTTP address"
        if key := next((key for key in _SIGN_IN if key in self.node.members), None):
            return f"the host signs in to it ({key})"
        headers = self.node.members.get(_header_key(self.host))
        if "env" in self.node.members or (headers is not None and not _all_strings(headers)):
            return "it has headers or variables of a form that cannot be moved"
        return None

    @property
    def may_sign_in(self) -> bool:
        """Whether the host may sign in to it: it is elsewhere, and no header says who calls."""
        names = (_header_key(self.host), _BEARER, _FROM_VARIABLES)
        return (
            self.command is None
            and not any(name in self.node.members for name in names)
            and not is_loopback(hostname_in(self.url or "") or "")
        )

    def _scalar(self, key: str) -> str | None:
        node = self.node.members.get(key)
        return node.scalar if node is not None and node.kind == "string" else None


class Proxied(NamedTuple):
    """What a command that starts the proxy has in front and behind: a server's command, or its URL and headers."""

    length: int
    command: list[str]
    url: str | None
    headers: list[tuple[str, str]]


def find_servers(host: Host, text: str) -> Iterator[Server]:
    """Yield the servers in a file of a host.

    Raises:
        BadConfig: it cannot be parsed.
    """
    root = _form(host).parse(text)
    if root.kind != "table":
        raise BadConfig("it is not a table of settings")
    for keys in host.tables:
        for path, table in _tables(root, keys):
            for name, node in table.members.items():
                if node.kind == "table":
                    yield Server(host, (*path, name), node, text)


def wrap(server: Server, start: Sequence[str], options: Sequence[str] = ()) -> list[MemberChange]:
    """Return the changes that put the proxy in front of a server that has no `obstacle`.

    *start* is the command that starts the proxy, and *options* are the proxy's own.
    """
    front = [*start[1:], "proxy", f"--name={server.name}", *options]
    if server.command is not None:
        return _wrap_command(server, start[0], [*front, "--", server.command[0]])
    return _wrap_url(server, start[0], front)


def unwrap(server: Server) -> list[MemberChange]:
    """Return the changes that take the proxy away, by what the table says: for one that was edited since.

    Raises:
        BadConfig: too much of it was edited.
    """
    behind = server.proxied
    assert behind is not None
    if behind.url is not None:
        return _unwrap_url(server, behind)
    form = _form(server.host)
    args = server.node.members["args"]
    rest = args.items[behind.length :]
    # What was put in goes up to the comma behind it, or up to the end of the last item.
    start, end = args.start + 1, args.items[behind.length - 1].end
    if rest:
        end = form.after_blank(server.text, end) + 1
        # A blank that only separates from the words in front goes with them.
        if server.text[end : end + 1] == " " and not server.text[args.end - 2].isspace():
            end += 1
    return [
        _replaced(server, "command", form.quote(behind.command[0])),
        _replaced(server, "args", server.text[args.start : start] + server.text[end : args.end]),
    ]


def locate(server: Server, key: str, text: str) -> Splice | None:
    """Return where a member stands that is written like this, up to its last character; None if there is none."""
    node = server.node.members.get(key)
    if node is None or not server.text.startswith(text, node.key_start):
        return None
    return Splice(node.key_start, node.key_start + len(text), "")


def _tables(node: Node, keys: Sequence[str], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
    if not keys:
        if node.kind == "table":
            yield path, node
        return
    names = list(node.members) if keys[0] == "*" else [keys[0]] if keys[0] in node.members else []
    for name in names:
        yield from _tables(node.members[name], keys[1:], (*path, name))


def _form(host: Host) -> ModuleType:
    return toml_document if host.is_toml else json_document


def _header_key(host: Host) -> str:
    return "http_headers" if host.is_toml else "headers"


def _all_strings(table: Node) -> bool:
    return table.kind == "table" and all(node.kind == "string" for node in table.members.values())


def _end(node: Node) -> int:
    return max([node.end, *(_end(member) for member in node.members.values())])


def _proxied(command: list[str]) -> Proxied | None:
    """Return what stands behind the proxy, which is started by its name or by a program like uvx with its name."""
    names = [number for number, word in enumerate(command) if _PROGRAM.search(word)]
    at = next((number for number in names if command[number + 1 : number + 2] == ["proxy"]), None)
    if at is None or "--" in command[:at]:
        return None
    options = command[at + 2 :]
    if "--" in options and options[-1] != "--":
        end = options.index("--") + 1
        return Proxied(at + 2 + end, options[end:], None, [])
    if "--url" not in options[:-1]:
        return None
    headers = [
        (name, variable)
        for option, value in pairwise(options)
        if option == _HEADER_OPTION
        for name, _, variable in [value.partition(":")]
    ]
    return Proxied(len(command) - 1, [], options[options.index("--url") + 1], headers)


def _wrap_command(server: Server, program: str, front: list[str]) -> list[MemberChange]:
    form, text, args = _form(server.host), server.text, server.node.members.get("args")
    changed = _replaced(server, "command", form.quote(program))
    if args is None:
        added = f"{_separator(server, 'command')}{_key(server, 'command', 'args')}{_array(form, front)}"
        return [changed._replace(after=changed.after + added)]
    between = re.compile(r"\s*").match(text, args.start + 1)
    assert between is not None
    is_empty = not args.items
    # One on each line, where those that are there have a line each.
    blank = between.group() if "\n" in between.group() and not is_empty else ""
    words = [form.quote(word) for word in front]
    new = "".join(f"{blank}{word}," for word in words) if blank else ", ".join(words) + ("" if is_empty else ", ")
    if not blank and between.group():
        new = new.rstrip(" ")
    return [
        changed,
        _replaced(server, "args", text[args.start : args.start + 1] + new + text[args.start + 1 : args.end]),
    ]


def _wrap_url(server: Server, program: str, front: list[str]) -> list[MemberChange]:
    form, members = _form(server.host), server.node.members
    url_key = next(key for key in server.host.url_keys if key in members)
    words = [*front, "--url", server.url or ""]
    changes: list[MemberChange] = []
    headers = members.get(_header_key(server.host))
    if headers is not None and headers.members:
        variables = {f"{HEADER_VARIABLE}{number}": name for number, name in enumerate(headers.members, 1)}
        words += [word for variable, name in variables.items() for word in (_HEADER_OPTION, f"{name}:{variable}")]
        changes.append(_environment_change(server, headers, list(variables)))
    words += _header_variables(server, changes)
    command = (
        f"{_key(server, url_key, 'command')}{form.quote(program)}"
        f"{_separator(server, url_key)}{_key(server, url_key, 'args')}{_array(form, words)}"
    )
    changes.append(MemberChange(url_key, _text(server, url_key), "command", command))
    if "type" in members:
        changes.append(_replaced(server, "type", form.quote("stdio")))
    return changes


def _header_variables(server: Server, changes: list[MemberChange]) -> list[str]:
    """Return the options for headers whose values Codex takes from variables, and have the variables passed on."""
    members = server.node.members
    from_variables = members.get(_FROM_VARIABLES)
    named = dict(from_variables.value) if from_variables is not None else {}
    words = [word for name, variable in named.items() for word in (_HEADER_OPTION, f"{name}:{variable}")]
    if not server.host.is_toml or (_BEARER not in members and not named):
        return words
    if _BEARER in members:
        words += ["--header", f"Authorization: Bearer ${{{members[_BEARER].scalar}}}"]
    # Codex hands no variables to a server but those that are named.
    variables = [*([members[_BEARER].scalar] if _BEARER in members else []), *named.values()]
    keys = [key for key in (_BEARER, _FROM_VARIABLES) if key in members]
    if len(keys) > 1 or not members[keys[0]].is_inline or "env_vars" in members:
        raise BadConfig("its headers are of a form that cannot be moved")
    passed = f"{_key(server, keys[0], 'env_vars')}{_array(_form(server.host), variables)}"
    changes.append(MemberChange(keys[0], _text(server, keys[0]), "env_vars", passed))
    return words


def _environment_change(server: Server, headers: Node, variables: list[str]) -> MemberChange:
    """Return the change of a table of headers to one of variables: so no secret shows in the list of processes."""
    key, text = _header_key(server.host), server.text
    values = [text[node.start : node.end] for node in headers.members.values()]
    before = text[headers.key_start : _end(headers)]
    if server.host.is_toml:
        if headers.is_inline:
            inside = ", ".join(f"{name} = {value}" for name, value in zip(variables, values, strict=True))
            after = f"{_key(server, key, 'env')}{{ {inside} }}"
        else:
            if not re.fullmatch(r"\[[^\n]*http_headers\s*\]", before.split("\n")[0].rstrip("\r")):
                raise BadConfig("its headers are of a form that cannot be moved")
            newline = "\r\n" if "\r\n" in before else "\n"
            head = before[: before.index("http_headers")] + "env]"
            pairs = [f"{name} = {value}" for name, value in zip(variables, values, strict=True)]
            after = newline.join([head, *pairs])
        return MemberChange(key, before, "env", after)
    # The names change, and all else of the table stays.
    parts, position = ['"env"'], headers.key_start + len('"headers"')
    for variable, node in zip(variables, headers.members.values(), strict=True):
        colon = json_document.string_end(text, node.key_start)
        parts += text[position : node.key_start], f'"{variable}"'
        position = colon
    return MemberChange(key, before, "env", "".join((*parts, text[position : headers.end])))


def _unwrap_url(server: Server, behind: Proxied) -> list[MemberChange]:
    form, members, text = _form(server.host), server.node.members, server.text
    command, args, env = members["command"], members["args"], members.get("env")
    wanted = [variable for _, variable in behind.headers]
    is_whole = re.fullmatch(r"[\s,]*", text[command.end : args.key_start]) and (
        server.host.is_toml is False and list(env.members if env else ()) == wanted
    )
    if not is_whole:
        raise BadConfig("it was edited since the proxy was put in front; restore it from the backup yourself")
    url_key = server.host.url_keys[0]
    address = f"{_key(server, 'command', url_key)}{form.quote(behind.url or '')}"
    changes = [MemberChange("command", text[command.key_start : args.end], url_key, address)]
    if members.get("type") is not None:
        changes.append(_replaced(server, "type", form.quote("http")))
    if env is not None:
        parts, position = ['"headers"'], env.key_start + len('"env"')
        for (name, _), node in zip(behind.headers, env.members.values(), strict=True):
            parts += text[position : node.key_start], form.quote(name)
            position = json_document.string_end(text, node.key_start)
        changes.append(
            MemberChange("env", _text(server, "env"), "headers", "".join((*parts, text[position : env.end])))
        )
    return changes


def _text(server: Server, key: str) -> str:
    node = server.node.members[key]
    return server.text[node.key_start : _end(node)]


def _replaced(server: Server, key: str, value: str) -> MemberChange:
    node, text = server.node.members[key], server.text
    return MemberChange(key, _text(server, key), key, text[node.key_start : node.start] + value)


def _key(server: Server, like: str, key: str) -> str:
    """Return a key with what stands between it and its value, written like another one."""
    node, text = server.node.members[like], server.text
    written = text[node.key_start : node.start]
    if not server.host.is_toml:
        colon = written.index(":", json_document.string_end(text, node.key_start) - node.key_start)
        after = written[colon + 1 :]
        return f'"{key}":{after if after.isspace() or not after else " "}'
    name, equals, _ = written.partition("=")
    if not name.rstrip().endswith(like):
        raise BadConfig("its keys are quoted, which cannot be changed in place")
    return f"{name.rstrip()[: -len(like)]}{key} {equals} "


def _separator(server: Server, key: str) -> str:
    """Return what stands between two members, by the example of what stands before one."""
    node, text = server.node.members[key], server.text
    before = text[: node.key_start]
    blank = before[len(before.rstrip(" \t")) :]
    line = before[: len(before) - len(blank)]
    newline = "\r\n" if line.endswith("\r\n") else "\n" if line.endswith("\n") else ""
    if server.host.is_toml and server.node.is_inline is False:
        return f"{newline or chr(10)}{blank}"
    return f",{newline}{blank}" if newline else ", "


def _array(form: Any, words: Sequence[str]) -> str:
    return f"[{', '.join(form.quote(word) for word in words)}]"
