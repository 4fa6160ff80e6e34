"""`run`: the parts of the proxy put together as the options say."""

import os
from typing import TYPE_CHECKING, Any

from failwell.proxy.options import BadOption, ProxyOptions
from failwell.proxy.stdio.first_lines import FirstLines
from failwell.proxy.stdio.process import Child, ServerProcess, forward_signals
from failwell.proxy.stdio.session import StdioSession

if TYPE_CHECKING:
    from failwell.proxy.events import Happening
    from failwell.proxy.recording import Recording
    from failwell.proxy.stdio.failures import FailureHandler
    from failwell.proxy.stdio.restarts import Restarts
    from failwell.proxy.stdio.tracker import Tracker
    from failwell.proxy.summary import Tally
    from failwell.retry._fleet import FleetLimits


def run(options: ProxyOptions, child: Child, events: int | str | None, *, source: int = 0, target: int = 1) -> int:
    """Pass lines between a client and a started server until that ends, and return its exit code."""
    proxy = Proxy(options, child, events, source=source, target=target)
    forward_signals(proxy.session.signalled)
    code = proxy.session.run()
    proxy.close()
    if not options.quiet and proxy.opening.is_used:
        proxy.sum_up()
    return code


class Proxy:
    """One session with everything it needs; what only failures need is loaded with the first of them."""

    def __init__(
        self, options: ProxyOptions, child: Child, events: int | str | None, *, source: int, target: int
    ) -> None:
        self.options = options
        self._events = events
        self._looks_at_calls = options.validate or options.retry or events is not None
        self._limits: FleetLimits | None = None
        self._tally: Tally | None = None
        self._deaths: Restarts | None = None
        self._recording: Recording | None = None
        self.opening = FirstLines(self._watch, is_lazy=not self._looks_at_calls)
        self.session = StdioSession(
            ServerProcess(child, grace=options.grace),
            self.opening,
            self._dying,
            source=source,
            target=target,
            restart=options.restart,
        )

    def close(self) -> None:
        """Close what is open."""
        if self._limits is not None:
            self._limits.close()
        if self._recording is not None:
            self._recording.close()

    def sum_up(self) -> None:
        """Write the summary to standard error."""
        _say(*self.tally.lines(self.opening.watch.calls))
        if self._recording is not None and self._recording.lost:
            _say(f"{self._recording.lost} records of calls were lost")

    @property
    def tally(self) -> "Tally":
        """What counts happenings."""
        if self._tally is None:
            from failwell.proxy.summary import Tally

            self._tally = Tally()
        return self._tally

    def _watch(self) -> "Tracker":
        from failwell.proxy.stdio.tracker import Tracker

        options = self.options
        return Tracker(
            self._settler,
            self.session.to_client,
            looks_at_calls=self._looks_at_calls,
            looks_at_successes=self._events is not None or options.dry_run or bool(options.flip_unflagged),
        )

    def _dying(self) -> "Restarts":
        if self._deaths is None:
            from failwell.proxy.stdio.restarts import Restarts

            self._deaths = Restarts(dry_run=self.options.dry_run, report=self._happened)
        return self._deaths

    def _settler(self, watch: "Tracker") -> "FailureHandler":
        from failwell.proxy.rewriter import Rewriter
        from failwell.proxy.stdio.failures import FailureHandler, Outputs, later

        options, session = self.options, self.session
        upgrader = Rewriter(
            dialect=options.dialect,
            flip_unflagged=options.flip_unflagged,
            look_unflagged=self._events is not None or options.dry_run,
            validate=options.validate,
            dry_run=options.dry_run,
            tools=watch.tools,
            report=self._report,
            tells_all=self._events is not None,
        )
        retries = None
        if options.retry:
            from failwell.proxy.stdio.retries import Retries
            from failwell.retry import Policy

            policy = Policy(attempts=options.attempts, deadline=options.deadline)
            retries = Retries(policy, safe=options.retry_safe, shared=self._shared_limits())
        ways = Outputs(session.to_client, session.to_server, later)
        return FailureHandler(watch, upgrader, retries, ways, self._report)

    def _shared_limits(self) -> "FleetLimits | None":
        if self.options.limits is not None:
            from failwell.proxy.options import open_limits

            try:
                self._limits = open_limits(self.options, scope="\0".join(self.options.command), warn=_say)
            except BadOption as misuse:
                _say(str(misuse))  # the server runs already, and does so without shared limits
        return self._limits

    def _happened(self, event: Any, **details: Any) -> None:
        if self._events is None:
            return
        from failwell.proxy.events import Happening

        self._report(Happening(event, details=details))

    def _report(self, happening: "Happening") -> None:
        self.tally(happening)
        if self._events is None:
            return
        if self._recording is None:
            from failwell.proxy.recording import Recording, name_of

            self._recording = Recording(self._events, self.options, server=name_of(self.options), warn=_say)
        self._recording(happening)


def _say(*lines: str) -> None:
    """Write lines to standard error."""
    try:
        os.write(2, "".join(f"failwell: {line}\n" for line in lines).encode(errors="backslashreplace"))
    except OSError:
        return
