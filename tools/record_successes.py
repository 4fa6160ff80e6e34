"""Record successful results of real servers, many of which speak of errors, for the tests of `unflagged=True`.

python -m tools.record_successes --bin ENV/bin --bin node_modules/.bin --work EMPTY --out tests/data/successes.jsonl
"""

import functools
import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from failwell.cli.read import LiveServer
from tools import error_texts, real_servers

_MOST_OF_A_RESULT = 6000
Call = tuple[str, dict[str, Any]]


def prepare(work: Path) -> None:
    """Write the files and the repository that the servers look at."""
    notes = work / "notes"
    notes.mkdir(parents=True, exist_ok=True)
    for name, text in error_texts.DOCUMENTS.items():
        (notes / name).write_text(text)
    for count in range(1, len(error_texts.LOG_LINES) + 1):
        lines = error_texts.LOG_LINES[-count:] + error_texts.LOG_LINES[:-count]
        (notes / f"app{count}.log").write_text("\n".join(lines[: count + 1]) + "\n")
    for count, sentence in enumerate(error_texts.SENTENCES):
        (notes / f"note{count}.txt").write_text(sentence + "\n")
    for command in (("init", "-q"), ("config", "user.email", "a@example.com"), ("config", "user.name", "A")):
        real_servers.run("git", *command, cwd=notes)
    for count, sentence in enumerate(error_texts.SENTENCES):
        (notes / "history.txt").write_text(f"{sentence}\n" * (count + 1))
        real_servers.run("git", "add", "-A", cwd=notes)
        real_servers.run("git", "commit", "-q", "-m", f"Fix: {sentence}", cwd=notes)


def calls_of(name: str, work: Path, port: int) -> Iterator[Call] | None:
    """Return calls to a server that should succeed; None if there are none."""
    return _CALLS[name](work, port) if name in _CALLS else None


def _notes(work: Path) -> list[Path]:
    return [path for path in sorted((work / "notes").glob("*.*")) if path.is_file()]


def _filesystem(work: Path, _: int) -> Iterator[Call]:
    for path in _notes(work):
        yield "read_text_file", {"path": str(path)}
        yield "get_file_info", {"path": str(path)}
    for pattern in ("**/*.log", "**/*.md", "**/note1*", "**/nothing*"):
        yield "search_files", {"path": str(work), "pattern": pattern}
    yield "list_directory", {"path": str(work / "notes")}
    yield "list_directory_with_sizes", {"path": str(work / "notes"), "sortBy": "size"}
    yield "list_allowed_directories", {}
    yield "read_multiple_files", {"paths": [str(work / "notes/faq.txt"), str(work / "notes/app3.log")]}
    for count, sentence in enumerate(error_texts.SENTENCES):
        yield "write_file", {"path": str(work / f"out{count}.txt"), "content": sentence}
    edits = [{"oldText": "Fixed", "newText": "Error"}]
    yield "edit_file", {"path": str(work / "notes/changelog.md"), "edits": edits, "dryRun": True}


def _sentences(tool: str, field: str, **more: Any) -> Iterator[Call]:
    for sentence in (*error_texts.SENTENCES, *error_texts.LOG_LINES):
        yield tool, {field: sentence, **more}


def _memory(_: Path, __: int) -> Iterator[Call]:
    for count, sentence in enumerate(error_texts.SENTENCES):
        entity = {"name": f"incident {count}", "entityType": "error", "observations": [sentence]}
        yield "create_entities", {"entities": [entity]}
        yield "open_nodes", {"names": [f"incident {count}"]}
    for query in ("error", "denied", "not found", "nothing like it"):
        yield "search_nodes", {"query": query}
    yield "read_graph", {}


def _everything(_: Path, __: int) -> Iterator[Call]:
    yield from _sentences("echo", "message")
    yield from (("get-sum", {"a": number, "b": 404}) for number in range(5))
    yield from (("get-annotated-message", {"messageType": kind}) for kind in ("success", "debug", "error"))


def _thinking(_: Path, __: int) -> Iterator[Call]:
    for count, sentence in enumerate(error_texts.SENTENCES, 1):
        yield "sequentialthinking", {
            "thought": sentence, "nextThoughtNeeded": True, "thoughtNumber": count, "totalThoughts": 20,
        }  # fmt: skip


def _time(_: Path, __: int) -> Iterator[Call]:
    zones = ("UTC", "Europe/Paris", "Asia/Tokyo", "America/New_York", "Africa/Cairo", "Pacific/Auckland")
    for zone in zones:
        yield "get_current_time", {"timezone": zone}
        for other in zones[:3]:
            yield "convert_time", {"source_timezone": zone, "time": "14:30", "target_timezone": other}


def _git(work: Path, _: int) -> Iterator[Call]:
    place = {"repo_path": str(work / "notes")}
    yield "git_status", place
    yield "git_log", {**place, "max_count": 8}
    yield "git_branch", {**place, "branch_type": "local"}
    for back in range(12):
        yield "git_show", {**place, "revision": f"HEAD~{back}"}
        yield "git_diff", {**place, "target": f"HEAD~{back + 1}"}


def _git_node(work: Path, _: int) -> Iterator[Call]:
    place = {"path": str(work / "notes")}
    yield "git_set_working_dir", place
    yield "git_status", place
    yield "git_branch", {**place, "mode": "list"}
    for back in range(6):
        yield "git_log", {**place, "maxCount": back + 1}
        yield "git_show", {**place, "object": f"HEAD~{back}"}


