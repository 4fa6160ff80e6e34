"""The MCP SDKs for Python, servers and clients: the only modules that know their versions."""
