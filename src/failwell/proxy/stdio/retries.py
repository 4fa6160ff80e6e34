"""`Retries`: the calls that are tried again, their new ids, and their progress."""

from itertools import count
from threading import Lock
from typing import Any

from failwell._json import is_object
from failwell.advice import Hints
from failwell.proxy.calls import ProxiedCall
from failwell.proxy.messages import Id
from failwell.proxy.stdio.tracker import PendingRequest
from failwell.retry import Limits, Policy, Run, Shared


class Retries:
    """Begins a `Run` for each call; the policy holds the deadline, as clients do not say how long they wait.

    Args:
        policy: how often and how long.
        shared: budget, breaker and repeats, if not those of this proxy alone.
    """

    def __init__(self, policy: Policy, *, shared: Limits | None = None) -> None:
        self.lock = Lock()
        self._retried: dict[Id, PendingRequest] = {}
        self._policy = policy
        self._shared = shared or Shared.new()
        self._numbers = count(1)
        self._progress: dict[Any, _CallProgress] = {}

    def begin(self, request: PendingRequest, call: ProxiedCall, hints: Hints, now: float) -> None:
        """Give a new call its run."""
        request.run = Run(
            self._policy,
            self._shared,
            tool=call.tool,
            arguments=call.arguments,
            hints=hints,
            started=now,
        )
        if isinstance(call.token, int | str):
            self._progress[call.token] = _CallProgress(request)

    def add(self, request: PendingRequest) -> None:
        """Note that a call is tried again, until `end`."""
        self._retried[request.id] = request

    def has(self, request: PendingRequest) -> bool:
        """Return whether a call is still tried again: nobody cancelled it."""
        return self._retried.get(request.id) is request

    def get(self, id: Id) -> PendingRequest | None:
        """Return the call with the client's id that is tried again."""
        return self._retried.get(id)

    def all(self) -> list[PendingRequest]:
        """Return the calls that are tried again."""
        return list(self._retried.values())

    def end(self, request: PendingRequest) -> None:
        """Forget a call that has its answer or wants none."""
        self._retried.pop(request.id, None)
        for token in [token for token, progress in list(self._progress.items()) if progress.request is request]:
            self._progress.pop(token, None)

    def next_id(self) -> str:
        """Return an id that no client uses."""
        return f"failwell-retry-{next(self._numbers)}"

    def is_progress(self, message: Any) -> bool:
        """Return whether a notification of progress goes beyond those of earlier tries, as clients are promised."""
        params = message.get("params") if is_object(message) else None
        token, value = (params.get("progressToken"), params.get("progress")) if is_object(params) else (None, None)
        progress = self._progress.get(token) if isinstance(token, int | str) else None
        if progress is None or not isinstance(value, int | float):
            return True
        if value <= progress.value:
            return progress.request.sent_as is None
        progress.value = value
        return True


class _CallProgress:
    """How far a call has come over all its attempts."""

    def __init__(self, request: PendingRequest) -> None:
        self.request = request
        self.value = float("-inf")
