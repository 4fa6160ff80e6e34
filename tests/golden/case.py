"""What a recording is made of: named cases, and the values they give."""

import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec


class Case(NamedTuple):
    """One recorded value: what it is called, how to get it, and the distribution whose version it depends on.

    A heavy one is left out of the usual run of the tests.
    """

    name: str
    make: Callable[[], Any]
    needs: str = ""
    is_heavy: bool = False


def plain(value: Any) -> Any:
    """Return a value as JSON knows it; keys that are not set are left out."""
    return msgspec.to_builtins(value, enc_hook=_odd)


def _odd(_: Any) -> str:
    return "<object>"


def canonical(value: Any) -> str:
    """Return a value as one line of JSON that is the same whatever order its keys were set in."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def digest(value: Any) -> str:
    """Return what tells two values apart."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]


# What is different each time, and what it is recorded as. The same thing gets the same number within one case.
# Seconds and calls come first, because their digits can look like names.
_CHANGING = (
    ("seconds", re.compile(r'(?<="time":)[\d.e-]+|(?<="elapsed":)[\d.e-]+|(?<=in )\d+\.\d+(?= s\b)')),
    ("call", re.compile(r'(?<="call":")[^"]+|(?<="call":)\d+')),
    ("digest", re.compile(r"\b[0-9a-f]{32}\b")),
    ("session", re.compile(r"\b[0-9a-f]{16}\b")),
    ("id", re.compile(r"\b[a-f][0-9a-f]{11}\b")),
    ("moment", re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")),
    ("port", re.compile(r"(?<=127\.0\.0\.1:)\d+")),
)
_TOLD_APART = ("digest", "session", "id")
_NUMBERS = ("time", "elapsed", "seconds")


def steady(value: Any, **hidden: str) -> Any:
    """Return a value without what differs from run to run; *hidden* maps names to texts, such as paths."""
    seen: dict[str, dict[str, int]] = {kind: {} for kind, _ in _CHANGING}

    def text(found: str) -> str:
        for name, secret in hidden.items():
            found = found.replace(secret, f"<{name}>")
        for kind, pattern in _CHANGING:
            numbers = seen[kind]
            if kind in _TOLD_APART:
                found = pattern.sub(
                    lambda m, kind=kind, numbers=numbers: f"<{kind} {numbers.setdefault(m[0], len(numbers) + 1)}>",
                    found,
                )
            else:
                found = pattern.sub(f"<{kind}>", found)
        return found

    def walk(found: Any, key: str = "") -> Any:
        if key == "call" and found:
            return "<call>"
        if isinstance(found, str):
            return text(found)
        if isinstance(found, dict):
            return {name: walk(inner, name) for name, inner in found.items()}
        if isinstance(found, list | tuple):
            return [walk(inner) for inner in found]
        return f"<{key}>" if key in _NUMBERS and isinstance(found, float) else found

    return walk(value)


@contextmanager
def logged() -> Iterator[list[str]]:
    """Collect what failwell logs, and keep it from being shown."""
    lines: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.levelname}: {record.getMessage()}{' with a traceback' if record.exc_info else ''}")

    logger, handler = logging.getLogger("failwell"), Collector()
    before = logger.propagate, logger.level
    logger.addHandler(handler)
    logger.propagate = False
    logger.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.propagate = before[0]
        logger.setLevel(before[1])
