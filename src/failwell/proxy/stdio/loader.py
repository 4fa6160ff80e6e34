"""`ConversationLoader`: passes the first lines before the conversation is loaded, and has it read them afterwards."""

from collections.abc import Callable
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING

from failwell.proxy.bounds import MAX_FIRST_LINES, MAX_UNREAD_LENGTH
from failwell.proxy.stdio.process import start_thread
from failwell.proxy.stdio.pump import Pump, split_lines

if TYPE_CHECKING:
    from failwell.proxy.stdio.effects import EffectRunner
    from failwell.proxy.stdio.lazy_reader import LazyReader


class ConversationLoader:
    """Passes lines to a conversation, which it loads when the first tool is requested, or after the first answer.

    A host waits for the answer to `initialize`, and nothing in a handshake can fail in a way that is to be changed. So
    that answer does not wait until a decoder is loaded. Once it is, the pumps use its `EffectRunner`, or a
    `LazyReader` while lines pass up unchanged.

    Args:
        load: makes the conversation and what carries out its effects.
        is_lazy: lines pass up unchanged, and `note_sent` gets them afterwards.
        validates: calls are checked before they are sent: each line is read first, even if nothing else asks for that.

    Attributes:
        lazy_reader: gets the lines that passed up instead of `note_sent`, as soon as there is one.
        client_spoke: set once the client has sent anything, or has closed its end.
    """

    def __init__(self, load: "Callable[[], EffectRunner]", *, is_lazy: bool = False, validates: bool = False) -> None:
        self.up: Pump | None = None
        self.down: Pump | None = None
        self.client_spoke = Event()
        self.lazy_reader: LazyReader | None = None
        self.is_lazy = is_lazy
        self.validates = validates
        self._load = load
        self._runner: EffectRunner | None = None
        self._lock = Lock()
        self._first_lines: list[tuple[bool, bytes]] = []

    @property
    def runner(self) -> "EffectRunner":
        """What carries out the effects of the conversation, which has read all lines that passed so far."""
        runner = self._runner
        if runner is None:
            with self._lock:
                runner = self._runner
                if runner is None:
                    runner = self._load()
                    for is_from_client, line in self._first_lines:
                        if is_from_client:
                            runner.from_client(line)
                            runner.note_all_sent()
                        else:
                            runner.from_server(line)
                    self._first_lines.clear()
                    self._connect(runner)
                    self._runner = runner
        lazy_reader = self.lazy_reader  # another thread may drop it meanwhile
        if lazy_reader is not None:
            lazy_reader.catch_up()
        return runner

    @property
    def is_used(self) -> bool:
        """Whether any line has passed."""
        return self._runner is not None or bool(self._first_lines)

    @property
    def holds_calls(self) -> bool:
        """Whether calls wait to be sent for the first time."""
        return self._runner is not None and self._runner.holds_calls()

    @property
    def is_waiting_for_server(self) -> bool:
        """Whether all that the server has written was passed on."""
        return self.down is None or self.down.is_reading

    @property
    def is_awaited(self) -> bool:
        """Whether a call that the server has got waits for its answer."""
        if not self.is_used:
            return False
        runner = self.runner
        with runner.lock:
            return any(request.tool for request in runner.conversation.pending.values())

    @staticmethod
    def is_message(line: bytes) -> bool:
        """Return whether a line without its end is a whole message."""
        from failwell.proxy.messages import is_message  # only now: it needs the decoder too

        return is_message(line)

    def from_client(self, line: bytes) -> bytes | None:
        """Return what `EffectRunner.from_client` returns."""
        self.client_spoke.set()
        runner = self._runner
        if runner is None:
            if b"tools" not in line and self._is_kept(line, is_from_client=True):
                return None
            runner = self.runner
        return runner.from_client(line)

    def from_server(self, line: bytes) -> bytes | None:
        """Return what `EffectRunner.from_server` returns."""
        runner = self._runner
        if runner is None:
            if self._is_kept(line, is_from_client=False):
                start_thread(lambda: self.runner)
                return None
            runner = self.runner
        return runner.from_server(line)

    def note_sent(self, lines: bytes) -> None:
        """Note lines that were sent to the server unread."""
        self.client_spoke.set()
        sent_at = monotonic()  # a call began before the conversation is loaded
        for line in split_lines(lines):
            if b"tools" in line or not self._is_kept(line, is_from_client=True):
                self.runner.from_client(line, sent_at)
                self.runner.note_all_sent()

    def read_each_line(self) -> None:
        """Have the conversation read each line before it passes, from now on."""
        with self._lock:
            self.is_lazy = False
            if self.lazy_reader is not None:
                self.lazy_reader.catch_up()
                self.lazy_reader = None
            if self._runner is not None:
                self._connect(self._runner)

    def note_all_sent(self) -> None:
        """Note that the server may have all lines that were read so far."""
        if self._runner is not None:
            self._runner.note_all_sent()

    def note_not_sent(self, lines: bytes) -> None:
        """Note that the server has nothing of these lines."""
        self.runner.note_not_sent(lines)

    def _connect(self, runner: "EffectRunner") -> None:
        """Have the pumps use the conversation, without a step between."""
        rewrite_up = runner.from_client
        rewrite_down: Callable[[bytes], bytes | None] = runner.from_server
        if self.is_lazy:
            from failwell.proxy.stdio.lazy_reader import LazyReader  # only now: it needs the decoder too

            self.lazy_reader = LazyReader(runner)
            rewrite_down = self.lazy_reader.from_server
        if self.up is not None:
            self.up.rewrite = rewrite_up
        if self.down is not None:
            self.down.rewrite = rewrite_down

    def _is_kept(self, line: bytes, *, is_from_client: bool) -> bool:
        with self._lock:
            has_room = len(self._first_lines) < MAX_FIRST_LINES and len(line) <= MAX_UNREAD_LENGTH
            is_kept = self._runner is None and has_room
            if is_kept:
                self._first_lines.append((is_from_client, line))
        return is_kept
