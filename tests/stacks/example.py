"""The agent of a stack in examples/agents, as the docs show it: run by `nox -s stacks`."""

import os

from tests.examples.agents import SHOWN, output_of

STACK = os.environ["STACK"].partition("-")[0]


def test_the_agent_waits_out_one_failure_and_hands_on_another() -> None:
    printed = output_of(STACK)

    assert [line for line in SHOWN if line not in printed] == []
