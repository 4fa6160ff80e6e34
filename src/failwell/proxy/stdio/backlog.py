"""`Backlog`: what has passed and is looked at later, since most calls succeed and no more need be known of them."""

from collections import deque
from threading import Lock

from failwell.proxy.messages import UNREADABLE, Id, decode_all_sent, decode_success, decode_successes
from failwell.proxy.stdio.pump import split_lines
from failwell.proxy.stdio.tracker import Tracker

_MOST = 256
_MOST_ANSWERS = 1024
_LONGEST = 1 << 14


class Backlog:
    """Stands before a `Watch` that changes nothing on its way to the server.

    Requests are kept unread. An answer passes if it is the first to its id and a success that nothing can be learnt
    from: what it answers does not matter then. Anything else is looked at closely, behind all that was kept. Right
    after a process was woken each step takes several times as long as in a row, so little is done then.
    """

    def __init__(self, watch: Tracker) -> None:
        self._watch = watch
        self._kept: deque[bytes | Id] = deque()
        self._most = -1 if watch.looks_at_successes else _MOST_ANSWERS
        self._answered = watch.answered_ids
        self._lock = Lock()

    def up(self, lines: bytes) -> None:
        """Note lines that the server has got."""
        kept = self._kept
        if len(kept) > _MOST:
            self.catch_up()
        kept.append(lines)
        if len(lines) > _LONGEST:
            self.catch_up()

    def passes(self, lines: bytes) -> bool:
        """Return whether lines from the server pass unread, and note that they do."""
        try:
            came = decode_success(lines)
        except UNREADABLE:
            return self._pass_together(lines)
        id = came.id
        if id in self._answered or came.result.is_error or len(self._kept) > self._most:
            return False
        self._answered.add(id)
        self._kept.append(id)
        return True

    def _pass_together(self, lines: bytes) -> bool:
        if lines.find(b"\n") + 1 == len(lines):
            return False
        try:
            found = decode_successes(lines)
        except UNREADABLE:
            return False
        ids = {came.id for came in found if not came.result.is_error}
        if len(ids) < len(found) or len(self._kept) > self._most or not ids.isdisjoint(self._answered):
            return False
        self._answered |= ids
        self._kept.extend(ids)
        return True

    def down(self, line: bytes) -> bytes | None:
        """Return what `Watch.from_server` returns."""
        if self.passes(line):
            return None
        self.catch_up()
        return self._watch.from_server(line)

    def catch_up(self) -> None:
        """Have the watch look at all that has passed."""
        kept, watch = self._kept, self._watch
        with self._lock:
            answers = {one for one in tuple(kept) if not isinstance(one, bytes)}
            settled: set[Id] = set()
            while kept:
                one = kept[0]
                if isinstance(one, bytes):
                    for line in self._open(one, answers, settled):
                        watch.from_client(line)
                    watch.sent()
                else:
                    watch.passed(one, was_asked=one in settled)
                    answers.discard(one)
                kept.popleft()

    def _open(self, lines: bytes, answers: set[Id], settled: set[Id]) -> list[bytes]:
        """Return the lines that must be looked at; a call that is answered further on is only counted."""
        try:
            found = decode_all_sent(lines)
        except UNREADABLE:
            return split_lines(lines)
        if len(found) != lines.count(b"\n"):  # there are empty ones
            return split_lines(lines)
        left: list[int] = []
        for at, sent in enumerate(found):
            tool = sent.params.name if sent.method == "tools/call" and sent.params is not None else None
            if tool is not None and sent.id is not None and sent.id in answers:
                self._watch.count(tool)
                settled.add(sent.id)
            else:
                left.append(at)
        if not left:
            return []
        each = split_lines(lines)
        return [each[at] for at in left]
