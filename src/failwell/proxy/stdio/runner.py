"""`run`: the proxy in front of a command, assembled as the options say."""

import time
from typing import TYPE_CHECKING, Any

from failwell.proxy.options import BadOption, ProxyOptions, is_traced, open_limits, tell_operator
from failwell.proxy.stdio.loader import ConversationLoader
from failwell.proxy.stdio.process import Child, ServerProcess, forward_signals
from failwell.proxy.stdio.session import StdioSession

if TYPE_CHECKING:
    from failwell._trace import Attribute
    from failwell.event import Event
    from failwell.proxy.calls import ListedTools
    from failwell.proxy.conversation import RetryRules
    from failwell.proxy.recorder import ProxyMetrics, ProxyRecorder
    from failwell.proxy.rewriter import Rewriter
    from failwell.proxy.stdio.effects import EffectRunner
    from failwell.proxy.stdio.restarts import Restarts
    from failwell.proxy.summary import CallSummary
    from failwell.retry._fleet import FleetLimits


def run(
    options: ProxyOptions,
    child: Child,
    events: int | str | None,
    *,
    metrics: "ProxyMetrics | None" = None,
    source: int = 0,
    target: int = 1,
) -> int:
    """Pass lines between a client and a started server until that ends, and return what the session returns."""
    proxy = StdioProxy(options, child, events, metrics=metrics, source=source, target=target)
    forward_signals(proxy.session.send_signal)
    code = proxy.session.run()
    proxy.close()
    if not options.quiet and proxy.loader.is_used:
        proxy.write_summary()
    return code


class StdioProxy:
    """One session with everything it needs; what only failures need is loaded with the first of them."""

    def __init__(
        self,
        options: ProxyOptions,
        child: Child,
        events: int | str | None,
        *,
        metrics: "ProxyMetrics | None" = None,
        source: int,
        target: int,
    ) -> None:
        self.options = options
        self._began = time.monotonic()
        self._events = events
        self._metrics = metrics
        self._is_observed = events is not None or metrics is not None
        self._limits: FleetLimits | None = None
        self._summary: CallSummary | None = None
        self._restarts: Restarts | None = None
        self._recorder: ProxyRecorder | None = None
        # Whoever asks for limits over a network may wait for that, and must not hold up the answers meanwhile. A call
        # with a time limit is read before it is sent, and so is one that gets a span.
        is_timed = options.timeout is not None or options.deadline is not None
        is_lazy = options.limits is None and not is_timed and not is_traced(events)
        self.loader = ConversationLoader(self._make_runner, is_lazy=is_lazy, validates=options.validate)
        self.session = StdioSession(
            ServerProcess(child, grace=options.grace, is_awaited=lambda: self.loader.is_awaited),
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
            self._end_session(self._recorder)
            self._recorder.close()
        if self._metrics is not None:
            self._metrics.close()

    def _end_session(self, recorder: "ProxyRecorder") -> None:
        """Measure the session, if there was one: the protocol from 2026-07-28 on has none."""
        if not is_traced(self._events) or not self.loader.is_used:
            return
        from failwell._trace import PROTOCOL_VERSION

        conversation = self.loader.runner.conversation
        if version := conversation.protocol_version:
            attributes: dict[str, Attribute] = {
                **(conversation.settings.trace_attributes or {}),
                PROTOCOL_VERSION: version,
            }
            recorder.end_session(time.monotonic() - self._began, attributes)

    def write_summary(self) -> None:
        """Write the summary to standard error."""
        tell_operator(*self.summary.lines(self.loader.runner.conversation.settings.calls))
        if self._recorder is not None and self._recorder.lost:
            tell_operator(f"{self._recorder.lost} call records were lost")

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
        settings = Settings.of(
            options,
            is_observed=self._is_observed,
            load_retries=self._load_retries,
            trace_attributes=_trace_attributes() if is_traced(self._events) else None,
        )
        conversation = Conversation(settings, self._make_rewriter, lambda: f"failwell-retry-{next(numbers)}")
        session = self.session
        runner = EffectRunner(
            conversation,
            to_client=session.to_client,
            to_server=session.send,
            report=self._report,
            schedule=session.schedule,
        )
        if conversation.settings.has_time_limits and not self.options.observe:
            runner.watch_times()
        return runner

    def _get_restarts(self) -> "Restarts":
        if self._restarts is None:
            from failwell.proxy.stdio.restarts import Restarts

            self._restarts = Restarts(dry_run=self.options.observe, report=self._report_server)
        return self._restarts

    def _make_rewriter(self, tools: "ListedTools") -> "Rewriter":
        from failwell.proxy.rewriter import Rewriter

        return Rewriter.of(self.options, tools, is_observed=self._is_observed)

    def _load_retries(self) -> "RetryRules":
        from failwell.proxy.conversation import RetryRules
        from failwell.retry import Policy, Shared

        policy = Policy(attempts=self.options.attempts, deadline=self.options.retry_deadline)
        return RetryRules(policy, self._shared_limits() or Shared.new())

    def _shared_limits(self) -> "FleetLimits | None":
        if self.options.limits is not None:
            try:
                self._limits = open_limits(self.options, scope="\0".join(self.options.command), warn=tell_operator)
            except BadOption as misuse:
                tell_operator(str(misuse))  # the server runs already, and does so without shared limits
        return self._limits

    def _report_server(self, kind: Any, **details: Any) -> None:
        if not self._is_observed:
            return
        from failwell.event import Event

        self._report(Event(source="proxy", kind=kind, details=details))

    def _report(self, event: "Event") -> None:
        self.summary(event)
        if self._metrics is not None:
            self._metrics(event)
        if self._events is None:
            return
        if self._recorder is None:
            from failwell.proxy.recorder import ProxyRecorder, server_name

            name = server_name(self.options)
            self._recorder = ProxyRecorder(self._events, self.options, server=name, warn=tell_operator)
        self._recorder(event)


def _trace_attributes() -> dict[str, str | int]:
    from failwell._trace import TRANSPORT  # only where calls are traced

    return {TRANSPORT: "pipe"}
