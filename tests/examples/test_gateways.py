"""The examples for gateways and Claude Code, run for real: over gRPC, and as the process that the host starts."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

EXAMPLES = Path(__file__).parents[2] / "examples"
HOOK = EXAMPLES / "claude_code" / "hooks" / "explain_failure.py"
SERVICE = "agentgateway.dev.ext_mcp.ExtMcp"
FAILED = {"content": [{"type": "text", "text": "429 Too Many Requests, retry after 30 s"}], "isError": True}
# Name and number of each field that the example uses, as in agentgateway's proto.
MESSAGES = {
    "Pass": {},
    "McpRequest": {"method": (2, "string")},
    "McpResponse": {"method": (2, "string"), "mcp_response": (4, "bytes")},
    "McpRequestResult": {"pass": (1, "Pass"), "mutated": (2, "bytes")},
    "McpResponseResult": {"pass": (1, "Pass"), "mutated": (2, "bytes")},
}


def generated() -> tuple[ModuleType, ModuleType]:
    """Return what protoc would generate."""
    package = SERVICE.rpartition(".")[0]
    file = descriptor_pb2.FileDescriptorProto(name="ext_mcp.proto", package=package, syntax="proto3")
    types = {"string": 9, "bytes": 12}
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        if "pass" in fields:
            message.oneof_decl.add(name="result")
        for field, (number, kind) in fields.items():
            made = message.field.add(name=field, number=number, label=1, type=types.get(kind, 11))
            if kind not in types:
                made.type_name = f".{package}.{kind}"
            if "pass" in fields:
                made.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    messages, services = ModuleType("ext_mcp_pb2"), ModuleType("ext_mcp_pb2_grpc")
    for name in MESSAGES:
        found = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        setattr(messages, name, found)

    def add(servicer: Any, server: Any) -> None:
        handlers = {
            f"Check{part}": grpc.unary_unary_rpc_method_handler(
                getattr(servicer, f"Check{part}"),
                request_deserializer=getattr(messages, f"Mcp{part}").FromString,
                response_serializer=getattr(messages, f"Mcp{part}Result").SerializeToString,
            )
            for part in ("Request", "Response")
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))

    services.ExtMcpServicer = object  # type: ignore[attr-defined]  # what protoc writes
    services.add_ExtMcpServicer_to_server = add  # type: ignore[attr-defined]  # what protoc writes
    return messages, services


@pytest.fixture
def guardrail(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    messages, services = generated()
    monkeypatch.setitem(sys.modules, "ext_mcp_pb2", messages)
    monkeypatch.setitem(sys.modules, "ext_mcp_pb2_grpc", services)
    spec = importlib.util.spec_from_file_location("guardrail", EXAMPLES / "gateways" / "agentgateway_guardrail.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    server, port = example.serve("127.0.0.1:0")
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:

        def check(part: str, **fields: Any) -> Any:
            call = channel.unary_unary(
                f"/{SERVICE}/Check{part}",
                request_serializer=getattr(messages, f"Mcp{part}").SerializeToString,
                response_deserializer=getattr(messages, f"Mcp{part}Result").FromString,
            )
            return call(getattr(messages, f"Mcp{part}")(**fields), timeout=60)

        yield check
    server.stop(None).wait()


def test_agentgateway_gets_failing_results_structured(guardrail: Any) -> None:
    answer = guardrail("Response", method="tools/call", mcp_response=json.dumps(FAILED).encode())

    assert answer.WhichOneof("result") == "mutated"
    assert json.loads(answer.mutated)["_meta"]["errorCode"] == "RATE_LIMITED"


def test_agentgateway_gets_a_long_text_and_a_picture_whole(guardrail: Any) -> None:
    log = {"type": "text", "text": "Error: the build failed\n" + "line\n" * 3000 + "FAILED test_it - assert 1 == 2"}
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    failed = {"content": [log, picture], "isError": True, "_meta": {"trace": "1"}}

    answer = guardrail("Response", method="tools/call", mcp_response=json.dumps(failed).encode())

    result = json.loads(answer.mutated)
    assert result["content"] == [log, picture]
    assert result["_meta"]["trace"] == "1"
    assert "dev.failwell/failure" in result["_meta"]


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("tools/call", b'{"content": [], "isError": false}'),
        ("tools/list", json.dumps(FAILED).encode()),
        ("tools/call", b"\xff{"),
        ("tools/call", b"[" * 5000),
    ],
)
def test_agentgateway_passes_everything_else_on(guardrail: Any, method: str, result: bytes) -> None:
    assert guardrail("Response", method=method, mcp_response=result).WhichOneof("result") == "pass"
    assert guardrail("Request", method=method).WhichOneof("result") == "pass"


def hook(event: str) -> str:
    done = subprocess.run([sys.executable, str(HOOK)], input=event, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_claude_code_learns_whether_a_failed_call_may_have_taken_effect() -> None:
    event = {
        "tool_name": "mcp__github__create_issue",
        "tool_input": {"title": "x"},
        "error": "connection reset by peer",
    }

    output = json.loads(hook(json.dumps(event)))["hookSpecificOutput"]

    assert output["hookEventName"] == "PostToolUseFailure"
    assert "create_issue" in output["additionalContext"]
    assert "The call may have taken effect" in output["additionalContext"]


@pytest.mark.parametrize("event", ['{"tool_name": "mcp__a__b", "error": "boom"}', "{}", "[]", "garbage", ""])
def test_claude_code_hears_nothing_about_what_is_not_understood(event: str) -> None:
    assert hook(event) == ""


def test_the_plugin_runs_the_hook_that_is_there() -> None:
    hooks = json.loads((EXAMPLES / "claude_code" / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    [[entry]] = [[one for group in hooks["PostToolUseFailure"] for one in group["hooks"]]]

    assert f"${{CLAUDE_PLUGIN_ROOT}}/hooks/{HOOK.name}" in entry["command"]
