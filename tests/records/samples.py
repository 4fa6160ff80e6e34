"""Records for the tests, a sink that keeps them in a list, and other ways into a store."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, inspect, text

import failwell as fw
from failwell.records import Event, Record, failure_fields

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


def finished(tool: str, elapsed: float = 0.1, failure: fw.Failure | None = None, **values: Any) -> Event:
    """Return the event of a server's call that ended."""
    kind: Any = "success" if failure is None else "failure"
    return Event(source="server", kind=kind, tool=tool, elapsed=elapsed, failure=failure, **values)


def record(time: float, kind: Any = "success", failure: fw.Failure | None = None, **values: Any) -> Record:
    """Return a record of a client's call."""
    return Record(
        time=time,
        kind=kind,
        **{"source": "client", "session": "s", "tool": "find", **failure_fields(failure), **values},
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


def read_file(path: str | Path) -> list[Record]:
    """Return the records in a file of lines."""
    return list(fw.records.open_reader(f"jsonl:{path}").records())


def engine_of(address: str) -> Engine:
    """Return an engine as another program has it, which knows nothing of failwell."""
    return create_engine(address.replace("postgresql://", "postgresql+psycopg://"))


def drop_tables(address: str) -> None:
    """Drop all tables of failwell, the dashboard's too."""
    engine = engine_of(address)
    names = [name for name in inspect(engine).get_table_names() if name.startswith("failwell_")]
    with engine.begin() as connection:
        for name in names:
            connection.execute(text(f"DROP TABLE {name}"))
    engine.dispose()
