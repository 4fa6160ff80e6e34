"""A server with everything that the official conformance suite asks for, on a free port that it prints."""

import socket
import sys
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    AudioContent,
    Completion,
    CompletionArgument,
    EmbeddedResource,
    ImageContent,
    PromptMessage,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
TITLED = [{"const": "one", "title": "One"}, {"const": "two", "title": "Two"}]
NAMES = ["one", "two"]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": NAMES},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {"type": "string", "enum": NAMES, "enumNames": ["One", "Two"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": NAMES}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}

server: MCPServer[Any] = MCPServer("conformance")


def embedded(uri: str = "test://embedded-resource") -> EmbeddedResource:
    text = TextResourceContents(uri=uri, mime_type="text/plain", text="This is an embedded resource content.")
    return EmbeddedResource(resource=text)


@server.tool()
def test_simple_text() -> str:
    """Test simple text."""
    return "This is a simple text response for testing."


@server.tool()
def test_image_content() -> ImageContent:
    """Test image content."""
    return ImageContent(data=PIXEL, mime_type="image/png")


@server.tool()
def test_audio_content() -> AudioContent:
    """Test audio content."""
    return AudioContent(data=SILENCE, mime_type="audio/wav")


@server.tool()
def test_embedded_resource() -> EmbeddedResource:
    """Test embedded resource."""
    return embedded()


@server.tool()
def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    """Test multiple content types."""
    return [TextContent(text="Multiple"), ImageContent(data=PIXEL, mime_type="image/png"), embedded()]


@server.tool()
async def test_tool_with_logging(ctx: Context[Any, Any]) -> str:
    """Test tool with logging."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", text, related_request_id=ctx.request_id)
    return "done"


@server.tool()
def test_error_handling() -> str:
    """Test error handling."""
    raise ToolError("This tool intentionally returns an error for testing")


@server.tool()
async def test_tool_with_progress(ctx: Context[Any, Any]) -> str:
    """Test tool with progress."""
    for step in (0, 50, 100):
        await ctx.report_progress(step, 100)
    return "done"


@server.tool()
async def test_sampling(prompt: str, ctx: Context[Any, Any]) -> str:
    """Test sampling."""
    message = SamplingMessage(role="user", content=TextContent(text=prompt))
    found = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
    return f"LLM response: {found.content}"


async def elicited(ctx: Context[Any, Any], message: str, properties: dict[str, Any]) -> str:
    schema = {"type": "object", "properties": properties}
    found = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return f"Elicitation completed: action={found.action}, content={found.content}"


@server.tool()
async def test_elicitation(message: str, ctx: Context[Any, Any]) -> str:
    """Test elicitation."""
    return await elicited(ctx, message, {"username": {"type": "string"}, "email": {"type": "string"}})


@server.tool()
async def test_elicitation_sep1034_defaults(ctx: Context[Any, Any]) -> str:
    """Test elicitation sep1034 defaults."""
    return await elicited(ctx, "Defaults", DEFAULTS)


@server.tool()
async def test_elicitation_sep1330_enums(ctx: Context[Any, Any]) -> str:
    """Test elicitation sep1330 enums."""
    return await elicited(ctx, "Enums", ENUMS)


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    return b"\x89PNG"


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:
    return f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'


@server.prompt()
def test_simple_prompt() -> str:
    """Test simple prompt."""
    return "This is a simple prompt for testing."


@server.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Test prompt with arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list[PromptMessage]:  # noqa: N803 - as the suite spells it
    """Test prompt with embedded resource."""
    text = TextContent(text="Please process the embedded resource above.")
    return [PromptMessage(role="user", content=embedded(resourceUri)), PromptMessage(role="user", content=text)]


@server.prompt()
def test_prompt_with_image() -> list[PromptMessage]:
    """Test prompt with image."""
    image = ImageContent(data=PIXEL, mime_type="image/png")
    return [PromptMessage(role="user", content=image), PromptMessage(role="user", content=TextContent(text="Analyze."))]


@server.completion()
async def complete(ref: object, argument: CompletionArgument, context: object) -> Completion:
    return Completion(values=[f"{argument.value}ris"], total=1, has_more=False)


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="critical")).run([listening])
