"""A guardrail for agentgateway: failing results of tools behind the gateway become structured.

    pip install failwell grpcio grpcio-tools
    python -m grpc_tools.protoc -I . --python_out . --grpc_python_out . ext_mcp.proto
    python agentgateway_guardrail.py 127.0.0.1:9100

`ext_mcp.proto` is agentgateway's own: crates/protos/proto/ext_mcp.proto in its repository.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import ext_mcp_pb2
import ext_mcp_pb2_grpc
import grpc

import failwell as fw


def structured(result: bytes) -> bytes | None:
    """Return a tool's result with its failure structured; None if it is no failure."""
    try:
        found = json.loads(result)
        failure = fw.read(found) if isinstance(found, dict) else None
    except (ValueError, RecursionError):
        return None
    if failure is None:
        return None
    encoded = fw.encode(failure, "meta")
    blocks, text = found.get("content") or [], encoded["content"][0]["text"]
    is_short = len(blocks) == 1 and text.startswith(blocks[0].get("text", "\0"))
    content = encoded["content"] if is_short or not blocks else blocks  # a long text or a picture stays whole
    meta = {**(found.get("_meta") or {}), **encoded["_meta"]}
    return json.dumps({**found, **encoded, "content": content, "_meta": meta}).encode()


class FailwellGuardrail(ext_mcp_pb2_grpc.ExtMcpServicer):
    def CheckRequest(self, request, context):  # noqa: N802  # named by the proto
        return _passed(ext_mcp_pb2.McpRequestResult())

    def CheckResponse(self, request, context):  # noqa: N802  # named by the proto
        found = structured(request.mcp_response) if request.method == "tools/call" else None
        if found is None:
            return _passed(ext_mcp_pb2.McpResponseResult())
        return ext_mcp_pb2.McpResponseResult(mutated=found)


def _passed(result):
    getattr(result, "pass").SetInParent()  # the field is called pass, a word of Python
    return result


def serve(address: str) -> tuple[grpc.Server, int]:
    server = grpc.server(ThreadPoolExecutor(max_workers=8))
    ext_mcp_pb2_grpc.add_ExtMcpServicer_to_server(FailwellGuardrail(), server)
    port = server.add_insecure_port(address)
    server.start()
    return server, port


if __name__ == "__main__":
    serve(sys.argv[1])[0].wait_for_termination()
