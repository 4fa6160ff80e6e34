"""`run`: the parts of the proxy put together as the options say."""

import os

from failwell.proxy.child import Child
from failwell.proxy.opening import Opening
from failwell.proxy.options import Options
from failwell.proxy.serving import Server
from failwell.proxy.session import Session
from failwell.proxy.signals import pass_on_signals

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from failwell.proxy.dying import Deaths
    from failwell.proxy.events import Happening
    from failwell.proxy.settling import Settler
    from failwell.proxy.summary import Tally
    from failwell.proxy.watching import Watch


def run(options: Options, child: Child, events: int | None, *, source: int = 0, target: int = 1) -> int:
    """Pass lines between a client and a started server until that ends, and return its exit code."""
    proxy = Proxy(options, child, events, source=source, target=target)
    pass_on_signals(proxy.session.signalled)
    code = proxy.session.run()
    if not options.quiet and proxy.opening.is_used:
        proxy.sum_up()
    return code


class Proxy:
    """One session with everything it needs; what only failures need is loaded with the first of them."""

    def __init__(self, options: Options, child: Child, events: int | None, *, source: int, target: int) -> None:
        self.options = options
        self._events = events
        self._tally: Tally | None = None
        self._deaths: Deaths | None = None
        self._log: Callable[[Happening], object] | None = None
        self.opening = Opening(self._watch)
        self.session = Session(
            Server(child, grace=options.grace),
            self.opening,
            self._dying,
            source=source,
            target=target,
            restart=options.restart,
        )

    def sum_up(self) -> None:
        """Write the summary to standard error."""
        lines = self.tally.lines(self.opening.watch.calls)
        text = "".join(f"failwell: {line}\n" for line in lines)
        try:
            os.write(2, text.encode(errors="backslashreplace"))
        except OSError:
            return

    @property
    def tally(self) -> "Tally":
        """What counts happenings."""
        if self._tally is None:
            from failwell.proxy.summary import Tally

            self._tally = Tally()
        return self._tally

    def _watch(self) -> "Watch":
        from failwell.proxy.watching import Watch

        options = self.options
        return Watch(
            self._settler,
            self.session.to_client,
            looks_at_calls=options.validate or options.retry,
            looks_at_successes=self._events is not None or options.dry_run or bool(options.flip_unflagged),
        )

    def _dying(self) -> "Deaths":
        if self._deaths is None:
            from failwell.proxy.dying import Deaths

            self._deaths = Deaths(dry_run=self.options.dry_run, report=self._happened)
        return self._deaths

    def _settler(self, watch: "Watch") -> "Settler":
        from failwell.proxy.settling import Settler, Ways, later
        from failwell.proxy.upgrading import Upgrader

        options, session = self.options, self.session
        upgrader = Upgrader(
            dialect=options.dialect,
            flip_unflagged=options.flip_unflagged,
            look_unflagged=self._events is not None or options.dry_run,
            validate=options.validate,
            dry_run=options.dry_run,
            tools=watch.tools,
            report=self._report,
        )
        retries = None
        if options.retry:
            from failwell.proxy.retrying import Retries
            from failwell.retry import Policy

            policy = Policy(attempts=options.attempts, deadline=options.deadline)
            retries = Retries(policy, safe=options.retry_safe)
        ways = Ways(session.to_client, session.to_server, later)
        return Settler(watch, upgrader, retries, ways, self._report)

    def _happened(self, event: "Any", **details: "Any") -> None:
        if self._events is None:
            return
        from failwell.proxy.events import Happening

        self._report(Happening(event, details=details))

    def _report(self, happening: "Happening") -> None:
        self.tally(happening)
        if self._events is None:
            return
        if self._log is None:
            from failwell.proxy.events import Log

            self._log = Log(self._events, dry_run=self.options.dry_run)
        self._log(happening)
