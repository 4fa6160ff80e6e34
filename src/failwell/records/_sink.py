"""`Sink`: what takes batches of records; `open_sink`: the one at an address."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol

from failwell.records._record import Record

_SQL = "failwell.records._sql"
_JSONL = "failwell.records._jsonl"
_OTLP = "failwell.records._otlp"

# What an address begins with, and the module that opens it.
_OPENERS = {
    "jsonl:": _JSONL,
    "otlp:": _OTLP,
    "sqlite:": _SQL,
    "postgresql:": _SQL,
    "postgres:": _SQL,
    "postgresql+psycopg:": _SQL,
}


class Sink(Protocol):
    """Takes batches of records, from one thread at a time."""

    def write(self, batch: Sequence[Record], /) -> None:
        """Keep all records of a batch, or raise and keep none, if that can be."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def open_sink(address: str) -> Sink:
    """Return the sink at an address: `jsonl:PATH`, `sqlite:///PATH`, `postgresql://HOST/DATABASE`, `otlp:URL`.

    Nothing is connected to before the first batch, so that a store that is away keeps nothing from starting.

    Raises:
        ValueError: there is no such sink.
        ImportError: the library that it needs is not installed.
    """
    scheme = address.partition(":")[0] + ":"
    module = _OPENERS.get(scheme)
    if module is None:
        raise ValueError("records go to jsonl:PATH, sqlite:///PATH, postgresql://HOST/DATABASE or otlp:URL")
    opener: Callable[[str], Sink] = import_module(module).open_address
    return opener(address)