def _sql(read: str, write: str) -> Any:
    def calls(_: Path, __: int) -> Iterator[Call]:
        yield write, {"query": "CREATE TABLE log (id INTEGER, level TEXT, message TEXT)"}
        for count, text in enumerate((*error_texts.SENTENCES, *error_texts.LOG_LINES)):
            quoted = text.replace("'", "''")
            yield write, {"query": f"INSERT INTO log VALUES ({count}, 'error', '{quoted}')"}
            yield read, {"query": f"SELECT * FROM log WHERE id = {count}"}
        yield read, {"query": "SELECT message FROM log WHERE message LIKE '%denied%'"}
        yield read, {"query": "SELECT * FROM log WHERE id = 999"}
        yield read, {"query": "SELECT 'Error: not found' AS error"}

    return calls


def _fetch(work: Path, port: int) -> Iterator[Call]:
    for path in _notes(work):
        if path.stat().st_size > 1:
            yield "fetch", {"url": f"http://127.0.0.1:{port}/{path.name}", "raw": True}


def _markitdown(work: Path, _: int) -> Iterator[Call]:
    for path in _notes(work):
        yield "convert_to_markdown", {"uri": path.as_uri()}


def _calculator(_: Path, __: int) -> Iterator[Call]:
    for number in range(1, 26):
        yield "calculate", {"expression": f"{number} * 16 + 4"}


def _shell(tool: str, *, joined: bool) -> Any:
    def calls(work: Path, _: int) -> Iterator[Call]:
        commands = [["cat", str(path)] for path in _notes(work)]
        commands += [["grep", "-rh", word, str(work / "notes")] for word in ("error", "denied", "invalid", "found")]
        commands += [["echo", sentence] for sentence in error_texts.SENTENCES]
        for command in commands:
            if joined:
                quoted = " ".join("'" + part.replace("'", "'\\''") + "'" for part in command)
                yield tool, {"command": quoted, "workdir": str(work)}
            else:
                yield tool, {"command": command, "directory": str(work)}

    return calls


def _word(work: Path, _: int) -> Iterator[Call]:
    place = {"filename": str(work / "report.docx")}
    yield "create_document", {**place, "title": "Errors of March"}
    for count, sentence in enumerate(error_texts.SENTENCES):
        yield "add_paragraph", {**place, "text": sentence}
        yield "get_paragraph_text_from_document", {**place, "paragraph_index": count}
    yield "get_document_text", place
    yield "get_document_outline", place
    yield "find_text_in_document", {**place, "text_to_find": "error"}


def _tasks(_: Path, __: int) -> Iterator[Call]:
    for count, sentence in enumerate(error_texts.SENTENCES, 1):
        tasks = [{"title": sentence, "description": "Find out why, and mend it."}]
        yield "request_planning", {"originalRequest": sentence, "tasks": tasks}
        yield "get_next_task", {"requestId": f"req-{count}"}
    yield "list_requests", {}


def _planner(_: Path, __: int) -> Iterator[Call]:
    for sentence in error_texts.SENTENCES[:6]:
        yield "plan_task", {"description": f"Look into this: {sentence}"}
    yield "list_tasks", {"status": "all"}


_CALLS: dict[str, Any] = {
    "filesystem": _filesystem,
    "memory": _memory,
    "everything": _everything,
    "thinking": _thinking,
    "time": _time,
    "git": _git,
    "git-node": _git_node,
    "sqlite": _sql("read_query", "write_query"),
    "duckdb": _sql("query", "query"),
    "fetch": _fetch,
    "markitdown": _markitdown,
    "calculator": _calculator,
    "shell": _shell("shell_execute", joined=False),
    "commands": _shell("run_command", joined=True),
    "word": _word,
    "tasks": _tasks,
    "planner": _planner,
    "hello": lambda _, __: _sentences("echo", "message"),
}


def neutral(value: Any, work: Path, port: int) -> Any:
    """Return a recorded value without this machine's paths and ports."""
    text = json.dumps(value).replace(str(work), "/srv/data").replace(f":{port}", ":8080")
    return json.loads(text)


def record(places: list[Path], work: Path) -> Iterator[dict[str, Any]]:
    """Yield every success, once."""
    prepare(work)
    handler = functools.partial(Quiet, directory=str(work / "notes"))
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    port = web.server_address[1]
    seen: set[str] = set()
    for name, server in real_servers.SERVERS.items():
        command = real_servers.command_of(server, places, work)
        calls = calls_of(name, work, port)
        if command is None or calls is None:
            continue
        with LiveServer(command, cwd=work, env={**real_servers.ENVIRONMENT, "DATA_DIR": str(work)}) as running:
            for tool, arguments in calls:
                result = running.call(tool, arguments).get("result")
                if not isinstance(result, dict) or result.get("isError"):
                    continue
                row = neutral({"server": name, "tool": tool, "arguments": arguments, "result": result}, work, port)
                text = json.dumps(row["result"])
                if len(text) <= _MOST_OF_A_RESULT and text not in seen:
                    seen.add(text)
                    yield row
    web.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing about it."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def main(argv: list[str]) -> int:
    """Record into the file that `--out` names."""
    parser = real_servers.options()
    parser.add_argument("--out", required=True, type=Path)
    chosen = parser.parse_args(argv)
    rows = list(record(chosen.bin, chosen.work.resolve()))
    chosen.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    sys.stdout.write(f"{len(rows)} successes of {len({row['server'] for row in rows})} servers\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
