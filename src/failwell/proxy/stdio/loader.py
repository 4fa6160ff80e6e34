"""`TrackerLoader`: passes the first lines before the tracker is loaded, and has the tracker read them afterwards."""

from collections.abc import Callable
from threading import Event, Lock
from typing import TYPE_CHECKING

from failwell.proxy.bounds import MAX_FIRST_LINES, MAX_UNREAD_LENGTH
from failwell.proxy.stdio.process import start_thread
from failwell.proxy.stdio.pump import Pump, split_lines

if TYPE_CHECKING:
    from failwell.proxy.stdio.tracker import LazyTracker, Tracker


class TrackerLoader:
    """Passes lines to a `Tracker`, which it loads when the first tool is requested, or after the first answer.

    A host waits for the answer to `initialize`, and nothing in a handshake can fail in a way that is to be changed. So
    that answer does not wait until a decoder is loaded. Once it is, the pumps use the tracker itself, or a
    `LazyTracker` while lines pass up unchanged.

    Args:
        load: makes the tracker.
        is_lazy: lines pass up unchanged, and `note_sent` gets them afterwards.

    Attributes:
        lazy_tracker: gets the lines that passed up instead of `note_sent`, as soon as there is one.
        client_spoke: set once the client has sent anything, or has closed its end.
    """

    def __init__(self, load: "Callable[[], Tracker]", *, is_lazy: bool = False) -> None:
        self.up: Pump | None = None
        self.down: Pump | None = None
        self.client_spoke = Event()
        self.lazy_tracker: LazyTracker | None = None
        self.is_lazy = is_lazy
        self._load = load
        self._tracker: Tracker | None = None
        self._lock = Lock()
        self._first_lines: list[tuple[bool, bytes]] = []

    @property
    def tracker(self) -> "Tracker":
        """The tracker, which has read all lines that passed so far."""
        tracker = self._tracker
        if tracker is None:
            with self._lock:
                tracker = self._tracker
                if tracker is None:
                    tracker = self._load()
                    for is_from_client, line in self._first_lines:
                        if is_from_client:
                            tracker.from_client(line)
                            tracker.note_all_sent()
                        else:
                            tracker.from_server(line)
                    self._first_lines.clear()
                    self._connect(tracker)
                    self._tracker = tracker
        lazy_tracker = self.lazy_tracker  # another thread may drop it meanwhile
        if lazy_tracker is not None:
            lazy_tracker.catch_up()
        return tracker

    @property
    def is_used(self) -> bool:
        """Whether any line has passed."""
        return self._tracker is not None or bool(self._first_lines)

    @property
    def is_waiting_for_server(self) -> bool:
        """Whether all that the server has written was passed on."""
        return self.down is None or self.down.is_reading

    def from_client(self, line: bytes) -> bytes | None:
        """Return what `Tracker.from_client` returns."""
        self.client_spoke.set()
        tracker = self._tracker
        if tracker is None:
            if b"tools" not in line and self._is_kept(line, is_from_client=True):
                return None
            tracker = self.tracker
        return tracker.from_client(line)

    def from_server(self, line: bytes) -> bytes | None:
        """Return what `Tracker.from_server` returns."""
        tracker = self._tracker
        if tracker is None:
            if self._is_kept(line, is_from_client=False):
                start_thread(lambda: self.tracker)
                return None
            tracker = self.tracker
        return tracker.from_server(line)

    def note_sent(self, lines: bytes) -> None:
        """Note lines that were sent to the server unread."""
        self.client_spoke.set()
        for line in split_lines(lines):
            if b"tools" in line or not self._is_kept(line, is_from_client=True):
                self.tracker.from_client(line)
                self.tracker.note_all_sent()

    def read_each_line(self) -> None:
        """Have the tracker read each line before it passes, from now on."""
        with self._lock:
            self.is_lazy = False
            if self.lazy_tracker is not None:
                self.lazy_tracker.catch_up()
                self.lazy_tracker = None
            if self._tracker is not None:
                self._connect(self._tracker)

    def note_all_sent(self) -> None:
        """Note that the server has all lines that were read so far."""
        if self._tracker is not None:
            self._tracker.note_all_sent()

    def note_only_sent(self, lines: bytes) -> None:
        """Note that the server has these lines, and none of the others that were read."""
        self.tracker.note_only_sent(lines)

    def _connect(self, tracker: "Tracker") -> None:
        """Have the pumps use the tracker, without a step between."""
        rewrite_up, rewrite_down = tracker.from_client, tracker.from_server
        if self.is_lazy:
            from failwell.proxy.stdio.tracker import LazyTracker  # only now: it needs the decoder too

            self.lazy_tracker = LazyTracker(tracker)
            rewrite_down = self.lazy_tracker.from_server
        if self.up is not None:
            self.up.rewrite = rewrite_up
        if self.down is not None:
            self.down.rewrite = rewrite_down

    def _is_kept(self, line: bytes, *, is_from_client: bool) -> bool:
        with self._lock:
            has_room = len(self._first_lines) < MAX_FIRST_LINES and len(line) <= MAX_UNREAD_LENGTH
            is_kept = self._tracker is None and has_room
            if is_kept:
                self._first_lines.append((is_from_client, line))
        return is_kept
