"""A hook of Claude Code for failed tools: tells the model what the error means, and nothing it does not say."""

import json
import sys
from typing import Any

import failwell as fw


def context_for(event: dict[str, Any]) -> str | None:
    """Return what to tell the model about a failed call; None if the error is not understood."""
    tool = str(event.get("tool_name", "")).rpartition("__")[2]
    arguments = event.get("tool_input")
    failure = fw.read(
        str(event.get("error", "")),
        tool=tool or None,
        arguments=arguments if isinstance(arguments, dict) else None,
        unflagged=True,
    )
    if failure is None or (failure.confidence or 0) < 0.7:
        return None
    return fw.render(failure)


def main() -> None:
    try:
        event = json.load(sys.stdin)
        context = context_for(event) if isinstance(event, dict) else None
    except Exception:  # a hook that breaks must not break the session
        return
    if context is not None:
        output = {"hookEventName": "PostToolUseFailure", "additionalContext": context}
        print(json.dumps({"hookSpecificOutput": output}))


if __name__ == "__main__":
    main()
