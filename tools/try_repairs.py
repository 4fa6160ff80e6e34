"""Make bad calls to real servers, repair them from the answer alone, send the repaired calls, and record what happens.

python -m tools.try_repairs --bin ENV/bin --bin node_modules/.bin --work EMPTY --out tests/data/repairs.jsonl
"""

import copy
import functools
import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import failwell as fw
from failwell.cli.read import LiveServer
from tools import real_servers, record_successes

_LIKELY = 0.7
_MOST_CALLS_OF_A_TOOL = 2


def slips(arguments: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what goes wrong when models write arguments: the kind of slip, and the arguments with it."""
    properties = schema.get("properties", {})
    for name, value in arguments.items():
        rest = {key: item for key, item in arguments.items() if key != name}
        respelt = _other_case(name)
        if respelt != name:
            yield "other case", {**rest, respelt: value}
        if len(name) > 4:
            yield "misspelt", {**rest, name[:2] + name[3:]: value}
        yield from ((kind, {**rest, name: slip}) for kind, slip in _wrong_values(value, properties.get(name, {})))
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for kind, inner in slips(value[0], properties.get(name, {}).get("items", {})):
                yield f"{kind}, inside", {**rest, name: [inner, *value[1:]]}
    for name in properties:
        if name not in arguments and name not in schema.get("required", ()):
            yield "null", {**arguments, name: None}
            break


def _other_case(name: str) -> str:
    if "_" in name:
        first, *others = name.split("_")
        return first + "".join(part.capitalize() for part in others)
    snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
    return snake if snake != name else name.capitalize()


def _wrong_values(value: Any, schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, bool | int | float):
        yield "text of a value", json.dumps(value)
    if isinstance(value, list | dict):
        yield "JSON text", json.dumps(value)
    if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], dict):
        yield "one for a list", value[0]
    if isinstance(value, str) and value in schema.get("enum", ()):
        yield "upper case", value.upper()
        yield "misspelt option", value[:1] + value[2:] if len(value) > 4 else value + value[-1]
    if isinstance(value, str) and not schema.get("enum"):
        yield "list for one", [value]


def attempts(running: LiveServer, calls: Iterator[record_successes.Call], name: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each bad call that the server refused."""
    tools = running.tools()
    made: dict[str, int] = {}
    for tool, arguments in calls:
        made[tool] = made.get(tool, 0) + 1
        if made[tool] > _MOST_CALLS_OF_A_TOOL or tool not in tools:
            continue
        schema = tools[tool]["inputSchema"]
        if fw.read(running.call(tool, arguments), unflagged=True) is not None:
            continue
        for kind, bad in slips(arguments, schema):
            answer = running.call(tool, copy.deepcopy(bad))
            failure = fw.read(answer, tool=tool, arguments=bad, input_schema=schema, unflagged=True)
            if failure is None or failure.type != "VALIDATION":
                continue
            found = fw.repair(failure, bad, schema)
            row = {"server": name, "tool": tool, "slip": kind, "schema": schema, "arguments": bad, "answer": answer}
            if found is not None:
                second = running.call(tool, found.arguments)
                again = fw.read(second, tool=tool, arguments=found.arguments, input_schema=schema, unflagged=True)
                row |= {"proposal": found.arguments, "confidence": found.confidence}
                row |= {
                    "accepted": again is None or again.type != "VALIDATION",
                    "as_meant": found.arguments == arguments,
                }
            yield row


def main(argv: list[str]) -> int:
    """Try every server that is there, and write the rows to the file that `--out` names."""
    parser = real_servers.options()
    parser.add_argument("--out", required=True, type=Path)
    chosen = parser.parse_args(argv)
    work = chosen.work.resolve()
    record_successes.prepare(work)
    handler = functools.partial(record_successes.Quiet, directory=str(work / "notes"))
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    port = web.server_address[1]
    rows: list[dict[str, Any]] = []
    for name, server in real_servers.SERVERS.items():
        command = real_servers.command_of(server, chosen.bin, work)
        calls = record_successes.calls_of(name, work, port)
        if command is not None and calls is not None:
            with LiveServer(command, cwd=work, env={**real_servers.ENVIRONMENT, "DATA_DIR": str(work)}) as running:
                found = attempts(running, calls, name)
                rows += [record_successes.neutral(row, work, port) for row in found]
    web.shutdown()
    chosen.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    likely = [row for row in rows if row.get("confidence", 0) >= _LIKELY]
    sys.stdout.write(
        f"{len(rows)} refused calls to {len({row['server'] for row in rows})} servers, {len(likely)} repaired, "
        f"{sum(row['accepted'] for row in likely)} accepted, {sum(row['as_meant'] for row in likely)} as meant\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
