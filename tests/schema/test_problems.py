"""Problems that no schema states: a tool that does not exist."""

import failwell as fw
from failwell.schema.problems import unknown_tool


def test_an_unknown_tool_is_told_what_exists() -> None:
    few = unknown_tool("zzz", ["search", "read"])
    many = unknown_tool("zzz", [f"tool_{n}" for n in range(50)])

    assert (few.message, few.actions) == ("There is no tool 'zzz'.", ("search", "read"))
    assert many.actions == ()
    assert fw.decide(many).suggestion == "List the tools and call one that exists."
