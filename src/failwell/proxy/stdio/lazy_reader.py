"""`LazyReader`: passes most lines unread, and has the conversation read them later."""

from collections import deque

from failwell.proxy.bounds import MAX_LINE, MAX_UNREAD_ANSWERS, MAX_UNREAD_LENGTH, MAX_UNREAD_REQUESTS, MAX_UNREPORTED
from failwell.proxy.conversation import Steps
from failwell.proxy.messages import (
    MAX_COMPLAINT,
    UNREADABLE,
    Id,
    PlainResult,
    Success,
    complains,
    decode_all_sent,
    decode_success,
    decode_successes,
)
from failwell.proxy.stdio.effects import EffectRunner
from failwell.proxy.stdio.pump import split_lines


class LazyReader:
    """Passes most lines unread, and has the conversation read them later, since most calls succeed.

    Requests are kept unread, unless one `must_read` them first. An answer passes if it is the first to its id and a
    success that nothing can be learnt from: which request it answers does not matter then. Anything else is read in
    full, after all that was kept. Right after a process was woken each step takes several times as long as in a loop,
    so little is done then.

    Attributes:
        passed: the answers that passed and are to be reported or counted, by their ids, when they came, and what a
            glance saw of them. `catch_up` does that, at the latest once it `is_behind`.
        may_change_requests: calls may be refused or made again, so that `must_read` is to be asked.
    """

    def __init__(self, runner: EffectRunner) -> None:
        settings = runner.conversation.settings
        self.passed: dict[Id, tuple[bytes, float, PlainResult]] = {}
        self.is_behind = False
        self._runner, self._clock = runner, runner.clock
        self._conversation = runner.conversation
        self._unread: deque[tuple[bytes, float] | Id] = deque()
        self._max_unread = -1 if settings.flip_unflagged else MAX_UNREAD_ANSWERS
        self._longest = settings.response_size or MAX_LINE
        self._marks_unflagged = settings.marks_unflagged
        self._settings = settings
        self._validates = settings.validates
        self.may_change_requests = settings.load_retries is not None or self._validates
        self._reports_all = settings.reports_all or settings.reads_unflagged
        self._answered, self._own = self._conversation.answered_ids, self._conversation.own_ids

    def must_read(self, lines: bytes) -> bool:
        """Return whether lines from the client must be read before they are sent: the server may get others."""
        conversation = self._conversation
        if conversation.may_change_requests:
            return True
        is_single = lines.find(b"\n") + 1 == len(lines)
        return self._validates and not (is_single and conversation.find_right_call(lines) is not None)

    def note_sent(self, lines: bytes) -> None:
        """Note lines that were sent to the server unread."""
        unread = self._unread
        if len(unread) > MAX_UNREAD_REQUESTS:
            self.catch_up()
        unread.append((lines, self._clock()))
        if len(lines) > MAX_UNREAD_LENGTH:
            self.catch_up()

    def from_server(self, lines: bytes) -> bytes | None:
        """Return what to send to the client in place of lines; None: pass them on, they are noted."""
        try:
            answer = decode_success(lines)
        except UNREADABLE:
            if lines.find(b"\n") + 1 == len(lines):
                return self._read(lines)
            return None if self._pass_together(lines) else self._read_each(lines)
        id, rules = answer.id, self._settings.known_retries
        if (
            answer.result.is_error
            or id in self._answered
            or id in self._own
            or len(self._unread) > self._max_unread
            or len(lines) > self._longest
            or (self._marks_unflagged and len(lines) <= MAX_COMPLAINT and complains(answer.result))
            or (rules is not None and rules.may_refuse)  # a success may end that, before the next call is made
        ):
            return self._read(lines, answer)
        # What makes up for a failure counts before the next one is judged.
        is_kept = self._reports_all or (rules is not None and rules.has_failures)
        if not self._unread and not is_kept:  # the request was read before it was sent
            with self._runner.lock:
                self._conversation.note_passed(id, is_requested=False)
            return None
        self._answered.add(id)
        self._unread.append(id)
        if is_kept:
            self._keep(id, lines, answer.result)
        return None

    def _keep(self, id: Id, line: bytes, result: PlainResult) -> None:
        """Keep an answer that passes, and is to be reported or counted."""
        self.passed[id] = line, self._clock(), result
        self.is_behind = self.is_behind or len(self.passed) > MAX_UNREPORTED or len(line) > MAX_UNREAD_LENGTH

    def _pass_together(self, lines: bytes) -> bool:
        """Return whether all lines are successes that pass, and note that they do."""
        try:
            answers = decode_successes(lines)
        except UNREADABLE:
            return False
        ids = [answer.id for answer in answers if not answer.result.is_error]
        known = set(ids)
        if len(known) < len(answers) or len(self._unread) > self._max_unread or len(lines) > self._longest:
            return False
        rules = self._settings.known_retries
        if rules is not None and rules.may_refuse:
            return False
        is_kept = self._reports_all or (rules is not None and rules.has_failures)
        each = split_lines(lines) if self._marks_unflagged or is_kept else []
        if each and len(each) != len(ids):  # there are empty ones
            return False
        if self._marks_unflagged and any(
            len(line) <= MAX_COMPLAINT and complains(answer.result) for line, answer in zip(each, answers, strict=True)
        ):
            return False
        if not known.isdisjoint(self._answered) or not known.isdisjoint(self._own):
            return False
        if is_kept:
            for line, answer in zip(each, answers, strict=True):
                self._keep(answer.id, line, answer.result)
        self._answered |= known
        self._unread.extend(ids)
        return True

    def _read(self, line: bytes, answer: Success | None = None) -> bytes | None:
        """Have the conversation read a line, after all that has passed; *answer* is what is known of it."""
        self.catch_up()
        return self._runner.from_server(line, answer)

    def _read_each(self, lines: bytes) -> bytes:
        each = split_lines(lines)
        found = [self.from_server(line) for line in each]
        return b"".join([line if one is None else one for line, one in zip(each, found, strict=True)])

    def catch_up(self) -> None:
        """Have the conversation read all that has passed, and report it."""
        if not self._unread:
            return
        with self._runner.lock:
            reports = () if self._has_noted_calls() else self._catch_up_with_each()
            self.is_behind = False
        for steps in reports:
            # The client has its answer: nothing may wait for the tools, and be written once they are known.
            self._runner.collect(steps, has_server=False)

    def _has_noted_calls(self) -> bool:
        """Note calls and their successes all at once, if nothing else has passed; return whether that is so."""
        passed = tuple(self._unread)  # another thread may add to it meanwhile
        if len(passed) == 1 or self.passed:
            return False
        sent = [one for one in passed if isinstance(one, tuple)]
        lines = b"".join([line for line, _ in sent])
        try:
            messages = decode_all_sent(lines)
        except UNREADABLE:
            return False
        if not len(messages) == len(sent) == lines.count(b"\n"):  # some came together, or are empty
            return False
        tools: dict[Id, str] = {}
        answered: list[Id] = []
        each = iter(messages)
        for one in passed:
            if not isinstance(one, tuple):
                if one not in tools:
                    return False
                answered.append(one)
                continue
            message = next(each)
            id, params = message.id, message.params
            if message.method != "tools/call" or params is None or params.name is None or id is None or id in tools:
                return False
            tools[id] = params.name
        if not self._conversation.note_all_passed(answered, tools):
            return False
        if tools:  # of calls without an answer yet
            for (line, sent_at), message in zip(sent, messages, strict=True):
                if message.id in tools:
                    self._conversation.from_client(line, sent_at, is_sent=True)
            self._conversation.note_all_sent()
        for _ in passed:
            self._unread.popleft()
        return True

    def _catch_up_with_each(self) -> list[Steps]:
        unread, conversation = self._unread, self._conversation
        reports: list[Steps] = []
        answered = {one for one in tuple(unread) if not isinstance(one, tuple)} - self.passed.keys()
        counted: set[Id] = set()
        while unread:
            one = unread[0]
            if isinstance(one, tuple):
                lines, sent_at = one
                for line in self._unanswered(lines, answered, counted):
                    conversation.from_client(line, sent_at, is_sent=True)
                conversation.note_all_sent()
            elif (answer := self.passed.pop(one, None)) is not None and conversation.find(one) is not None:
                line, came, result = answer
                found = conversation.answer(one, line, came, is_failed=False, result=result)
                if found is not None and not isinstance(found, bytes):
                    reports.append(found)
            else:
                conversation.note_passed(one, is_requested=one in counted)
                answered.discard(one)
            unread.popleft()
        return reports

    def _unanswered(self, lines: bytes, answered: set[Id], counted: set[Id]) -> list[bytes]:
        """Return the lines that must be read; a call that is answered later on is only counted."""
        if not answered:
            return [lines] if lines.count(b"\n") == 1 else split_lines(lines)
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
