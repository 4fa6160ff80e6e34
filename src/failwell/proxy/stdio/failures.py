"""`FailureHandler`: makes structured failures of failing answers, or has their calls made again."""

import random
import time
from collections.abc import Callable
from threading import Timer
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from failwell._json import is_object
from failwell._log import log
from failwell.dialects._placement import RETRY_KEY
from failwell.event import Observer
from failwell.failure import Failure
from failwell.proxy.calls import ProxiedCall
from failwell.proxy.channels import may_be_failing, minimal_error
from failwell.proxy.messages import Id, decode, decode_line, encode, with_id
from failwell.proxy.rewriter import Rewriter, attempts_detail
from failwell.proxy.stdio.tracker import PendingRequest, Tracker

if TYPE_CHECKING:
    from failwell.proxy.stdio.retries import Retries

# By whether the server got the call, and whether it is started again.
_SUGGESTIONS = {
    (True, True): None,
    (True, False): None,
    (False, True): "Make the same call again.",
    (False, False): "Connect again, then make the same call again.",
}


Schedule = Callable[[float, Callable[[], None]], object]
"""Runs something after so many seconds."""


def schedule(delay: float, action: Callable[[], None]) -> None:
    """Run something after so many seconds, unless the process ends before."""
    timer = Timer(delay, action)
    timer.daemon = True
    timer.start()


class Outputs(Struct, frozen=True):
    """How the handler reaches the two ends and the clock."""

    to_client: Callable[[bytes], object]
    to_server: Callable[[bytes], object]
    schedule: Schedule
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random


