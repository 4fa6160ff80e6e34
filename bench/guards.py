"""A guarded call beside the bare one and beside a decorator written by hand; exceptions on their way to the wire."""

import functools
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import failwell as fw
from bench.measure import Figure, compare
from failwell.dialects import DIALECTS

NEW_CLASSES = 20_000


def by_hand(function: Callable[..., str]) -> Callable[..., dict[str, Any]]:
    """Return what a server author writes without us."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return {"content": [{"type": "text", "text": function(*args, **kwargs)}], "isError": False}
        except Exception as exc:
            return {"content": [{"type": "text", "text": f"Error: {exc}"}], "isError": True}

    return wrapped


def same_answer(function: Callable[..., str], answer: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """Return what writes the same answer by hand, for this one failure: nothing is redacted, looked up or decided."""
    [block] = answer["content"]
    text, meta = block["text"], answer.get("_meta", {})
    payload = json.loads(text) if text.startswith("{") else None

    @functools.wraps(function)
    def wrapped() -> dict[str, Any]:
        try:
            return {"content": [{"type": "text", "text": function()}], "isError": False}
        except Exception:
            written = text if payload is None else json.dumps(payload)
            return {
                "content": [{"type": "text", "text": written}],
                "isError": True,
                "_meta": {key: dict(value) if isinstance(value, dict) else value for key, value in meta.items()},
            }

    return wrapped


def work() -> str:
    """Succeed at once."""
    return "ok"


def broken() -> str:
    """Fail as a library does."""
    raise ConnectionRefusedError(111, "Connection refused")


def missing() -> str:
    """Fail on purpose."""
    raise fw.NotFound("Task 7 does not exist.")


def run() -> Iterator[Figure]:
    """Measure successes and failures through the guard."""
    logging.getLogger("failwell").disabled = True
    hand = by_hand(work)
    guarded = fw.guard(work)
    metered = fw.guard(observers=[fw.records.Meter()], limit=fw.server.Limit(8))(work)
    yield compare("guard", "guarded success", guarded, "decorator by hand", hand)
    yield compare("guard", "guarded success", guarded, "bare call", work)
    yield compare("guard", "with meter and limit", metered, "decorator by hand", hand)
    for dialect in DIALECTS:
        for what, body in (("declared", missing), ("mapped", broken)):
            guarded = fw.guard(dialect=dialect)(body)
            answer: Any = guarded()
            yield compare(
                "guard",
                f"{what} failure to {dialect}",
                guarded,
                "decorator by hand",
                by_hand(body),
                floor=same_answer(body, answer),
                number=500,
            )
    failure = fw.NotFound("Task 7 does not exist.").failure
    safe = fw.dialects.canonical(failure)
    for dialect, module in DIALECTS.items():
        yield compare(
            "guard",
            f"failure to {dialect} with redaction",
            functools.partial(fw.encode, failure, dialect),
            "without redaction",
            functools.partial(module.encode, safe),
            number=1000,
        )
    yield from _first_time()
    logging.getLogger("failwell").disabled = False


def _first_time() -> Iterator[Figure]:
    classes = iter([type(f"Error{n}", (ConnectionRefusedError,), {}) for n in range(NEW_CLASSES)])
    known = ConnectionRefusedError()
    fw.from_exception(known)
    yield compare(
        "mapping",
        "exception of a new class",
        lambda: fw.from_exception(next(classes)()),
        "of a known class",
        lambda: fw.from_exception(known),
        number=500,
    )
