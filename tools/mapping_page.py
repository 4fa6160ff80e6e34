"""The page of exception rules, from the rule tables."""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby

from failwell import codes
from failwell.exceptions.rules import list_rules

_INTRODUCTION = """\
# How exceptions are classified

Which code an exception gets, package by package, and how to add rules of your own.

The class of an exception decides: the rule of the nearest class in its MRO applies, and no library is imported. The
text of the exception stays in the log; the agent gets the code's sentence.

```python
import failwell as fw

failure = fw.from_exception(ConnectionRefusedError(111, "Connection refused"))

assert (failure.code, failure.type, failure.outcome) == ("CONNECTION_REFUSED", "TRANSIENT", "not_executed")
```

This is the outcome of the operation that failed; a [guard](../howto/guard.md) turns it into that of the whole call.

## Your own classes

One line adds a rule for one of your classes, or overrides a built-in rule:

```python
class OutOfStock(Exception):
    pass


added = fw.rule(OutOfStock, "CONFLICT")

assert fw.from_exception(OutOfStock()).type == "CONFLICT"
added.remove()
```

A rule may be a code, a dict with fields of `Failure`, or a function of the exception that returns one of these,
another exception to classify instead, or `None` if it can't tell. If your rule raises, that is logged and the
built-in rules decide.

For the same class, your rule takes precedence. It also applies to subclasses, unless a nearer class has a rule: a
rule for `ValueError` doesn't affect `json.JSONDecodeError` or pydantic's `ValidationError`, whose texts quote the
input. With `server=`, a rule applies to the tools of one protected server.

## Parse errors

A parser in a tool may read an argument, the response of a service, or a file. It is the caller's mistake only if the
text that couldn't be parsed is one of the arguments. Guards and protected servers know the arguments;
`from_exception` takes them as `arguments=`.

```python
import json


def caught(text):
    try:
        json.loads(text)
    except ValueError as exc:
        return exc


assert fw.from_exception(caught("{"), arguments={"text": "{"}).type == "VALIDATION"
assert fw.from_exception(caught("<html>"), arguments={"city": "Rome"}).type == "INTERNAL"
```

## Classes without a rule

failwell looks, in this order, at the attributes and arguments of the exception (a status, SQLSTATE, errno, code or
delay, also on a response it carries), at the words in its class name (with the outcome `unknown`), and at the
exception it was raised from or holds. If none of them helps, words about the service ("access denied", "too many
requests") decide, with the outcome `unknown`; words about an input don't. Otherwise the code is `INTERNAL_ERROR`, and
it is unknown whether a retry helps. `ValueError`, `KeyError` and the like count as bugs. If a class name says that
several tries were made, what is known about the last one says nothing about the outcome of the others.

## HTTP responses

```python
failure = fw.from_http(429, headers={"Retry-After": "30"})

assert (failure.code, failure.retry_after) == ("RATE_LIMITED", 30)
```

## Rules

The box above the table filters it. `failwell explain httpx.ConnectTimeout` prints the rule for one class.

| package | classes | code, or what it depends on |
|---|---|---|
"""


def page() -> str:
    """Return the page."""
    return _INTRODUCTION + "\n".join(_rows()) + "\n"


def _rows() -> Iterator[str]:
    packages = defaultdict[tuple[str, str], list[str]](list)
    for package, rules in groupby(list_rules(), key=lambda row: row[0]):
        classes = defaultdict[str, list[str]](list)
        for _, name, meaning in rules:
            classes[meaning].append(f"`{name}`")
        for meaning, names in classes.items():
            packages[" ".join(names), meaning].append(package)
    rows = [(_public(found), names, meaning) for (names, meaning), found in packages.items()]
    for found, names, meaning in sorted(rows, key=lambda row: row[0][0].lower()):
        yield f"| {', '.join(found)} | {names} | {_linked(meaning)} |"


def _public(packages: list[str]) -> list[str]:
    return [package for package in packages if not package.startswith("_")] or [
        package.removeprefix("_") for package in packages
    ]


def _linked(meaning: str) -> str:
    return f"[`{meaning}`](codes.md#{meaning.lower()})" if codes.get(meaning) else _condition(meaning)


def _condition(meaning: str) -> str:
    """Return what a code depends on, without the words that the heading of the column says."""
    return re.sub(r"(?<=[,;]) (else )?on (?=\w)", r" \1", meaning.removeprefix("Depends on ").removesuffix("."))
