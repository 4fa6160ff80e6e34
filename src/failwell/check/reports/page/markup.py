"""HTML that is safe by construction: text is scrubbed and escaped unless it is `Markup`, which only `tag` makes."""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

from failwell.check.reports.shown import shown

_VOID = frozenset(("input", "link", "meta", "rect", "circle"))


class Markup(str):
    """HTML that needs no escaping any more."""

    __slots__ = ()


Child: TypeAlias = "str | Iterable[Child] | None"
Attribute = str | int | float | bool | None


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """Return an element. Attributes are named as in Python: `class_`, `aria_label`; None leaves one out."""
    written = "".join(map(_attribute, attributes.items()))
    if name in _VOID:
        return Markup(f"<{name}{written}>") if name in ("input", "link", "meta") else Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Child) -> Markup:
    """Return children as one piece of HTML."""
    if children is None:
        return Markup()
    if isinstance(children, Markup):
        return children
    if isinstance(children, str):
        return Markup(escape(shown(children)))
    return Markup("".join(map(joined, children)))


def _attribute(item: tuple[str, Attribute]) -> str:
    name, value = item
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(shown(str(value)))}"'
