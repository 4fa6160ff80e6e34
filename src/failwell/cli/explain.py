"""`failwell explain`: what a code, type, HTTP status, JSON-RPC code or exception means, and what to do."""

import builtins
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, TextIO

import typer
from rich.text import Text

import failwell as fw
from failwell._spelling import did_you_mean
from failwell.cli.codes import code_entry, code_rows, find_type
from failwell.cli.completion import code_names
from failwell.cli.console import flag_rows, page, pairs_table, type_text
from failwell.cli.streams import AsJson, Misuse, write_json
from failwell.codes import TYPES, Type
from failwell.exceptions.rules import list_rules
from failwell.phrases.http_codes import STATUSES, code_of_status
from failwell.phrases.rpc_codes import RPC_CODES, SERVER_DEFINED

NUMBERS_ARE_NO_OPTIONS: dict[str, Any] = {"context_settings": {"ignore_unknown_options": True}}
"""How the command is registered: a negative number is something to explain."""

_DEPENDS = "It depends on the text and the data of the error."


class Meaning(NamedTuple):
    """What something stands for: a code, or None and a sentence that says what it depends on."""

    asked: str
    code: str | None
    sentence: str


def explain(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            help="A code, one of the six types, an HTTP status, a JSON-RPC code or an exception.",
            autocompletion=code_names,
            metavar="CODE",
        ),
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Explain a code, an HTTP status, a JSON-RPC code or an exception.

    Shows what it means, whether a retry is safe, what to do, and what the code is called in each error format.

    Example: failwell explain rate_limited

    Example: failwell explain 429

    Example: failwell explain -32601

    Example: failwell explain httpx.ConnectTimeout
    """
    entry = _named(what)
    meanings = [] if entry else list(_meanings(what))
    if entry is None and not meanings:
        raise Misuse(_unknown(what))
    # A name without a package is first of all that of a built-in exception, and those come first.
    first = next((meaning for meaning in meanings if "." not in meaning.asked), None)
    codes = {meaning.code for meaning in ([first] if first else meanings)}
    if entry is None and len(codes) == 1 and (code := codes.pop()):
        entry = code_entry(fw.codes.explain(code))
    shown = {**(entry or {}), **({"meanings": [meaning._asdict() for meaning in meanings]} if meanings else {})}
    if as_json:
        write_json(context.obj.stdout, shown)
    else:
        _show(context.obj.stdout, meanings, entry)


def _named(what: str) -> dict[str, Any] | None:
    """Return all that is known of a code or a type; None if it is the name of neither."""
    try:
        row = fw.codes.explain(what)
    except LookupError:
        return None
    is_type_only = what.upper() in TYPES and row.code != what.upper()
    return _type_entry(find_type(what)) if is_type_only else code_entry(row)


def _meanings(what: str) -> Iterator[Meaning]:
    if what.removeprefix("-").isdecimal():
        yield from _number_meanings(int(what[:9]))
        return
    package, _, name = what.rpartition(".")
    wanted = (package.partition(".")[0].lower(), name.lower())
    found = [
        (in_package, cls, meaning)
        for in_package, cls, meaning in list_rules()
        if cls.lower() == wanted[1] and wanted[0] in ("", in_package.lower())
    ]
    if not found and not package:
        found = list(_inherited(name))
    for in_package, cls, meaning in sorted(found, key=lambda row: row[0] != "builtins"):
        asked = cls if in_package == "builtins" else f"{in_package}.{cls}"
        row = fw.codes.get(meaning)
        yield Meaning(asked, row.code if row else None, f"{asked} becomes {meaning}" if row else f"{asked}: {meaning}")
    if not found and not package and (unmapped := _builtin_exception(name)):
        said = f"{unmapped} has no rule, so it becomes INTERNAL_ERROR"
        yield Meaning(unmapped, "INTERNAL_ERROR", said)


def _number_meanings(number: int) -> Iterator[Meaning]:
    if 400 <= number <= 599:
        code = code_of_status(number)
        is_known = number in STATUSES
        yield Meaning(
            str(number), code, f"HTTP status {number} becomes {code}{'' if is_known else ', like others of its class'}"
        )
    for row in RPC_CODES:
        if row.number == number:
            said = f"becomes {row.received}" if row.received else f"has no fixed meaning. {_DEPENDS}"
            unless = ", unless its text is more specific" if row.received and row.is_unspecific else ""
            yield Meaning(str(number), row.received, f"JSON-RPC code {number} {said}{unless}")
            return
    if number in SERVER_DEFINED:
        yield Meaning(str(number), None, f"JSON-RPC code {number} is defined by each server. {_DEPENDS}")


def _builtin_exception(name: str) -> str | None:
    """Return the name of a built-in exception that tools raise, spelt as Python does; None if it is none."""
    found = (cls for known, cls in vars(builtins).items() if known.lower() == name.lower())
    return next((cls.__name__ for cls in found if isinstance(cls, type) and issubclass(cls, Exception)), None)


def _inherited(name: str) -> Iterator[tuple[str, str, str]]:
    """Yield the rule that a built-in exception has from a class above it."""
    cls = getattr(builtins, _builtin_exception(name) or "", None)
    if cls is None:
        return
    rules = {(package, known): meaning for package, known, meaning in list_rules()}
    above = (rules[key] for base in cls.__mro__ if (key := ("builtins", base.__name__)) in rules)
    yield from (("builtins", cls.__name__, meaning) for meaning in [next(above, None)] if meaning)


def _unknown(what: str) -> str:
    if what.removeprefix("-").isdecimal():
        known = "an HTTP error status nor a JSON-RPC code that failwell knows"
        return f"{what[:40]} is neither {known}; failwell codes lists all codes"
    package, dot, name = what.rpartition(".")
    classes = {cls: f"{package}{dot}{cls}" for known, cls, _ in list_rules() if package in ("", known)}
    meant = (
        did_you_mean(what, classes.values())
        if dot
        else did_you_mean(what.upper(), [row.code for row in fw.codes.rows()]) or did_you_mean(name, classes)
    )
    return f"unknown code or exception {what[:100]!r}{meant or '; failwell codes lists all codes'}"


def _type_entry(type_: Type) -> dict[str, Any]:
    """Return all that a type alone says, and the codes that belong to it."""
    defaults = TYPES[type_]
    return {
        "type": type_,
        "meaning": defaults.meaning,
        "recoverable": defaults.recoverable,
        "retryable": defaults.retryable,
        "outcome": defaults.outcome,
        "codes": [row.code for row in code_rows(type_)],
    }


def _show(stdout: TextIO, meanings: list[Meaning], entry: dict[str, Any] | None) -> None:
    with page(stdout) as console:
        for meaning in meanings:
            console.print(meaning.sentence if meaning.sentence.endswith(".") else f"{meaning.sentence}.")
        if entry is not None:
            if meanings:
                console.print()
            _show_entry(console, entry)


def _show_entry(console: Any, entry: dict[str, Any]) -> None:
    """Show all that is known of a code, or of a type."""
    names = entry.get("names", {})
    console.print(Text(entry.get("code") or entry["type"], "bold"))
    console.print(entry.get("title") or entry["meaning"])
    console.print()
    console.print(
        pairs_table(
            (
                ("type", type_text(entry["type"])),
                ("HTTP status", str(entry.get("http_status", ""))),
                *flag_rows(**{flag: entry[flag] for flag in ("recoverable", "retryable", "outcome")}),
                ("suggestion", entry.get("suggestion")),
                ("also known as", ", ".join(entry.get("aliases", ()))),
                *((f"in {dialect}", name) for dialect, name in names.items()),
                ("codes", ", ".join(entry.get("codes", ()))),
            )
        )
    )
