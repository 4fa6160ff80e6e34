"""`Settler`: what becomes of a failing answer: a structured failure, or another try."""

import random
import time
from collections.abc import Callable
from threading import Timer
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from failwell._json import is_object
from failwell._log import log
from failwell.dialects._placement import RETRY_KEY
from failwell.failure import Failure
from failwell.proxy.calls import ProxiedCall
from failwell.proxy.events import Happening
from failwell.proxy.messages import Id, decoded, encode
from failwell.proxy.rewriter import Rewriter, tried
from failwell.proxy.stdio.tracker import PendingRequest, Tracker

if TYPE_CHECKING:
    from failwell.proxy.stdio.retries import Retries

# Whether the server got the call, and whether it is started again.
_AFTER_DEATH = {
    (True, True): "Find out whether the call took effect before you make it again.",
    (True, False): "Connect again, and find out whether the call took effect before you make it again.",
    (False, True): "Make the same call again.",
    (False, False): "Connect again, then make the same call again.",
}


Schedule = Callable[[float, Callable[[], None]], object]
"""Runs something after so many seconds."""


def later(delay: float, action: Callable[[], None]) -> None:
    """Do something after so many seconds, unless the process ends before."""
    timer = Timer(delay, action)
    timer.daemon = True
    timer.start()


class Outputs(Struct, frozen=True):
    """How a settler reaches the two ends and the clock."""

    to_client: Callable[[bytes], object]
    to_server: Callable[[bytes], object]
    schedule: Schedule
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random


