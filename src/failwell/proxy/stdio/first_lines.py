"""`Opening`: the first lines pass before anything is loaded to look at them, and are looked at afterwards."""

from collections.abc import Callable
from threading import Event, Lock
from typing import TYPE_CHECKING

from failwell.proxy.stdio.process import start_thread
from failwell.proxy.stdio.pump import Pump, split_lines

if TYPE_CHECKING:
    from failwell.proxy.stdio.backlog import Backlog
    from failwell.proxy.stdio.tracker import Tracker

_MOST_LINES = 100


class FirstLines:
    """Passes lines to a `Watch`, which it loads when the first tool is asked for, or behind the first answer.

    A host waits for the answer to `initialize`, and nothing in a handshake can fail in a way that is to be changed. So
    that answer does not wait until a decoder is loaded. Once it is, the pumps ask the watch itself, or a `Backlog`
    before it while lines pass up as they are.

    Args:
        load: makes the watch.
        is_lazy: lines pass up as they are, and `took` is told of them.

    Attributes:
        backlog: is told of lines, in place of `took`, as soon as there is one.
    """

    def __init__(self, load: "Callable[[], Tracker]", *, is_lazy: bool = False) -> None:
        self.up: Pump | None = None
        self.down: Pump | None = None
        self.spoken = Event()
        self._load = load
        self._loaded: Tracker | None = None
        self.backlog: Backlog | None = None
        self.is_lazy = is_lazy
        self._lock = Lock()
        self._kept: list[tuple[bool, bytes]] = []

    @property
    def watch(self) -> "Tracker":
        """What knows the requests, those that passed before it was loaded too."""
        watch = self._loaded
        if watch is None:
            with self._lock:
                watch = self._loaded
                if watch is None:
                    watch = self._load()
                    for is_sent, line in self._kept:
                        if is_sent:
                            watch.from_client(line)
                            watch.sent()
                        else:
                            watch.from_server(line)
                    self._kept.clear()
                    self._step_aside(watch)
                    self._loaded = watch
        backlog = self.backlog  # another thread may leave it meanwhile
        if backlog is not None:
            backlog.catch_up()
        return watch

    @property
    def is_used(self) -> bool:
        """Whether any line has passed."""
        return self._loaded is not None or bool(self._kept)

    @property
    def is_waiting_for_server(self) -> bool:
        """Whether all that came from the server has been dealt with."""
        return self.down is None or self.down.is_reading

    def from_client(self, line: bytes) -> bytes | None:
        """Return what `Watch.from_client` returns."""
        self.spoken.set()
        watch = self._loaded
        if watch is None:
            if b"tools" not in line and self._is_kept(line, is_sent=True):
                return None
            watch = self.watch
        return watch.from_client(line)

    def from_server(self, line: bytes) -> bytes | None:
        """Return what `Watch.from_server` returns."""
        watch = self._loaded
        if watch is None:
            if self._is_kept(line, is_sent=False):
                start_thread(self._load_behind)
                return None
            watch = self.watch
        return watch.from_server(line)

    def took(self, lines: bytes) -> None:
        """Note lines that the server has got without anybody having looked at them."""
        self.spoken.set()
        for line in split_lines(lines):
            if b"tools" in line or not self._is_kept(line, is_sent=True):
                self.watch.from_client(line)
                self.watch.sent()

    def look_at_each(self) -> None:
        """Look at each line before it passes, from now on."""
        with self._lock:
            self.is_lazy = False
            if self.backlog is not None:
                self.backlog.catch_up()
                self.backlog = None
            if self._loaded is not None:
                self._step_aside(self._loaded)

    def sent(self) -> None:
        """Note that the server has got all lines that were looked at so far."""
        if self._loaded is not None:
            self._loaded.sent()

    def sent_only(self, lines: bytes) -> None:
        """Note that the server has got these lines, and none of the others that were looked at."""
        self.watch.sent_only(lines)

    def _load_behind(self) -> None:
        _ = self.watch

    def _step_aside(self, watch: "Tracker") -> None:
        look_up, look_down = watch.from_client, watch.from_server
        if self.is_lazy:
            from failwell.proxy.stdio.backlog import Backlog  # only now: it stands on a decoder too

            self.backlog = Backlog(watch)
            look_down = self.backlog.down
        if self.up is not None:
            self.up.look = look_up
        if self.down is not None:
            self.down.look = look_down

    def _is_kept(self, line: bytes, *, is_sent: bool) -> bool:
        with self._lock:
            is_kept = self._loaded is None and len(self._kept) < _MOST_LINES
            if is_kept:
                self._kept.append((is_sent, line))
        return is_kept
