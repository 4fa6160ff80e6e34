"""What is read in results of real servers, what is advised, and what a model is told."""

import json
from collections.abc import Iterator
from typing import Any

from tests.golden import api, inputs
from tests.golden.case import Case, canonical, plain
from tests.golden.inputs import Row

HINTS: dict[str, Any] = {"none": None, "readOnly": {"readOnlyHint": True}, "idempotent": {"idempotentHint": True}}
ATTEMPTS = (1, 2, 3, 4)
NOW = 1_794_800_000.0


def cases() -> Iterator[Case]:
    """Yield a case for every line of the corpora, with what each way of calling `read` finds in it."""
    for source in (inputs.failures(), inputs.repairs(), inputs.sessions()):
        for name, row in source:
            yield Case(name, lambda row=row: _read_in_all_forms(row))
    for number, (name, row) in enumerate(inputs.successes()):
        yield Case(name, lambda row=row: _read_in_all_forms(row), is_heavy=number % 3 > 0)
    for name, dialect, vector in inputs.vectors():
        for number, result in enumerate(_results_of(vector), 1):
            yield Case(
                f"vector/{name}-{number}", lambda result=result, dialect=dialect: _read_as_dialects(result, dialect)
            )


def _results_of(vector: Row) -> Iterator[Any]:
    """Yield the results that a vector shows, whatever it shows them as."""
    texts = [vector[key] for key in ("text",) if key in vector]
    texts += [json.dumps(vector[key]) for key in ("json", "json_subset") if key in vector]
    for text in texts:
        for flag in (True, False):
            yield {"content": [{"type": "text", "text": text}], "isError": flag}
    if "result" in vector:
        yield vector["result"]


def _read_in_all_forms(row: Row) -> list[Any]:
    call = {"tool": row.get("tool"), "arguments": row.get("arguments")}
    known = {**call, "input_schema": row.get("inputSchema"), "annotations": row.get("annotations")}
    text = row.get("text") or _first_text(row["raw"])
    forms = {
        "bare": (row["raw"], {}),
        "call": (row["raw"], call),
        "known": (row["raw"], known),
        "unflagged bare": (row["raw"], {"unflagged": True}),
        "unflagged call": (row["raw"], {**call, "unflagged": True}),
        "unflagged known": (row["raw"], {**known, "unflagged": True}),
        "text": (text, {}),
        "text known": (text, known),
    }
    return grouped({form: api.read(what, now=NOW, **how) for form, (what, how) in forms.items()})


def _read_as_dialects(result: Any, own: str) -> list[Any]:
    forms: dict[str, dict[str, Any]] = {"bare": {}, "unflagged": {"unflagged": True}, "own": {"dialect": own}}
    forms |= {dialect: {"dialect": dialect} for dialect in api.DIALECTS}
    return grouped({form: api.read(result, now=NOW, **how) for form, how in forms.items()})


def _first_text(raw: Any) -> str:
    result = raw.get("result", raw)
    if "error" in raw:
        return str(raw["error"].get("message"))
    return next((str(block["text"]) for block in result.get("content", ()) if "text" in block), "")


def grouped(found: dict[str, api.Failure | None]) -> list[Any]:
    """Return each failure once, with the forms that gave it and what follows from it."""
    groups: dict[str, dict[str, Any]] = {}
    for form, failure in found.items():
        group = groups.setdefault(canonical(plain(failure)), {"forms": [], "failure": plain(failure)})
        if not group["forms"] and failure is not None:
            group |= {"decide": decided(failure), "render": rendered(failure)}
        group["forms"].append(form)
    return list(groups.values())


def decided(failure: api.Failure) -> list[Any]:
    """Return every decision about a failure once, with the hints and attempts that lead to it."""
    found: dict[str, tuple[list[str], Any]] = {}
    for name, hints in HINTS.items():
        for attempt in ATTEMPTS:
            decision = plain(api.decide(failure, hints, attempt=attempt))
            found.setdefault(canonical(decision), ([], decision))[0].append(f"{name} {attempt}")
    return [{"when": " · ".join(when), **decision} for when, decision in found.values()]


def rendered(failure: api.Failure) -> dict[str, str]:
    """Return what a model is told of a failure, each text once."""
    found: dict[str, str] = {}
    for name, hints in HINTS.items():
        for attempt in ATTEMPTS:
            found.setdefault(api.render(failure, hints, attempt=attempt), f"{name} {attempt}")
    return {when: text for text, when in found.items()}
