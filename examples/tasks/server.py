"""Tasks in sqlite, with time for them booked in a calendar that is reached over HTTP."""

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date
from typing import Annotated, Any, Literal

import httpx2
from mcp.server import MCPServer
from mcp.types import ToolAnnotations
from pydantic import Field

import failwell as fw

DATABASE = os.environ.get("TASKS_DATABASE", "tasks.sqlite")
CALENDAR = os.environ.get("TASKS_CALENDAR", "http://127.0.0.1:8090")
PATIENCE = float(os.environ.get("TASKS_PATIENCE", "5"))
TABLE = "CREATE TABLE IF NOT EXISTS tasks (id INTEGER PRIMARY KEY, title TEXT UNIQUE, due TEXT, done INT DEFAULT 0)"

READS = ToolAnnotations(read_only_hint=True)
REPEATS = ToolAnnotations(read_only_hint=False, idempotent_hint=True)
WRITES = ToolAnnotations(read_only_hint=False, idempotent_hint=False)

logging.basicConfig(level=logging.WARNING)
server = MCPServer("tasks")


@contextmanager
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(DATABASE, timeout=PATIENCE)) as connection, connection:
        connection.row_factory = sqlite3.Row
        connection.execute(TABLE)
        yield connection


def calendar() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=CALENDAR, timeout=PATIENCE)


def found(connection: sqlite3.Connection, task: int) -> dict[str, Any]:
    row = connection.execute("SELECT * FROM tasks WHERE id = ?", (task,)).fetchone()
    if row is None:
        raise fw.NotFound.of("task", task, actions=["list_tasks"])
    return dict(row)


@server.tool(annotations=READS)
def list_tasks(state: Literal["open", "done"] = "open") -> list[dict[str, Any]]:
    """List the tasks that are open, or those that are done."""
    with database() as connection:
        rows = connection.execute("SELECT * FROM tasks WHERE done = ? ORDER BY id", (state == "done",))
        return [dict(row) for row in rows]


@server.tool(annotations=READS)
def read_task(task: int) -> dict[str, Any]:
    """Read one task."""
    with database() as connection:
        return found(connection, task)


@server.tool(annotations=WRITES)
def add_task(title: Annotated[str, Field(min_length=1, max_length=80)], due: date) -> int:
    """Add a task and return its number. No two tasks have the same title."""
    with database() as connection:
        try:
            added = connection.execute("INSERT INTO tasks (title, due) VALUES (?, ?)", (title, due.isoformat()))
        except sqlite3.IntegrityError as exc:
            raise fw.AlreadyExists.of("task", title, actions=["list_tasks"]) from exc
        return added.lastrowid or 0


@server.tool(annotations=REPEATS)
def finish_task(task: int) -> str:
    """Mark a task as done."""
    with database() as connection:
        found(connection, task)
        connection.execute("UPDATE tasks SET done = 1 WHERE id = ?", (task,))
    return f"Task {task} is done."


@server.tool(annotations=REPEATS)
def delete_task(task: int) -> str:
    """Delete a task. One that is still open is not deleted."""
    with database() as connection:
        if not found(connection, task)["done"]:
            raise fw.PreconditionFailed(f"Task {task} is still open.", actions=["finish_task"])
        connection.execute("DELETE FROM tasks WHERE id = ?", (task,))
    return f"Task {task} is deleted."


@server.tool(annotations=READS)
async def free_hours(day: date) -> list[int]:
    """List the free hours of a day, as the calendar has them."""
    async with calendar() as client:
        answer = await client.get("/free", params={"day": day.isoformat()})
        return answer.raise_for_status().json()


@server.tool(annotations=WRITES)
async def book_hour(task: int, day: date, hour: Annotated[int, Field(ge=0, le=23)]) -> str:
    """Book an hour for a task. The calendar invites everybody who takes part."""
    with database() as connection:
        title = found(connection, task)["title"]
    async with calendar() as client:
        entry = {"day": day.isoformat(), "hour": hour, "title": title}
        (await client.post("/entries", json=entry)).raise_for_status()
    return f"{day.isoformat()} at {hour} is booked for {title!r}."


fw.protect(server, single_effect={"add_task"})

if __name__ == "__main__":
    server.run()
