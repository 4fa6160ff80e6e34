"""`run`: the proxy in front of a command, assembled as the options say."""

from typing import TYPE_CHECKING, Any

from failwell.proxy.options import BadOption, ProxyOptions, open_limits, tell_operator
from failwell.proxy.stdio.loader import TrackerLoader
from failwell.proxy.stdio.process import Child, ServerProcess, forward_signals
from failwell.proxy.stdio.session import StdioSession

if TYPE_CHECKING:
    from failwell.event import Event
    from failwell.proxy.recorder import ProxyRecorder
    from failwell.proxy.stdio.failures import FailureHandler
    from failwell.proxy.stdio.restarts import Restarts
    from failwell.proxy.stdio.tracker import Tracker
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
        self.loader = TrackerLoader(self._make_tracker, is_lazy=not self._reads_calls)
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
        tell_operator(*self.summary.lines(self.loader.tracker.calls))
        if self._recorder is not None and self._recorder.lost:
            tell_operator(f"{self._recorder.lost} records of calls were lost")

    @property
    def summary(self) -> "CallSummary":
        """Counts events."""
        if self._summary is None:
            from failwell.proxy.summary import CallSummary

            self._summary = CallSummary()
        return self._summary

    def _make_tracker(self) -> "Tracker":
        from failwell.proxy.stdio.tracker import Tracker

        options = self.options
        return Tracker(
            self._make_handler,
            self.session.to_client,
            reads_calls=self._reads_calls,
            reads_successes=self._events is not None or options.dry_run or bool(options.flip_unflagged),
        )

    def _get_restarts(self) -> "Restarts":
        if self._restarts is None:
            from failwell.proxy.stdio.restarts import Restarts

            self._restarts = Restarts(dry_run=self.options.dry_run, report=self._report_server)
        return self._restarts

    def _make_handler(self, tracker: "Tracker") -> "FailureHandler":
        from failwell.proxy.rewriter import Rewriter
        from failwell.proxy.stdio.failures import FailureHandler, Outputs, schedule

        options, session = self.options, self.session
        rewriter = Rewriter(
            dialect=options.dialect,
            flip_unflagged=options.flip_unflagged,
            reads_unflagged=self._events is not None or options.dry_run,
            validate=options.validate,
            dry_run=options.dry_run,
            safe=options.retry_safe,
            tools=tracker.tools,
            report=self._report,
            reports_all=self._events is not None,
        )
        retries = None
        if options.retry:
            from failwell.proxy.stdio.retries import Retries
            from failwell.retry import Policy

            policy = Policy(attempts=options.attempts, deadline=options.deadline)
            retries = Retries(policy, shared=self._shared_limits())
        outputs = Outputs(session.to_client, session.to_server, schedule)
        return FailureHandler(tracker, rewriter, retries, outputs, self._report)

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
