"""JSON-RPC errors: those that are part of the protocol, which clients must see as they are, and the others."""

# Header mismatch, missing client capability, unsupported version, URL elicitation: a client answers them by itself.
_OF_THE_PROTOCOL = frozenset((-32020, -32021, -32022, -32042))


def is_protocol_error(exc: BaseException) -> bool:
    """Return whether an exception stands for an error of the protocol and not for the failure of a tool."""
    return _code(exc) in _OF_THE_PROTOCOL


def is_rpc_error(exc: BaseException) -> bool:
    """Return whether an exception stands for a JSON-RPC error: `McpError` in mcp 1, `MCPError` in mcp 2."""
    return isinstance(_code(exc), int)


def _code(exc: BaseException) -> object:
    return getattr(getattr(exc, "error", None), "code", None)