class FailureHandler:
    """Upgrades failing answers, and has calls made again where `Retries` says so.

    Args:
        watch: what knows the requests.
        upgrader: writes failures.
        retries: decides whether to try again; None: never.
        ways: to the client, to the server, and to the clock.
        report: told what happened.
    """

    def __init__(
        self,
        watch: Tracker,
        upgrader: Rewriter,
        retries: "Retries | None",
        ways: Outputs,
        report: Callable[[Happening], object],
    ) -> None:
        self._watch = watch
        self._upgrader = upgrader
        self._retries = retries
        self._ways = ways
        self._report = report

    def refusal(self, asked: PendingRequest) -> bytes | None:
        """Return the answer to a call that must not be made: wrong arguments, or an open breaker. None: make it."""
        call = self._call(asked)
        if (refused := self._upgrader.refusal(call)) is not None:
            return _line(refused)
        if self._retries is None or asked.line is None:
            return None
        self._retries.begin(asked, call, self._upgrader.hints(call.tool), self._ways.clock())
        failure = asked.run.begin(self._ways.clock())
        if failure is None or self._upgrader.dry_run:
            return None
        self._retries.end(asked)
        self._report(self._upgrader.happening("refused", call, failure))
        return _line(self._upgrader.failed(call, failure))

    def answer(self, asked: PendingRequest, line: bytes) -> bytes | None:
        """Return what the client gets for an answer; None: as it is. Empty: nothing yet, the call is made again."""
        message = decoded(line)
        if not is_object(message):
            return None
        try:
            return self._settled(asked, message)
        except Exception:
            log.exception("an answer could not be upgraded; it passes as it is")
            return None if asked.sent_as is None else _line({**message, "id": asked.id})

    def _settled(self, asked: PendingRequest, message: dict[str, Any]) -> bytes | None:
        call = self._call(asked)
        if asked.run is None:
            return self._upgraded(asked, call, message)
        failure = self._failure(call, message)
        if failure is None:
            return self._succeeded(asked, call, message)
        if self._is_retried(asked, call, failure, message, lambda: self._given_up(asked, call, message)):
            return b""
        return self._upgraded(asked, call, message)

    def died(self, asked: PendingRequest, message: str, *, will_return: bool) -> bytes:
        """Return what the client gets for a call that the server took with it; empty: the call is made again."""
        call = self._call(asked)
        failure = Failure(
            code="CONNECTION_LOST",
            message=message,
            outcome="unknown" if asked.is_sent else "not_executed",
            suggestion=_AFTER_DEATH[asked.is_sent, will_return],
            tool=call.tool,
            origin="mapped",
        )

        def give_up() -> bytes:
            self._report(self._upgrader.happening("failure", call, failure, **tried(_attempts(asked))))
            self._forget(asked)
            return _line(self._upgrader.failed(call, failure, attempts=_attempts(asked)))

        if will_return and asked.run is not None and self._is_retried(asked, call, failure, {}, give_up):
            return b""
        return give_up()

    def cancelled(self, id: Id, line: bytes) -> bytes | None:
        """Return what the server gets for a cancellation of a call that is tried again; None: as it is."""
        if self._retries is None:
            return None
        with self._retries.lock:
            asked = self._retries.waiting(id) or self._watch.pending.get(id)
            if asked is None or asked.run is None:
                return None
            is_first = not self._retries.is_waiting(asked)
            asked.run.cancelled()
            self._retries.end(asked)
            if is_first:
                return None
            if asked.sent_as is None or self._watch.take(asked.sent_as) is None:
                return b""  # it waits for its next try: the server knows nothing of it
        message = decoded(line)
        message["params"]["requestId"] = asked.sent_as
        return _line(message)

    def progressed(self, line: bytes) -> bytes | None:
        """Return a notification of progress as it is (None), or empty: a later try has not come as far as the first."""
        return None if self._retries is None or self._retries.is_progress(decoded(line)) else b""

    def _call(self, asked: PendingRequest) -> ProxiedCall:
        found = ProxiedCall.of(decoded(asked.line)) if asked.line is not None else None
        return found or ProxiedCall(id=asked.id, tool=asked.tool)

    def _failure(self, call: ProxiedCall, message: dict[str, Any]) -> Failure | None:
        failure = self._upgrader.failure_in(call, message)
        if failure is None and self._upgrader.flips(call.tool):
            failure = self._upgrader.unflagged_in(call, message)
        return failure

    def _upgraded(self, asked: PendingRequest, call: ProxiedCall, message: dict[str, Any]) -> bytes | None:
        found = self._upgrader.answer(call, {**message, "id": asked.id}, attempts=_attempts(asked))
        self._forget(asked)
        if found is None and asked.sent_as is not None:
            found = {**message, "id": asked.id}
        return None if found is None else _line(found)

    def _succeeded(self, asked: PendingRequest, call: ProxiedCall, message: dict[str, Any]) -> bytes | None:
        asked.run.succeeded(self._ways.clock())
        return self._upgraded(asked, call, message)

    def _is_retried(
        self,
        asked: PendingRequest,
        call: ProxiedCall,
        failure: Failure,
        message: dict[str, Any],
        give_up: Callable[[], bytes | None],
    ) -> bool:
        assert self._retries is not None
        below = _attempts_below(message) > 1
        verdict = asked.run.failed(failure, self._ways.clock(), jitter=self._ways.chance(), retried_below=below)
        if verdict.delay is None:
            return False
        attempt, delay = asked.run.attempt, round(verdict.delay, 3)
        self._report(self._upgrader.happening("retry", call, failure, attempt=attempt, delay=delay))
        if self._upgrader.dry_run:
            return False
        asked.give_up = give_up
        self._retries.wait(asked)
        self._ways.schedule(verdict.delay, lambda: self._again(asked))
        return True

    def _again(self, asked: PendingRequest) -> None:
        """Make a call again under a new id, unless it was cancelled meanwhile or its tool is suspended now."""
        retries = self._retries
        assert retries is not None
        assert asked.line is not None
        with retries.lock:
            if not retries.is_waiting(asked):
                return
            is_suspended = asked.run.begin(self._ways.clock()) is not None
            if not is_suspended:
                self._watch.resend(asked, retries.next_id())
        if is_suspended:
            self._ways.to_client(self.give_up(asked))
        else:
            self._ways.to_server(_line({**decoded(asked.line), "id": asked.sent_as}))

    def give_up(self, asked: PendingRequest) -> bytes:
        """Return the last failure of a call that waits for another try, as its answer."""
        return (asked.give_up() or b"") if asked.give_up is not None else b""

    def waiting(self) -> list[PendingRequest]:
        """Return the calls that wait for another try and are not on their way."""
        found = self._retries.all_waiting() if self._retries is not None else []
        return [asked for asked in found if asked.sent_as not in self._watch.pending]

    def _given_up(self, asked: PendingRequest, call: ProxiedCall, message: dict[str, Any]) -> bytes | None:
        return self._upgraded(asked, call, message) or _line({**message, "id": asked.id})

    def _forget(self, asked: PendingRequest) -> None:
        self._watch.answered(asked.id)
        if self._retries is not None:
            self._retries.end(asked)


def _attempts(asked: PendingRequest) -> int | None:
    return asked.run.attempt if asked.sent_as is not None else None


def _attempts_below(message: dict[str, Any]) -> int:
    result = message.get("result")
    meta = result.get("_meta") if is_object(result) else None
    told = meta.get(RETRY_KEY) if is_object(meta) else None
    attempts = told.get("attempts") if is_object(told) else None
    return attempts if isinstance(attempts, int) else 0


def _line(message: dict[str, Any]) -> bytes:
    return encode(message) + b"\n"
