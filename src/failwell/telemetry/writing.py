"""`Writer`: batches on their way into a sink; one that cannot be written is held and tried again."""

import logging
from collections.abc import Callable, Iterable

from failwell.redact import clean
from failwell.telemetry.adapting import Adapter, Told
from failwell.telemetry.record import Record
from failwell.telemetry.sinks import Sink

_log = logging.getLogger("failwell")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 5.0
_SPLIT_AFTER = 3
_REASON = 300


class Writer:
    """Turns what was told into records and writes them, from one thread.

    A sink that is away is tried again after `pause` seconds, longer each time, and told of once in the log. If it is
    there and refuses a batch again and again, it gets the records one by one, so that one of them does not hold up all.

    Args:
        sink: where to write.
        adapter: makes the records.
        lose: told how many records will never be written.
    """

    def __init__(self, sink: Sink, adapter: Adapter, lose: Callable[[int], object]) -> None:
        self.pause = 0.0
        self.held: list[Record] = []
        self._sink = sink
        self._adapter = adapter
        self._lose = lose
        self._failures = 0
        self._is_told_of_nonsense = False

    def write(self, batch: Iterable[Told]) -> bool:
        """Write a batch after the one that is held, if any; return whether all of it was written."""
        for told in batch:
            try:
                self.held += self._adapter.records(told)
            except Exception:
                self._lose(1)
                if not self._is_told_of_nonsense:
                    self._is_told_of_nonsense = True
                    _log.exception("no record could be made of what a recorder was told")
        return self.settle()

    def settle(self) -> bool:
        """Write the batch that is held; return whether nothing is held any more."""
        if self.held:
            try:
                self._sink.write(self.held)
            except Exception as failed:
                self._failed(failed)
            else:
                self._written()
        return not self.held

    def close(self) -> None:
        """Close the sink."""
        try:
            self._sink.close()
        except Exception:
            _log.exception("the store of records could not be closed")

    def forked(self) -> None:
        """Leave what is held to the process that holds it too."""
        self.held = []
        self._failures, self.pause = 0, 0.0

    def _written(self) -> None:
        if self._failures:
            _log.warning("records of calls are written again")
        self.held = []
        self._failures, self.pause = 0, 0.0

    def _failed(self, failed: Exception) -> None:
        if self._failures == 0:
            reason = clean(f"{type(failed).__name__}: {failed}", _REASON)
            _log.warning("records of calls cannot be written and wait: %s", reason)
        self._failures += 1
        self.pause = min(_FIRST_PAUSE * 2.0 ** (self._failures - 1), _LONGEST_PAUSE)
        if self._failures % _SPLIT_AFTER == 0:
            self._write_one_by_one()

    def _write_one_by_one(self) -> None:
        refused: list[Record] = []
        for record in self.held:
            try:
                self._sink.write([record])
            except Exception:
                refused.append(record)
                if len(refused) == _SPLIT_AFTER and record is self.held[_SPLIT_AFTER - 1]:
                    return  # it takes nothing at all: it is the sink that is in trouble
        if len(refused) < len(self.held):
            self._lose(len(refused))
            self._written()
