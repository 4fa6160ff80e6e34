"""The page of exception rules, from the rule tables."""

from collections.abc import Iterator
from itertools import groupby

from failwell import codes
from failwell.exceptions.rules import list_rules

_INTRODUCTION = """\
# Exceptions

Generated from the rules. A tool's exception becomes a failure by its class: the nearest class along the MRO decides,
and no library is imported for it. Text of the exception stays in the log; the agent gets the sentence of the code.

```python
import failwell as fw

failure = fw.from_exception(ConnectionRefusedError(111, "Connection refused"))

assert (failure.code, failure.type, failure.outcome) == ("CONNECTION_REFUSED", "TRANSIENT", "not_executed")
```

The outcome here is that of the operation that failed. A [guard](guard.md) turns it into the outcome of the whole call.

## Your own classes

One line adds a rule for a class of yours, or overrides one of ours:

```python
class OutOfStock(Exception):
    pass


added = fw.rule(OutOfStock, "CONFLICT")

assert fw.from_exception(OutOfStock()).type == "CONFLICT"
added.remove()
```

A rule may be a code, a dict with fields of `Failure`, or a function of the exception that returns one of these, another
exception to look at instead, or `None` if it does not know. A rule that raises is logged, and ours decide.

Your rule goes before ours for the same class, and holds for the classes below it, unless a nearer class has a rule,
yours or ours: a rule for `ValueError` does not touch `json.JSONDecodeError` or pydantic's `ValidationError`, whose
texts quote the input.

## Classes nobody wrote a rule for

In this order: a status, SQLSTATE, code or delay among the attributes of an exception of an unknown library; the words
in its class name, with the outcome `unknown`; the exception it was raised from. What is left is `INTERNAL_ERROR`, and
nobody can say whether another try helps. `ValueError`, `KeyError` and the like are bugs until you say otherwise.

## HTTP answers

```python
failure = fw.from_http(429, headers={"Retry-After": "30"})

assert (failure.code, failure.retry_after) == ("RATE_LIMITED", 30)
```

## Rules
"""


def page() -> str:
    """Return the page."""
    return _INTRODUCTION + "\n".join(_tables()) + "\n"


def _tables() -> Iterator[str]:
    for package, rules in groupby(list_rules(), key=lambda row: row[0]):
        yield f"\n### {package}\n\n| class | becomes |\n|---|---|"
        for _, name, meaning in rules:
            yield f"| `{name}` | {_linked(meaning)} |"


def _linked(meaning: str) -> str:
    return f"[`{meaning}`](codes.md#{meaning.lower()})" if codes.get(meaning) else meaning
