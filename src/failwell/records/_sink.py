"""`Sink`: takes batches of records; `open_sink`: the sink at an address."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol

from failwell.records._addresses import WRITABLE, store_kind
from failwell.records._record import Record


class Sink(Protocol):
    """Takes batches of records, from one thread at a time."""

    def write(self, batch: Sequence[Record], /) -> None:
        """Keep all records of a batch, or raise and keep none, if that is possible."""
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


def open_sink(address: str) -> Sink:
    """Return the sink at an address: `sqlite:///FILE`, `postgresql://HOST/DATABASE`, `jsonl:FILE` or `otlp:URL`.

    Nothing is connected before the first batch, so start-up never waits for the store.

    Raises:
        ValueError: there is no such sink.
        ImportError: the library that it needs is not installed.
    """
    kind = store_kind(address)
    if kind is None:
        raise ValueError(f"records go to {WRITABLE}")
    opener: Callable[[str], Sink] = import_module(kind.sink).open_sink
    return opener(address)