class FailureHandler:
    """Rewrites failing answers, and has calls made again where `Retries` says so.

    Args:
        tracker: knows the pending requests.
        rewriter: writes failures.
        retries: decides whether to try again; None: never.
        outputs: the client, the server, and the clock.
        report: gets each event.
    """

    def __init__(
        self,
        tracker: Tracker,
        rewriter: Rewriter,
        retries: "Retries | None",
        outputs: Outputs,
        report: Observer,
    ) -> None:
        self._tracker = tracker
        self._rewriter = rewriter
        self._retries = retries
        self._outputs = outputs
        self._report = report

    def refusal(self, request: PendingRequest) -> bytes | None:
        """Return the answer to a call that must not be made: wrong arguments, or an open breaker. None: make it."""
        call = self._call(request)
        if (refused := self._rewriter.refusal(call)) is not None:
            return _line(refused)
        if self._retries is None or request.line is None:
            return None
        self._retries.begin(request, call, self._rewriter.hints(call.tool), self._outputs.clock())
        failure = request.run.begin(self._outputs.clock())
        if failure is None or self._rewriter.dry_run:
            return None
        self._retries.end(request)
        return self.refuse(call, failure)

    def refuse(self, call: ProxiedCall, failure: Failure) -> bytes:
        """Return the answer to a call that the proxy cannot make."""
        self._report(self._rewriter.event("refused", call, failure))
        return _line(self._rewriter.failed(call, failure))

    def answer(self, request: PendingRequest, line: bytes) -> bytes | None:
        """Return what the client gets for an answer; None: as it is. Empty: nothing yet, the call is made again."""
        message = decode_line(line)
        if not is_object(message):
            return self._unread_answer(request, line)
        try:
            return self._handle_answer(request, message)
        except Exception:
            log.exception("an answer could not be handled; a minimal error takes its place if it failed")
            self._forget(request)
            changed = self._rewriter.minimal(self._call(request), message)
            if changed is None and request.sent_as is not None:
                changed = {**message, "id": request.id}
            return None if changed is None else _line(changed)

    def redacted(self, id: Id | None, line: bytes) -> bytes | None:
        """Return what the client gets for an error that answers no call; None: as it is."""
        message = decode_line(line)
        try:
            changed = self._rewriter.redacted(message) if is_object(message) else minimal_error(id, is_call=False)
        except Exception:
            log.exception("an error could not be redacted; a minimal one takes its place")
            changed = minimal_error(id, is_call=False)
        return None if changed is None or self._rewriter.dry_run else _line(changed)

    def _unread_answer(self, request: PendingRequest, line: bytes) -> bytes | None:
        """Return what the client gets for an answer that is too deep or too long to be decoded; None: as it is."""
        self._forget(request)
        if not self._rewriter.dry_run and may_be_failing(line):
            return _line(minimal_error(request.id, is_call=True))
        try:
            return None if request.sent_as is None else with_id(line, request.id)
        except (ValueError, RecursionError):  # nobody can say where its id stands
            return _line(minimal_error(request.id, is_call=True))

    def _handle_answer(self, request: PendingRequest, message: dict[str, Any]) -> bytes | None:
        call = self._call(request)
        if request.run is None or request.is_cancelled:
            return self._rewrite(request, call, message)
        failure = self._failure(call, message)
        if failure is None:
            request.run.succeeded(self._outputs.clock())
            return self._rewrite(request, call, message)
        if self._is_retried(request, call, failure, message, lambda: self._last_answer(request, call, message)):
            return b""
        return self._rewrite(request, call, message)

    def answer_lost(self, request: PendingRequest, message: str, *, will_return: bool) -> bytes:
        """Return what the client gets for a call that was lost with its server; empty: the call is made again."""
        call = self._call(request)
        failure = Failure(
            code="CONNECTION_LOST",
            message=message,
            outcome="unknown" if request.is_sent else "not_executed",
            suggestion=_SUGGESTIONS[request.is_sent, will_return],
            tool=call.tool,
            origin="mapped",
        )

        def give_up() -> bytes:
            last = failure if request.run is None else request.run.with_gravest_outcome(failure)
            if last.outcome != failure.outcome:  # an earlier try may have had an effect
                last = last.replace(suggestion=_SUGGESTIONS[True, will_return])
            self._report(self._rewriter.event("failure", call, last, **attempts_detail(_attempts(request))))
            self._forget(request)
            return _line(self._rewriter.failed(call, last, attempts=_attempts(request)))

        if will_return and request.run is not None and self._is_retried(request, call, failure, {}, give_up):
            return b""
        return give_up()

    def cancel(self, id: Id, line: bytes) -> bytes | None:
        """Return what the server gets for a cancellation of a call that is tried again; None: as it is."""
        if self._retries is None:
            return None
        with self._retries.lock:
            request = self._retries.get(id) or self._tracker.pending.get(id)
            if request is None or request.run is None:
                return None
            is_first = not self._retries.has(request)
            request.run.cancelled()
            self._retries.end(request)
            if is_first:
                return None
            if request.sent_as is None or not self._tracker.cancel(request.sent_as):
                return b""  # it waits for its next try: the server knows nothing of it
        message = decode_line(line)
        if message is None:
            return b""
        message["params"]["requestId"] = request.sent_as
        return _line(message)

    def filter_progress(self, line: bytes) -> bytes | None:
        """Return None to pass on a notification of progress; empty: a later try has not come as far as the first."""
        return None if self._retries is None or self._retries.is_progress(decode_line(line)) else b""

    def _call(self, request: PendingRequest) -> ProxiedCall:
        found = ProxiedCall.of(decode(request.line)) if request.line is not None else None
        return found or ProxiedCall(id=request.id, tool=request.tool, is_unread=True)

    def _failure(self, call: ProxiedCall, message: dict[str, Any]) -> Failure | None:
        failure = self._rewriter.failure_in(call, message)
        if failure is None and self._rewriter.flips(call.tool):
            failure = self._rewriter.unflagged_in(call, message)
        return failure

    def _rewrite(self, request: PendingRequest, call: ProxiedCall, message: dict[str, Any]) -> bytes | None:
        answer = self._rewriter.answer(
            call, {**message, "id": request.id}, attempts=_attempts(request), run=request.run
        )
        self._forget(request)
        if answer is None and request.sent_as is not None:
            answer = {**message, "id": request.id}
        return None if answer is None else _line(answer)

    def _is_retried(
        self,
        request: PendingRequest,
        call: ProxiedCall,
        failure: Failure,
        message: dict[str, Any],
        give_up: Callable[[], bytes | None],
    ) -> bool:
        assert self._retries is not None
        request.run.hints = self._rewriter.hints(call.tool)  # they may be narrower than when the call was made
        below = _attempts_below(message) > 1
        now, jitter = self._outputs.clock(), self._outputs.jitter()
        decision = request.run.failed(failure, now, jitter=jitter, retried_below=below)
        if decision.retry_delay is None:
            return False
        attempt, delay = request.run.attempt, round(decision.retry_delay, 3)
        self._report(self._rewriter.event("retry", call, failure, attempt=attempt, delay=delay))
        if self._rewriter.dry_run:
            return False
        request.give_up = give_up
        self._retries.add(request)
        self._outputs.schedule(decision.retry_delay, lambda: self._resend(request))
        return True

    def _resend(self, request: PendingRequest) -> None:
        """Make a call again under a new id, unless it was cancelled meanwhile or its tool is suspended now."""
        retries = self._retries
        assert retries is not None
        assert request.line is not None
        with retries.lock:
            if not retries.has(request):
                return
            is_suspended = request.run.begin(self._outputs.clock()) is not None
            if not is_suspended:
                self._tracker.resend(request, retries.next_id())
        if is_suspended:
            self._outputs.to_client(self.give_up(request))
        else:
            self._outputs.to_server(_line({**decode(request.line), "id": request.sent_as}))

    def give_up(self, request: PendingRequest) -> bytes:
        """Return the last failure of a call that waits for another try, as its answer."""
        return (request.give_up() or b"") if request.give_up is not None else b""

    def waiting(self) -> list[PendingRequest]:
        """Return the calls that wait for another try and are not on their way."""
        found = self._retries.all() if self._retries is not None else []
        return [request for request in found if request.sent_as not in self._tracker.pending]

    def _last_answer(self, request: PendingRequest, call: ProxiedCall, message: dict[str, Any]) -> bytes | None:
        return self._rewrite(request, call, message) or _line({**message, "id": request.id})

    def _forget(self, request: PendingRequest) -> None:
        self._tracker.note_answered(request.id)
        if self._retries is not None:
            self._retries.end(request)


def _attempts(request: PendingRequest) -> int | None:
    return request.run.attempt if request.sent_as is not None else None


def _attempts_below(message: dict[str, Any]) -> int:
    result = message.get("result")
    meta = result.get("_meta") if is_object(result) else None
    retry = meta.get(RETRY_KEY) if is_object(meta) else None
    attempts = retry.get("attempts") if is_object(retry) else None
    return attempts if isinstance(attempts, int) else 0


def _line(message: dict[str, Any]) -> bytes:
    return encode(message) + b"\n"
