"""A store that a test holds up, cuts off and looks into."""

from threading import Event

from failwell.retry import FailedAttempt, LimitState, RetryPermit, StoreUnavailable


class HeldStore:
    """Answers while it *is_up*, once it *may_answer*; *is_found* if somebody looks for it. Keeps what it is told."""

    name = "the store"

    def __init__(self, said: LimitState | None = None) -> None:
        self.said = LimitState(has_failures=True) if said is None else said
        self.is_up = self.is_found = True
        self.may_answer = Event()
        self.may_answer.set()
        self.callers: list[str] = []
        self.released_ones: list[str] = []
        self.refunds: list[float] = []

    def begin(self, key: tuple[str, str], *, caller: str) -> LimitState:
        self.callers.append(caller)
        return self._said()

    def failed(self, attempt: FailedAttempt, *, caller: str) -> LimitState:
        return self._said()

    def succeeded(self, key: tuple[str, str], *, digest: str, refund: float) -> LimitState:
        self._said()
        self.refunds.append(refund)
        return self.said

    def released(self, key: tuple[str, str], *, caller: str) -> None:
        self._said()
        self.released_ones.append(caller)

    def check(self) -> None:
        if not (self.is_up and self.is_found):
            raise StoreUnavailable("it is down")

    def close(self) -> None: ...

    def _said(self) -> LimitState:
        self.may_answer.wait()
        if not self.is_up:
            raise StoreUnavailable("it is down")
        return self.said


PAID = LimitState(has_failures=True, permit=RetryPermit(14.0))
