"""The proxy: it makes the failures of any MCP server structured and passes everything else on unchanged."""
