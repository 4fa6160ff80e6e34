# %% Shared, Budget, Breaker, Repeats, Limits
from failwell.retry import Breaker, Budget, Limits, Repeats, Shared

shared: Limits = Shared(Budget(capacity=100), Breaker(most=10, pause=5), Repeats(most=2))

assert fw.call(lambda: "ok", server="mail", tool="send_mail", shared=shared) == "ok"

# %% Event
from failwell.retry import Event

events: list[Event] = []
fw.call(lambda: "ok", tool="search", hook=events.append)

assert [event.kind for event in events] == ["success"]

# %% Run, Try, Wait, Finish, Ask, Effect, settle
from failwell.retry import Ask, Effect, Finish, Run, Try, Wait, settle

run = Run(fw.Policy(), Shared.new(), tool="search", hints=fw.Hints(read_only=True))
effect: Effect = settle(run, run.begin(0.0))
assert isinstance(effect, Try)  # make the call; it fails

effect = settle(run, run.failed(fw.error("Down.", "SERVICE_UNAVAILABLE"), 0.1, jitter=1.0))
assert isinstance(effect, Wait)  # wait, then begin the next try
assert isinstance(settle(run, run.begin(effect.delay)), Try)
assert isinstance(run.succeeded(1.0), Finish)
assert Ask not in {type(effect)}  # only limits that take time are asked

# %% asettle
from failwell.retry import asettle

run = Run(fw.Policy(), Shared.new())
assert isinstance(asyncio.run(asettle(run, run.begin(0.0))), Try)

# %% FleetLimits, LimitStore, LimitState, FailedAttempt, RetryPermit, StoreUnavailable
from failwell.retry import FailedAttempt, FleetLimits, LimitState, LimitStore, RetryPermit, StoreUnavailable


class NoStore:
    """A store that is always down, as `LimitStore` wants it."""

    name = "nowhere"

    def begin(self, key: tuple[str, str], *, caller: str) -> LimitState:
        raise StoreUnavailable("down")

    def failed(self, attempt: FailedAttempt, *, caller: str) -> LimitState:
        raise StoreUnavailable("down")

    def succeeded(self, key: tuple[str, str], *, digest: str, refund: float) -> LimitState:
        return LimitState(permit=RetryPermit())

    def released(self, key: tuple[str, str], *, caller: str) -> None: ...

    def check(self) -> None: ...

    def close(self) -> None: ...


store: LimitStore = NoStore()
limits = FleetLimits(store, Shared.new(), warn=lambda line: None)

assert fw.call(lambda: "ok", tool="search", shared=limits) == "ok"
limits.close()

# %% Question
from failwell.retry import Question


async def later() -> bool:
    return True


question = Question(run=lambda: True, arun=later)
assert question.run() is asyncio.run(question.arun()) is True
