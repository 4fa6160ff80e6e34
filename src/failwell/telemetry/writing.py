"""`Writer`: batches on their way into a sink; one that cannot be written is held and tried again."""

import logging
from collections import Counter
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
        lose: told how many records will never be written, and why.
        warn: told what the operator should know, in one line.
    """

    def __init__(
        self, sink: Sink, adapter: Adapter, lose: Callable[[int, str], object], warn: Callable[[str], object]
    ) -> None:
        self.pause = 0.0
        self.held: list[Record] = []
        self._sink = sink
        self._adapter = adapter
        self._lose = lose
        self._warn = warn
        self._failures = 0
        self._first = 0
        self._has_grown = False
        self._refused: set[int] = set()
        self._doubts: Counter[int] = Counter()
        self._is_told_of_nonsense = False

    def room(self, most: int) -> int:
        """Return how many records may come to those that are held, *most* in all.

        A batch that fails is tried again as it is. If it goes on failing, others come to it: they tell whether it is
        the sink that is away, or a record that it refuses.
        """
        return max(most - len(self.held), 0) if not 0 < self._failures < _SPLIT_AFTER else 0

    def write(self, batch: Iterable[Told]) -> bool:
        """Write a batch after the one that is held, if any; return whether all of it was written."""
        before = len(self.held)
        for told in batch:
            try:
                self.held += self._adapter.records(told)
            except Exception as failed:
                if not self._is_told_of_nonsense:
                    self._is_told_of_nonsense = True
                    self._warn(f"no record could be made of what a recorder was told: {in_a_line(failed)}")
                    _log.debug("what a recorder was told", exc_info=True)
                self._lose(1, "no record could be made of them")
        self._has_grown = len(self.held) > before
        if self._has_grown:
            self._first = before  # what came last tells best whether the sink is there
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
        except Exception as failed:
            self._warn(f"the store of records could not be closed: {in_a_line(failed)}")

    def forked(self) -> None:
        """Leave what is held to the process that holds it too."""
        self._begin()

    def _begin(self) -> None:
        self.held = []
        self._failures, self.pause, self._first = 0, 0.0, 0
        self._refused.clear()
        self._doubts.clear()

    def _written(self) -> None:
        if self._failures:
            self._warn("records of calls are written again")
        self._begin()

    def _failed(self, failed: Exception) -> None:
        if self._failures == 0:
            self._warn(f"records of calls cannot be written and wait: {in_a_line(failed)}")
        self._failures += 1
        self.pause = min(_FIRST_PAUSE * 2.0 ** (self._failures - 1), _LONGEST_PAUSE)
        if self._failures >= _SPLIT_AFTER and (self._has_grown or self._failures % _SPLIT_AFTER == 0):
            self.write_one_by_one()

    def write_one_by_one(self) -> None:
        """Write the records that the sink takes. One that it refuses twice, and takes others after that, is lost."""
        self._has_grown = False
        gone, in_a_row = set[int](), 0
        if not self.held:
            return
        last = self.held[-1]
        for record in (*self.held[self._first : -1], *self.held[: self._first], last):
            if in_a_row >= _SPLIT_AFTER and (record is not last or not gone):
                continue  # it takes nothing at all, for all we know: it is the sink that is in trouble
            if self._is_taken(record):
                gone.add(id(record))
                self._doubts.update(self._refused)
                self._refused.clear()
                in_a_row = 0
            else:
                self._refused.add(id(record))
                in_a_row += 1
        if not gone:
            self._first = (self._first + in_a_row) % len(self.held)  # they may be what it refuses
            return
        bad = {at for at, count in self._doubts.items() if count > 1}
        if not in_a_row:  # the sink is there
            doubted = [record for record in self.held if id(record) in self._doubts and id(record) not in bad]
            taken = {id(record) for record in doubted if self._is_taken(record)}
            gone |= taken
            bad |= set(map(id, doubted)) - taken
        self._lose(len(bad), "the store refuses them")
        self._let_go(gone | bad)

    def _let_go(self, gone: set[int]) -> None:
        self.held = [record for record in self.held if id(record) not in gone]
        if not self.held:
            self._written()
            return
        for at in gone:
            del self._doubts[at]
        self._refused -= gone
        self._first = 0
        self._failures, self.pause = 1, _FIRST_PAUSE

    def _is_taken(self, record: Record) -> bool:
        try:
            self._sink.write([record])
        except Exception:
            return False
        return True


def in_a_line(failed: Exception) -> str:
    """Return what went wrong in one redacted line: of what a database says its own words, and nothing around them."""
    told = getattr(failed, "orig", None) or failed
    lines = [line.strip() for line in str(told).splitlines() if line.strip()]
    return clean(": ".join((type(told).__name__, *lines[:1])), _REASON)
