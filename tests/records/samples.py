"""Records for the tests, and a sink that keeps them in a list."""

from collections.abc import Sequence
from typing import Any

import failwell as fw
from failwell.records._record import Kind, Record, described

MISSING = fw.Failure(code="NOT_FOUND", message="There is no task t-9.", actions=("list_tasks",))
DOWN = fw.Failure(code="SERVICE_UNAVAILABLE", message="Come back later.")


class Kept:
    """A sink in memory."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.batches: list[int] = []
        self.is_closed = False

    def write(self, batch: Sequence[Record], /) -> None:
        self.records += batch
        self.batches.append(len(batch))

    def close(self) -> None:
        self.is_closed = True


def record(time: float, kind: Kind = "success", failure: fw.Failure | None = None, **values: Any) -> Record:
    """Return a record of a client's call."""
    return Record(
        time=time, kind=kind, **{"source": "client", "session": "s", "tool": "find", **described(failure), **values}
    )


def session(*steps: tuple[str, fw.Failure | None] | tuple[str, fw.Failure | None, str]) -> list[Record]:
    """Return the records of calls that follow each other: tool, failure if any, digest of the arguments if known."""
    found: list[Record] = []
    for number, (tool, failure, *digest) in enumerate(steps, 1):
        found.append(
            record(
                float(number),
                "success" if failure is None else "failure",
                failure,
                tool=tool,
                call=str(number),
                elapsed=0.5,
                arguments=digest[0] if digest else None,
            )
        )
    return found
