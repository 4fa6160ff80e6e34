"""The proxy: put in front of any MCP server, it makes the server's failures structured and passes all else as it is."""
