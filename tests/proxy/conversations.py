"""A conversation that nobody else takes part in: what is written is kept, and time passes when a test says so."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from failwell.advice import Policy
from failwell.proxy.conversation import Conversation, RetryRules, Settings
from failwell.proxy.rewriter import Rewriter
from failwell.proxy.stdio.effects import EffectRunner
from failwell.retry import Shared

TOOLS = ({"name": "look", "annotations": {"readOnlyHint": True}}, {"name": "act"})


def settings(*, retries: Policy | None = None, **options: Any) -> Settings:
    rules = None if retries is None else RetryRules(retries, Shared.new())
    return Settings(load_retries=None if rules is None else lambda: rules, **options)


def conversation(wanted: Settings | None = None) -> Conversation:
    wanted, numbers = wanted or Settings(), count(1)
    return Conversation(
        wanted,
        lambda tools: Rewriter(
            tools=tools,
            dry_run=wanted.dry_run,
            reads_unflagged=wanted.reads_unflagged,
            marks_unflagged=wanted.marks_unflagged,
            flip_unflagged=wanted.flip_unflagged,
            reports_all=wanted.reports_all,
        ),
        lambda: f"failwell-retry-{next(numbers)}",
    )


class Ends:
    """What both ends got, what was reported, and what waits for its time; the server has listed its tools."""

    def __init__(self, wanted: Settings | None = None, *, tools: Sequence[dict[str, Any]] = TOOLS) -> None:
        self.to_client: list[bytes] = []
        self.to_server: list[bytes] = []
        self.events: list[Any] = []
        self.waiting: list[Callable[[], None]] = []
        self.now = 0.0
        self.runner = EffectRunner(
            conversation(wanted),
            to_client=self.to_client.append,
            to_server=lambda line, _: self.to_server.append(line),
            report=self.events.append,
            clock=lambda: self.now,
            jitter=lambda: 0.5,
            schedule=lambda _, action: self.waiting.append(action),
        )

        self.runner.conversation.tools.learn({"tools": list(tools)}, is_whole=True)

    def pass_time(self) -> None:
        waiting, self.waiting = self.waiting, []
        for action in waiting:
            action()
