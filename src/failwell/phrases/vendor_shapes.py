"""Vendors by the shape of their errors."""

from typing import NamedTuple

from failwell.phrases.meanings import Rows


class Vendor(NamedTuple):
    """A vendor: its codes, and how an error object of it is told; any one shape is enough."""

    name: str
    rows: Rows
    shapes: tuple[str, ...] = ()
