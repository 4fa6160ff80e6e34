"""What became of tool calls, written down: records, who writes them, where to, and whether agents recovered."""
