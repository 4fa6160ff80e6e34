"""The demo: one real MCP server that fails in every way, run bare and protected, and an agent without a model."""
