"""The server as a process: started before anything heavy is loaded, signalled, ended, perhaps started again."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any

from failwell.proxy.bounds import CLOSE_TIMEOUT, SIGNAL_GRACE, SILENT_GRACE, TERMINATION_TIMEOUT

_LARGE_PIPE = 1 << 20
_POLL_INTERVAL = 0.05


def start_thread(function: Callable[..., object], *args: Any) -> None:
    """Run a function in a thread that does not keep the process from ending."""
    Thread(target=function, args=args, daemon=True).start()


class Child:
    """A started server: the ends of its pipes, its signals, and how it ended.

    Raises:
        OSError: the command cannot be started.
        ValueError: the command holds a null byte.
    """

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.code: int | None = None
        self.fatal_signal = 0
        self.dead = Event()
        # Files that the host shares with its server stay open, as without a proxy.
        self._process = subprocess.Popen(
            _found(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            close_fds=False,
            preexec_fn=_end_with_parent(),  # one call into the C library, which needs no lock
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.pid = self._process.pid
        self.stdin, self.stdout = os.dup(self._process.stdin.fileno()), os.dup(self._process.stdout.fileno())
        self._process.stdin.close()
        self._process.stdout.close()

    def send(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.code is None:
            with suppress(OSError):  # it ended meanwhile
                self._process.send_signal(number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self._process.kill()

    def wait(self) -> int:
        """Return the code it ended with; 128 and the signal's number if it was a signal."""
        code = self._process.wait()
        self.fatal_signal = max(0, -code)
        self.code = code if code >= 0 else 128 - code
        self.dead.set()
        return self.code

    def end(self, patience: float) -> None:
        """Terminate it if it still runs after so many seconds, and kill it if that does not help."""
        if not self.dead.wait(patience):
            self.terminate()
            if not self.dead.wait(TERMINATION_TIMEOUT):
                self.kill()


_PR_SET_PDEATHSIG = 1


def _end_with_parent() -> Callable[[], object] | None:
    """Return what has the system end a process once its parent is gone, even if that was killed; only Linux can."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        from ctypes import CDLL

        prctl = CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _found(command: list[str]) -> list[str]:
    """Return a command with the path of its program where the system only finds programs that end in `.exe`."""
    if sys.platform != "win32":
        return command
    from shutil import which

    return [which(command[0]) or command[0], *command[1:]]


def enlarge(*pipes: int) -> None:
    """Let pipes hold a megabyte, so that long lines pass in few steps. Where that cannot be, they stay as they are."""
    if not sys.platform.startswith("linux"):
        return
    from fcntl import F_SETPIPE_SZ, fcntl

    for pipe in pipes:
        try:
            fcntl(pipe, F_SETPIPE_SZ, _LARGE_PIPE)
        except (OSError, ValueError):  # not a pipe, or closed already
            return


_FORWARDED_SIGNALS = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM")


def forward_signals(send: Callable[[int], object]) -> None:
    """Have signals taken by a function from now on.

    A handler in Python runs in the main thread, which waits for the server: a signal just before it begins to wait
    would be lost until the server ends. So the number goes through a pipe, which the interpreter writes at once.
    """
    source, target = os.pipe()
    if hasattr(os, "set_blocking"):  # Windows has it from Python 3.12 on
        os.set_blocking(target, False)
    signal.set_wakeup_fd(target, warn_on_full_buffer=False)
    for name in _FORWARDED_SIGNALS:
        if hasattr(signal, name):  # Windows has only some of them
            signal.signal(getattr(signal, name), _ignore)
    start_thread(_forward, source, send)


def _ignore(number: int, frame: object) -> None:
    """Do nothing: the number is in the pipe."""


def _forward(source: int, send: Callable[[int], object]) -> None:
    while numbers := os.read(source, 16):
        for number in numbers:
            send(number)


class ServerProcess:
    """A child that lines are written to, one writer at a time, and that is ended when its time has come.

    Args:
        child: the process, already started.
        grace: how long it may take to end, in seconds, once its last call is answered.
        is_awaited: tells whether a call still waits for its answer.

    Attributes:
        ending: set once the client or the operator wants the server to end.
    """

    def __init__(self, child: Child, *, grace: float, is_awaited: Callable[[], bool] = lambda: False) -> None:
        self.child = child
        self._is_awaited = is_awaited
        self.ending = Event()
        self.lock = Lock()
        self._grace = grace
        self._replaced = Event()

    def wait(self) -> int:
        """Return the code that the process ended with."""
        return self.child.wait()

    def wait_for_successor(self, child: Child) -> bool:
        """Wait until another process has taken the place of this one; False: none will."""
        replaced = self._replaced  # before the child: in `restart` it changes after it
        if self.child is child:
            replaced.wait()
        return self.child is not child

    def restart(self) -> None:
        """Start the command again, while holding the lock.

        Raises:
            OSError: it cannot be started any more.
        """
        self._close()
        self.child = Child(self.child.command)
        replaced, self._replaced = self._replaced, Event()
        replaced.set()
        if self.ending.is_set():  # meanwhile, and whoever wanted that found only the dead one
            start_thread(self.child.end, 0.0)

    def finish(self) -> None:
        """Note that nothing will take the place of the process, and that nothing is written to it any more."""
        self._close_soon()
        self._replaced.set()

    def hang_up(self, *, has_reader: bool = True) -> None:
        """Close its input, and end it if it does not end by itself once nobody waits for an answer any more."""
        self.ending.set()
        self._close_soon()
        child = self.child
        while has_reader and not child.dead.is_set() and self._is_awaited():
            child.dead.wait(_POLL_INTERVAL)
        self.child.end(self._grace)

    def end_silent(self, child: Child) -> None:
        """End a process that has closed its output and lives on: nothing it writes can reach the client."""
        if self.child is child:  # its successor, if there is one by now, must not end for it
            child.end(self._grace if self.ending.is_set() else min(self._grace, SILENT_GRACE))

    def end_with(self, number: int) -> None:
        """Pass on a signal that is meant to end the process, and kill it if it does not end."""
        self.ending.set()
        child = self.child
        child.send(number)
        if not child.dead.wait(min(self._grace, SIGNAL_GRACE)):
            child.kill()

    def _close_soon(self) -> None:
        if self.lock.acquire(timeout=CLOSE_TIMEOUT):  # a writer may wait for ever for a process that does not read
            self._close()
            self.lock.release()

    def _close(self) -> None:
        stdin, self.child.stdin = self.child.stdin, -1
        if stdin >= 0:
            os.close(stdin)
