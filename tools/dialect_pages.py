"""A page for each dialect and one about their limits, from the dialects themselves."""

import json
from collections.abc import Iterator
from typing import Any

from tests.dialects.limits import CANNOT_SAY

import failwell as fw
from failwell.dialects import DIALECTS
from tools.dialect_prose import ABOUT, FIELDS

_WITHOUT_META = """\
Every result also carries the whole failure in `_meta`, so `read` loses nothing. If something between server and agent
drops `_meta`, [some fields are lost](limits.md)."""
_ABOUT_LIMITS = """\
# Limits of each format

What `read` returns for each field if `_meta`, which holds the whole failure, got lost on the way. An empty cell means
that the field survives in the text.

The format meta keeps `errorType`, `errorCode` and `retryable` in `_meta` itself; for it, only failwell's copy counts as
lost."""
_EXAMPLES: tuple[tuple[str, fw.Failure], ...] = (
    ("Something that does not exist", fw.NotFound.of("task", "t-17", actions=["list_tasks"]).failure),
    ("A delay", fw.RateLimited("Only 10 calls a minute are allowed.", retry_after=30).failure),
)
_SETTINGS: dict[str, dict[str, Any]] = {"envelope": {"clock": lambda: "2026-03-01T12:00:00+00:00"}}


def pages() -> dict[str, str]:
    """Return every page by its path."""
    found = {f"reference/dialects/{name}.md": "\n".join(_page(name)) + "\n" for name in DIALECTS}
    return {**found, "reference/dialects/limits.md": "\n".join(_limits()) + "\n"}


def _page(name: str) -> Iterator[str]:
    yield from (f"# {name}", "", ABOUT[name], "", "## Fields", "")
    yield from _fields(name)
    yield from ("", "## Examples")
    for title, failure in (*_EXAMPLES, ("Wrong arguments", _wrong_arguments())):
        yield from ("", f"{title}:", "")
        yield from _shown(fw.encode(failure, name, **_SETTINGS.get(name, {})))
    yield from ("", _WITHOUT_META)


def _wrong_arguments() -> fw.Failure:
    problems = fw.Validation(tool="create_user")
    problems.add("email", None, required=True)
    problems.add("role", "boss", "No such role", kind="enum", options=["admin", "user"])
    failure = problems.failure
    assert failure is not None
    return failure


def _fields(name: str) -> Iterator[str]:
    schema = _schema(name)
    if schema is None:
        yield from ("| part | what it says |", "|---|---|")
        yield from (f"| {part} | {meaning} |" for part, meaning in FIELDS[name].items())
        return
    yield from ("| field | type | written | what it says |", "|---|---|---|---|")
    for field, meaning in FIELDS[name].items():
        rule = schema["properties"][field]
        written = "always" if field in schema["required"] else "if there is something to say"
        yield f"| `{field}` | {_type_words(rule)} | {written} | {meaning} |"
    yield from ("", f"The schema: `failwell schema {name}`.")


def _schema(name: str) -> dict[str, Any] | None:
    json_schema = getattr(DIALECTS[name], "json_schema", None)
    return json_schema() if json_schema else None


def _type_words(rule: dict[str, Any]) -> str:
    if "const" in rule:
        return f"`{json.dumps(rule['const'])}`"
    kinds = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
    return " or ".join(kinds) + (f", one of {len(rule['enum'])}" if "enum" in rule else "")


def _shown(result: dict[str, Any]) -> Iterator[str]:
    text: str = result["content"][0]["text"]
    if text.startswith("{"):
        yield from ("```json", json.dumps(json.loads(text), indent=2, ensure_ascii=False), "```")
    else:
        yield from ("```xml" if text.startswith("<") else "```text", text, "```")
    beside = {key: value for key, value in result["_meta"].items() if not key.startswith("dev.failwell/")}
    if beside:
        yield from ("", "with `_meta`:", "", "```json", json.dumps(beside), "```")


def _limits() -> Iterator[str]:
    yield from (_ABOUT_LIMITS, "")
    yield from (f"| field | {' | '.join(CANNOT_SAY)} |", "|---" * (len(CANNOT_SAY) + 1) + "|")
    for field in fw.Failure.__struct_fields__:
        cells = [says.get(field, "") for says in CANNOT_SAY.values()]
        if any(cells):
            yield f"| `{field}` | {' | '.join(cells)} |"
