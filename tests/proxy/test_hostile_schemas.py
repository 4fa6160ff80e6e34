"""A tool's schema can neither end a proxy nor stop it, and a failure is redacted whatever the schema is."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.proxy.clients import Client
from tests.proxy.http.setting import call, gateway, post, scripted
from tests.proxy.plants import CHANNELS, found_in
from tests.schema.test_complexity import BACKTRACKING, SLOW_TEXT, TOO_COMPLEX, TWO_WAYS_DOWN, deep, of

# What JSON can carry, with arguments that nobody can judge, or only at great cost.
SCHEMAS: dict[str, tuple[Any, Any]] = {
    **{
        name: (schema, {"a": 1})
        for name, schema in TOO_COMPLEX.items()
        if name not in ("a huge number", "not a number")
    },
    "a backtracking pattern": (of(a={"pattern": BACKTRACKING}), {"a": SLOW_TEXT}),
    "two ways down": (TWO_WAYS_DOWN, deep(60, 5)),
    "a schema elsewhere": (of(a={"$ref": "http://127.0.0.1:9/schema.json"}), {"a": 1}),
    "no schema": ({"type": "nothing", "properties": 5, "required": "x", "enum": 1}, {"a": 1}),
}
# Lists one tool, whose schema stands in a file, and answers each call as the first argument says.
SERVER = """
import json, sys
schema = json.load(open(sys.argv[1]))
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "tools/list":
        answer = {"result": {"tools": [{"name": "work", "inputSchema": schema}]}}
    elif asked.get("method") == "tools/call":
        answer = asked["params"]["_meta"]["answer"]
    else:
        answer = {"result": {}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""
FINE = {"result": {"content": []}}


@pytest.mark.parametrize("options", [("--validate",), (), ("--retry",)], ids=["validate", "plain", "retry"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_call_passes_and_its_failure_is_redacted(name: str, options: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    schema, arguments = SCHEMAS[name]
    path.write_text(json.dumps(schema))

    with Client(*options, command=[sys.executable, "-I", "-c", SERVER, str(path)]) as client:
        fine = client.call("work", {"answer": FINE}, **arguments)
        client.ask_call("work", {"answer": CHANNELS["text"]}, **arguments)
        failed = client.line()

    assert fine["result"] == FINE["result"]
    assert found_in(failed) == []
    assert json.loads(failed)["result"]["isError"] is True


@pytest.mark.parametrize("name", ["a backtracking pattern", "two ways down", "doubling references", "no schema"])
def test_so_it_does_through_a_gateway(name: str) -> None:
    schema, arguments = SCHEMAS[name]

    async def handle(request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        listed = {"result": {"tools": [{"name": "work", "inputSchema": schema}]}}
        answer = listed if asked["method"] == "tools/list" else CHANNELS["text"]
        return web.json_response({"jsonrpc": "2.0", "id": asked["id"], **answer})

    async def run() -> Any:
        async with scripted(handle) as url, gateway(url + "/mcp", "--validate") as front:
            return await post(front + "/mcp", call("work", **arguments))

    answer = asyncio.run(run())

    assert found_in(answer.body) == []
    assert answer.message["result"]["isError"] is True
    assert answer.failure["origin"] != "mapped"


NUMBERS = ["1" + "0" * 5000, "NaN", "Infinity", "-Infinity", '"\\ud800"', "1e400", "-0"]


@pytest.mark.parametrize("number", NUMBERS, ids=[number[:9] for number in NUMBERS])
@pytest.mark.parametrize("options", [("--validate",), ("--validate", "--retry")], ids=["validate", "retry"])
def test_an_odd_value_neither_ends_the_proxy_nor_is_refused(number: str, options: tuple[str, ...]) -> None:
    echo = (
        "import sys\nfor line in sys.stdin:\n if '\"id\"' in line:\n"
        '  id = line.split(\'"id":\')[1].split(",")[0].strip("} \\n")\n'
        '  tools = \'[{"name":"work","inputSchema":{"required":["n"]}}]\'\n'
        '  print(\'{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}\' % (id, tools), flush=True)'
    )
    with Client(*options, command=[sys.executable, "-I", "-c", echo]) as client:
        line = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"work","arguments":{"n":%s}}}\n'
        client.send(line % (9, number.encode()))
        answer = client.receive()

    assert answer["id"] == 9
    assert "tools" in answer["result"]
