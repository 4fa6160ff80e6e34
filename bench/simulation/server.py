"""A server that works, breaks down, comes back with too little room and recovers; it knows what took effect."""

import random
from collections import Counter

from msgspec import Struct

import failwell as fw
from failwell import Failure

LOST_SHARE, WRONG_SHARE = 0.01, 0.02
RETRY_AFTER = 10


class Phase(Struct, frozen=True):
    """What the server does until a second: how many calls it takes each second, or none at all."""

    name: str
    until: float
    room: int


class Tool(Struct, frozen=True):
    """A tool, what its annotations say, and how often it is called."""

    name: str
    hints: fw.Hints
    share: float


class Call(Struct, eq=False):
    """One call that an agent wants made."""

    tool: Tool
    number: int
    is_wrong: bool
    began: float = 0.0
    rejections: int = 0
    effects: int = 0


TOOLS = (
    Tool("send_mail", fw.Hints(), 0.4),
    Tool("set_status", fw.Hints(idempotent=True), 0.3),
    Tool("find_order", fw.Hints(read_only=True), 0.3),
)

REFUSED = Failure(code="CONNECTION_REFUSED", message="The server refused the connection.")
CRASHED = fw.Unavailable("The server broke down.", outcome="unknown").failure
THROTTLED = fw.RateLimited("Too many calls.", retry_after=RETRY_AFTER).failure
LOST = fw.TimedOut("No answer arrived within 5 seconds.").failure
WRONG = fw.Invalid("An argument is wrong.").failure

SECONDS = {REFUSED.code: 0.01, CRASHED.code: 0.2, THROTTLED.code: 0.02, LOST.code: 5.0, WRONG.code: 0.05, None: 0.1}


class Server:
    """Answers calls and counts them by the second in which they came."""

    def __init__(self, phases: tuple[Phase, ...], seed: int) -> None:
        self.phases = phases
        self.load: Counter[int] = Counter()
        self._taken: Counter[int] = Counter()
        self._random = random.Random(seed)

    def answer(self, call: Call, now: float) -> tuple[Failure | None, float]:
        """Return how a try ends, None for a success, and after how many seconds the client knows."""
        self.load[int(now)] += 1
        failure = self._failure(call, now)
        return failure, SECONDS[failure.code if failure else None]

    def _failure(self, call: Call, now: float) -> Failure | None:
        phase = next(phase for phase in self.phases if now < phase.until)
        if phase.room == 0:
            if self._random.random() < 0.5:
                return REFUSED
            call.effects += self._random.random() < 0.5 and not call.is_wrong
            return CRASHED
        if self._taken[int(now)] >= phase.room:
            return THROTTLED
        self._taken[int(now)] += 1
        if call.is_wrong:
            call.rejections += 1
            return WRONG
        call.effects += 1
        return LOST if self._random.random() < LOST_SHARE else None
