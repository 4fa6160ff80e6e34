"""`run`: the proxy in front of a command, assembled as the options say."""

from typing import TYPE_CHECKING, Any

from failwell.proxy.options import BadOption, ProxyOptions, open_limits, tell_operator
from failwell.proxy.stdio.loader import ConversationLoader
from failwell.proxy.stdio.process import Child, ServerProcess, forward_signals
from failwell.proxy.stdio.session import StdioSession

if TYPE_CHECKING:
    from failwell.event import Event
    from failwell.proxy.calls import ListedTools
    from failwell.proxy.conversation import RetryRules
    from failwell.proxy.recorder import ProxyRecorder
    from failwell.proxy.rewriter import Rewriter
    from failwell.proxy.stdio.effects import EffectRunner
    from failwell.proxy.stdio.restarts import Restarts
    from failwell.proxy.summary import CallSummary
    from failwell.retry._fleet import FleetLimits


def run(options: ProxyOptions, child: Child, events: int | str | None, *, source: int = 0, target: int = 1) -> int:
    """Pass lines between a client and a started server until that ends, and return its exit code."""
    proxy = StdioProxy(options, child, events, source=source, target=target)
    forward_signals(proxy.session.send_signal)
    code = proxy.session.run()
    proxy.close()
    if not options.quiet and proxy.loader.is_used:
        proxy.write_summary()
    return code


class StdioProxy:
    """One session with everything it needs; what only failures need is loaded with the first of them."""

    def __init__(
        self, options: ProxyOptions, child: Child, events: int | str | None, *, source: int, target: int
    ) -> None:
        self.options = options
        self._events = events
        self._reads_calls = options.validate or options.retry or events is not None
        self._limits: FleetLimits | None = None
        self._summary: CallSummary | None = None
        self._restarts: Restarts | None = None
        self._recorder: ProxyRecorder | None = None
        self.loader = ConversationLoader(self._make_runner, is_lazy=not self._reads_calls)
        self.session = StdioSession(
            ServerProcess(child, grace=options.grace),
            self.loader,
            self._get_restarts,
            source=source,
            target=target,
            restart=options.restart,
        )

    def close(self) -> None:
        """Close what is open."""
        if self._limits is not None:
            self._limits.close()
        if self._recorder is not None:
            self._recorder.close()

    def write_summary(self) -> None:
        """Write the summary to standard error."""
        tell_operator(*self.summary.lines(self.loader.runner.conversation.settings.calls))
        if self._recorder is not None and self._recorder.lost:
            tell_operator(f"{self._recorder.lost} records of calls were lost")

    @property
    def summary(self) -> "CallSummary":
        """Counts events."""
        if self._summary is None:
            from failwell.proxy.summary import CallSummary

            self._summary = CallSummary()
        return self._summary

    def _make_runner(self) -> "EffectRunner":
        from itertools import count

        from failwell.proxy.conversation import Conversation, Settings
        from failwell.proxy.stdio.effects import EffectRunner

        options, numbers = self.options, count(1)
        settings = Settings(
            validates=options.validate,
            dry_run=options.dry_run,
            reads_unflagged=self._events is not None or options.dry_run,
            flip_unflagged=frozenset(options.flip_unflagged),
            reports_all=self._events is not None,
            load_retries=self._load_retries if options.retry else None,
            shares_limits=options.limits is not None,
        )
        conversation = Conversation(settings, self._make_rewriter, lambda: f"failwell-retry-{next(numbers)}")
        session = self.session
        return EffectRunner(conversation, to_client=session.to_client, to_server=session.to_server, report=self._report)

    def _get_restarts(self) -> "Restarts":
        if self._restarts is None:
            from failwell.proxy.stdio.restarts import Restarts

            self._restarts = Restarts(dry_run=self.options.dry_run, report=self._report_server)
        return self._restarts

    def _make_rewriter(self, tools: "ListedTools") -> "Rewriter":
        from failwell.proxy.rewriter import Rewriter

        options = self.options
        return Rewriter(
            dialect=options.dialect,
            flip_unflagged=options.flip_unflagged,
            reads_unflagged=self._events is not None or options.dry_run,
            dry_run=options.dry_run,
            safe=options.retry_safe,
            tools=tools,
            reports_all=self._events is not None,
        )

    def _load_retries(self) -> "RetryRules":
        from failwell.proxy.conversation import RetryRules
        from failwell.retry import Policy, Shared

        policy = Policy(attempts=self.options.attempts, deadline=self.options.deadline)
        return RetryRules(policy, self._shared_limits() or Shared.new())

    def _shared_limits(self) -> "FleetLimits | None":
        if self.options.limits is not None:
            try:
                self._limits = open_limits(self.options, scope="\0".join(self.options.command), warn=tell_operator)
            except BadOption as misuse:
                tell_operator(str(misuse))  # the server runs already, and does so without shared limits
        return self._limits

    def _report_server(self, kind: Any, **details: Any) -> None:
        if self._events is None:
            return
        from failwell.event import Event

        self._report(Event(source="proxy", kind=kind, details=details))

    def _report(self, event: "Event") -> None:
        self.summary(event)
        if self._events is None:
            return
        if self._recorder is None:
            from failwell.proxy.recorder import ProxyRecorder, server_name

            name = server_name(self.options)
            self._recorder = ProxyRecorder(self._events, self.options, server=name, warn=tell_operator)
        self._recorder(event)
