"""`LazyReader`: passes most lines unread, and has the conversation read them later."""

from collections import deque

from failwell.proxy.bounds import MAX_UNREAD_ANSWERS, MAX_UNREAD_LENGTH, MAX_UNREAD_REQUESTS
from failwell.proxy.messages import UNREADABLE, Id, decode_all_sent, decode_success, decode_successes
from failwell.proxy.stdio.effects import EffectRunner
from failwell.proxy.stdio.pump import split_lines


class LazyReader:
    """Passes most lines unread, and has the conversation read them later, since most calls succeed.

    It stands before a conversation that changes nothing on the way to the server. Requests are kept unread. An answer
    passes if it is the first to its id and a success that nothing can be learnt from: which request it answers does not
    matter then. Anything else is read in full, after all that was kept. Right after a process was woken each step takes
    several times as long as in a loop, so little is done then.
    """

    def __init__(self, runner: EffectRunner) -> None:
        self._runner = runner
        self._conversation = runner.conversation
        self._unread: deque[bytes | Id] = deque()
        self._max_unread = -1 if self._conversation.settings.reads_successes else MAX_UNREAD_ANSWERS
        self._answered = self._conversation.answered_ids

    def note_sent(self, lines: bytes) -> None:
        """Note lines that were sent to the server unread."""
        unread = self._unread
        if len(unread) > MAX_UNREAD_REQUESTS:
            self.catch_up()
        unread.append(lines)
        if len(lines) > MAX_UNREAD_LENGTH:
            self.catch_up()

    def passes(self, lines: bytes) -> bool:
        """Return whether lines from the server pass unread, and note that they do."""
        try:
            answer = decode_success(lines)
        except UNREADABLE:
            return self._pass_together(lines)
        id = answer.id
        if id in self._answered or answer.result.is_error or len(self._unread) > self._max_unread:
            return False
        self._answered.add(id)
        self._unread.append(id)
        return True

    def _pass_together(self, lines: bytes) -> bool:
        if lines.find(b"\n") + 1 == len(lines):
            return False
        try:
            answers = decode_successes(lines)
        except UNREADABLE:
            return False
        ids = {answer.id for answer in answers if not answer.result.is_error}
        if len(ids) < len(answers) or len(self._unread) > self._max_unread or not ids.isdisjoint(self._answered):
            return False
        self._answered |= ids
        self._unread.extend(ids)
        return True

    def from_server(self, line: bytes) -> bytes | None:
        """Return what `EffectRunner.from_server` returns."""
        if self.passes(line):
            return None
        self.catch_up()
        return self._runner.from_server(line)

    def catch_up(self) -> None:
        """Have the conversation read all that has passed."""
        unread, conversation = self._unread, self._conversation
        with self._runner.lock:
            answered = {one for one in tuple(unread) if not isinstance(one, bytes)}
            counted: set[Id] = set()
            while unread:
                one = unread[0]
                if isinstance(one, bytes):
                    for line in self._unanswered(one, answered, counted):
                        conversation.from_client(line, 0.0)
                    conversation.note_all_sent()
                else:
                    conversation.note_passed(one, is_requested=one in counted)
                    answered.discard(one)
                unread.popleft()

    def _unanswered(self, lines: bytes, answered: set[Id], counted: set[Id]) -> list[bytes]:
        """Return the lines that must be read; a call that is answered later on is only counted."""
        try:
            messages = decode_all_sent(lines)
        except UNREADABLE:
            return split_lines(lines)
        if len(messages) != lines.count(b"\n"):  # there are empty ones
            return split_lines(lines)
        left: list[int] = []
        for at, message in enumerate(messages):
            tool = message.params.name if message.method == "tools/call" and message.params is not None else None
            if tool is not None and message.id is not None and message.id in answered:
                self._conversation.settings.count(tool)
                counted.add(message.id)
            else:
                left.append(at)
        if not left:
            return []
        each = split_lines(lines)
        return [each[at] for at in left]
