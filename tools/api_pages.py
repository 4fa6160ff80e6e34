"""The pages of the public names, from their signatures and docstrings, each with an example that the tests run."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import failwell as fw

_EXAMPLES = Path(__file__).parent / "api_examples"
_SECTION = re.compile(r"^# %% (.+)\n", re.MULTILINE)
_WIDEST = 100
_LONGEST_DEFAULT = 30

PACKAGES = {
    "failwell": "The top level: what servers raise, what agents read, and how both are switched on.",
    "failwell.codes": "The catalog of error codes, and how to add to it.",
    "failwell.dialects": "The five formats that a failure can be written in.",
    "failwell.client": "What agents use: calls that are read, retried where that is safe, and repaired.",
    "failwell.server": "What servers use: settings of protected servers, contracts, limits, idempotency.",
    "failwell.retry": "Retries: limits that calls share, and the engine for drivers of your own.",
    "failwell.records": "Records of tool calls: writing, reading, and how often agents recovered.",
    "failwell.metrics": "Figures for Prometheus.",
    "failwell.testing": "Tests of code that retries: no waiting, and a log of what happened.",
}
"""The public packages and what they are for. The names of each are its `__all__`."""

_SETUP = {
    "failwell": "import asyncio\n\nimport failwell as fw\nfrom failwell.testing import instant\n"
    "from mcp.client.client import Client\nfrom mcp.server import MCPServer",
    "failwell.client": "import asyncio\n\nimport failwell as fw",
    "failwell.retry": "import asyncio\n\nimport failwell as fw",
    "failwell.metrics": "import failwell as fw\nfrom failwell.metrics import Metrics, MetricsServer",
    "failwell.server": "import failwell as fw\nfrom mcp.server import MCPServer",
}


@dataclass(frozen=True)
class Example:
    """A piece of code, and the names that it shows."""

    names: tuple[str, ...]
    code: str


def pages() -> dict[str, str]:
    """Return every page by its path below docs/."""
    found = {f"reference/api/{_short(package)}.md": "\n".join(_page(package)) + "\n" for package in PACKAGES}
    return {"reference/api/index.md": "\n".join(_index()) + "\n", **found}


def names_of(package: str) -> list[str]:
    """Return the names that are described on the page of a package: not its modules, nor what another page has."""
    module = import_module(package)
    elsewhere = {
        name for name in fw.__all__ if package != "failwell" and getattr(module, name, None) is getattr(fw, name)
    }
    if package == "failwell.records":
        elsewhere.add("Event")  # on the page of failwell.retry
    return [
        name for name in module.__all__ if name not in elsewhere and not isinstance(getattr(module, name), ModuleType)
    ]


def examples(package: str) -> list[Example]:
    """Return the examples of a package, in their order; exceptions get one each that follows from the catalog."""
    text = (_EXAMPLES / f"{_short(package)}.py").read_text(encoding="utf-8")
    parts = _SECTION.split(text)
    found: list[Example] = []
    for names, code in zip(parts[1::2], parts[2::2], strict=True):
        if names == "EXCEPTIONS":
            found += map(_exception_example, _exceptions())
        else:
            found.append(Example(tuple(names.split(", ")), code.strip()))
    return found


def _short(package: str) -> str:
    return package.rpartition(".")[2]


def _exceptions() -> list[str]:
    return [
        name
        for name in fw.__all__
        if isinstance(found := getattr(fw, name), type)
        and issubclass(found, fw.ToolFailure)
        and found is not fw.ToolFailure
    ]


def _is_own_exception(thing: Any) -> bool:
    """Tell whether this is an exception that takes what `ToolFailure` takes."""
    return (
        isinstance(thing, type)
        and issubclass(thing, fw.ToolFailure)
        and thing is not fw.ToolFailure
        and inspect.signature(thing) == inspect.signature(fw.ToolFailure)
    )


def _exception_example(name: str) -> Example:
    cls = getattr(fw, name)
    words = re.split(r"[.;:]", inspect.getdoc(cls) or "")[0]
    failure = cls(f"{words}.").failure
    found = f'["{failure.code or failure.type}", "{failure.outcome}"]'
    which = "code" if failure.code else "type"
    code = f'failure = fw.{name}("{words}.").failure\n\nassert [failure.{which}, failure.outcome] == {found}'
    return Example((name,), code)


def _index() -> Iterator[str]:
    yield "# API reference\n"
    yield "Every public name with its signature and an example. All examples are run by the tests.\n"
    yield "| package | for | names |\n|---|---|---|"
    for package, purpose in PACKAGES.items():
        names = ", ".join(f"[`{name}`]({_short(package)}.md#{name.lower()})" for name in names_of(package))
        yield f"| [`{package}`]({_short(package)}.md) | {purpose} | {names} |"
    yield "\nThe modules of [`failwell.integrations`](../../integrations/index.md) and the"
    yield "[pytest plugin](../../integrations/pytest.md) have pages of their own. All other modules are internal."


def _page(package: str) -> Iterator[str]:
    yield f"# {package}\n\n{PACKAGES[package]}\n"
    yield f"```python\n{_SETUP.get(package, 'import failwell as fw')}\n```"
    module = import_module(package)
    for example in examples(package):
        for place, name in enumerate(example.names):
            yield from _entry(package, name, getattr(module, name))
            if place == 0:
                yield f"\n```python\n{example.code}\n```"
            else:
                yield f"\nExample: see [`{example.names[0]}`](#{example.names[0].lower()})."


def _entry(package: str, name: str, thing: Any) -> Iterator[str]:
    yield f"\n## `{name}`"
    if _is_own_exception(thing):
        parent = thing.__base__.__name__
        article = "An" if parent[0] in "AEIOU" else "A"
        yield f"\n{article} [`{parent}`](#{parent.lower()}), with the same arguments."
    elif signature := _signature(name, thing):
        yield f"\n```text\n{signature}\n```"
    said = _docstring(package, name, thing)
    if said:
        yield f"\n{said}"
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        methods = list(_methods(thing))
        if methods:
            yield "\n" + "\n".join(methods)


def _signature(name: str, thing: Any) -> str | None:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    if getattr(thing, "_is_protocol", False):
        return None
    parts: list[str] = []
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    for place, parameter in enumerate(signature.parameters.values()):
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.VAR_POSITIONAL not in kinds and "*" not in parts:
            parts.append("*")
        parts.append(_parameter(parameter))
        is_last_positional = parameter.kind is parameter.POSITIONAL_ONLY and (
            place + 1 == len(kinds) or kinds[place + 1] is not parameter.POSITIONAL_ONLY
        )
        if is_last_positional:
            parts.append("/")
    line = f"{name}({', '.join(parts)}){_result(thing, signature)}"
    if len(line) <= _WIDEST:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){_result(thing, signature)}"])


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{stars}{parameter.name}"
    if parameter.annotation is not parameter.empty:
        text += f": {_type(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        text += f" = {_default(parameter.default)}"
    return text


def _default(value: Any) -> str:
    if isinstance(value, fw.Policy):
        return "Policy()"
    text = repr(value)
    is_literal = re.fullmatch(r"[\w.'\"()\[\]{}, -]*", text) is not None
    return text if is_literal and len(text) <= _LONGEST_DEFAULT else "…"


def _result(thing: Any, signature: inspect.Signature) -> str:
    if inspect.isclass(thing) or signature.return_annotation in (inspect.Signature.empty, None):
        return ""
    return f" -> {_type(signature.return_annotation)}"


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text).replace("~", "")
    text = re.sub(r"Literal\[([^\]]*)\]", lambda choices: choices[1].replace(", ", " | "), text)
    return re.sub(r"Optional\[([^\]]*)\]", r"\1 | None", text)


def _docstring(package: str, name: str, thing: Any) -> str:
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return _VALUES[f"{package}.{name}"]
    summary, _, rest = (inspect.getdoc(thing) or "").partition("\n")
    return "\n".join([summary, *_body(rest.splitlines())]).rstrip()


_VALUES = {
    "failwell.Result": "What a step returns: `Ok[T]` or `Err`. `if result.ok:` tells type checkers which one.",
    "failwell.codes.TYPES": "The six types of failures, by name.",
    "failwell.dialects.DIALECTS": "The five formats, by name.",
    "failwell.retry.Effect": "What a driver is told to do next: `Try`, `Ask`, `Wait` or `Finish`.",
}
"""What values that have no docstring are."""


def _body(lines: list[str]) -> Iterator[str]:
    """Yield the rest of a docstring as Markdown: arguments and exceptions as lists, code as text."""
    in_list = in_code = False
    for line in lines:
        if line.startswith("```"):
            in_code = not in_code
            yield "```text" if in_code else line
        elif line in ("Args:", "Raises:", "Returns:"):
            in_list = True
            yield f"{line.removesuffix(':').replace('Args', 'Arguments')}:\n"
        elif in_list and (found := re.match(r" {4}(\*?[\w.]+): (.*)", line)):
            yield f"- `{found[1]}`: {found[2]}"
        elif in_list and line.startswith("        "):
            yield f"  {line.strip()}"
        elif line.startswith("    ") and not in_code:
            yield f"    {line}"
        else:
            yield line


def _methods(cls: type) -> Iterator[str]:
    for name, value in sorted(vars(cls).items()):
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        said = (inspect.getdoc(value) or "").partition("\n")[0]
        if name.startswith("_") or not said:
            continue
        if isinstance(value, property):
            yield f"- `.{name}`: {said}"
        elif inspect.isfunction(function):
            named = [
                one.name for one in inspect.signature(function).parameters.values() if one.name not in ("self", "cls")
            ]
            yield f"- `.{name}({', '.join(named)})`: {said}"
