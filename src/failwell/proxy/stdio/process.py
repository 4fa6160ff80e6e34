"""The server as a process: started before anything heavy is loaded, signalled, ended, perhaps started again.

A handler in Python runs in the main thread, which waits for the server: a signal just before it begins to wait would be
lost until the server ends. So the number goes through a pipe, which the interpreter writes the moment a signal comes.
"""

import os
import sys
from _signal import set_wakeup_fd, signal  # type: ignore[import-not-found]  # what `signal` stands on, loaded already
from _thread import allocate_lock, start_new_thread

TYPE_CHECKING = False

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable


_LARGE_PIPE = 1 << 20
_SIGPIPE, _SIGKILL, _SIGTERM, _SIGXFSZ = 13, 9, 15, 25


class Child:
    """A started server: the ends of its pipes, its signals, and how it ended.

    Raises:
        OSError: the command cannot be started.
    """

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.code: int | None = None
        start = _spawned if hasattr(os, "posix_spawnp") else _opened
        self.pid, self.stdin, self.stdout, self._process = start(command)

    def send(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.code is not None:
            return
        try:
            if self._process is None:
                os.kill(self.pid, number)
            else:
                self._process.send_signal(number)
        except OSError:
            pass  # it ended meanwhile

    def terminate(self) -> None:
        """Ask it to end."""
        self.send(_SIGTERM)

    def kill(self) -> None:
        """End it."""
        if self._process is None:
            self.send(_SIGKILL)
        else:
            self._process.kill()

    def wait(self) -> int:
        """Return the code it ended with; 128 and the signal's number if it was a signal."""
        if self._process is not None:
            code = self._process.wait()
        else:
            _, status = os.waitpid(self.pid, 0)
            code = os.waitstatus_to_exitcode(status)
        self.code = code if code >= 0 else 128 - code
        return self.code


def _spawned(command: list[str]) -> "tuple[int, int, int, subprocess.Popen[bytes] | None]":
    its_stdin, stdin = os.pipe()
    stdout, its_stdout = os.pipe()
    try:
        pid = os.posix_spawnp(
            command[0],
            command,
            os.environ,
            file_actions=((os.POSIX_SPAWN_DUP2, its_stdin, 0), (os.POSIX_SPAWN_DUP2, its_stdout, 1)),
            setsigdef=(_SIGPIPE, _SIGXFSZ),  # Python ignores them, and a child would inherit that
        )
    except OSError:
        os.close(stdin)
        os.close(stdout)
        raise
    finally:
        os.close(its_stdin)
        os.close(its_stdout)
    return pid, stdin, stdout, None


def _opened(command: list[str]) -> "tuple[int, int, int, subprocess.Popen[bytes] | None]":
    """Start it where there is no `posix_spawn`."""
    import subprocess
    from shutil import which

    program = which(command[0]) or command[0]  # finds npx.cmd
    process = subprocess.Popen([program, *command[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = os.dup(process.stdin.fileno()), os.dup(process.stdout.fileno())
    process.stdin.close()
    process.stdout.close()
    return process.pid, stdin, stdout, process


def widen(*pipes: int) -> None:
    """Let pipes hold a megabyte, so that long lines pass in few steps. Where that cannot be, they stay as they are."""
    if not sys.platform.startswith("linux"):
        return
    from fcntl import F_SETPIPE_SZ, fcntl

    for pipe in pipes:
        try:
            fcntl(pipe, F_SETPIPE_SZ, _LARGE_PIPE)
        except (OSError, ValueError):  # not a pipe, or closed already
            return


_FOR_EVER = -1


class Moment:
    """Has come or not; threads wait for it."""

    def __init__(self) -> None:
        self.has_come = False
        self._gate = allocate_lock()
        self._gate.acquire()
        self._changing = allocate_lock()

    def come(self) -> None:
        """Let everybody go who waits for it."""
        with self._changing:
            if not self.has_come:
                self.has_come = True
                self._gate.release()

    def wait(self, seconds: float = _FOR_EVER) -> bool:
        """Wait until it comes, at most so long, and return whether it has."""
        if not self.has_come and self._gate.acquire(timeout=seconds):
            self._gate.release()
        return self.has_come


# Hang-up, interrupt, quit, terminate. Numbers, since naming them loads `enum`.
_PASSED_ON = (1, 2, 3, 15)


def pass_on_signals(take: "Callable[[int], object]") -> None:
    """Have signals taken by a function from now on."""
    noted, note = os.pipe()
    if hasattr(os, "set_blocking"):  # Windows has it from Python 3.12 on
        os.set_blocking(note, False)
    set_wakeup_fd(note, warn_on_full_buffer=False)
    for number in _PASSED_ON:
        try:
            signal(number, _noted)
        except (ValueError, OSError):  # not on this system
            continue
    start_new_thread(_take_all, (noted, take))


def _noted(number: int, frame: object) -> None:
    """Do nothing more: the pipe knows."""


def _take_all(noted: int, take: "Callable[[int], object]") -> None:
    while numbers := os.read(noted, 16):
        for number in numbers:
            take(number)


_AFTER_TERMINATION = 0.2
_UNTIL_CLOSED = 0.2


class ServerProcess:
    """A child that lines are written to, one writer at a time, and that is ended when its time has come.

    Args:
        child: the process, already started.
        grace: how long it may take to end, in seconds.
    """

    def __init__(self, child: Child, *, grace: float) -> None:
        self.child = child
        self.ending = Moment()
        self.lock = allocate_lock()
        self._grace = grace
        self._dead = Moment()
        self._succeeded = Moment()

    def wait(self) -> int:
        """Return the code that the process ended with."""
        code = self.child.wait()
        self._dead.come()
        return code

    def wait_for_successor(self, child: Child) -> bool:
        """Wait until another process has taken the place of this one; False: none will."""
        succeeded = self._succeeded  # before the child: in `start_again` it changes after it
        if self.child is child:
            succeeded.wait()
        return self.child is not child

    def start_again(self) -> None:
        """Start the command again, while holding the lock.

        Raises:
            OSError: it cannot be started any more.
        """
        self._close()
        self.child, self._dead = Child(self.child.command), Moment()
        succeeded, self._succeeded = self._succeeded, Moment()
        succeeded.come()
        if self.ending.has_come:  # meanwhile, and whoever wanted that found only the dead one
            start_new_thread(self.end, (0.0,))

    def is_over(self) -> None:
        """Note that nothing will take the place of the process."""
        self._succeeded.come()

    def hang_up(self) -> None:
        """Close its input, and end it if it does not end by itself."""
        self.ending.come()
        if self.lock.acquire(timeout=_UNTIL_CLOSED):  # a writer may wait for ever for a process that does not read
            self._close()
            self.lock.release()
        self.end(self._grace)

    def end(self, patience: float) -> None:
        """Terminate the process if it still runs after so many seconds, and kill it if that does not help."""
        child, dead = self.child, self._dead
        if not dead.wait(patience):
            child.terminate()
            if not dead.wait(_AFTER_TERMINATION):
                child.kill()

    def gone_silent(self, child: Child) -> None:
        """End a process that has closed its output and lives on: nothing it does can reach anybody."""
        if self.child is child:
            self.end(self._grace)

    def signalled(self, number: int) -> None:
        """Pass on a signal that is meant to end the process, and kill it if it does not end."""
        self.ending.come()
        child, dead = self.child, self._dead
        child.send(number)
        if not dead.wait(self._grace):
            child.kill()

    def _close(self) -> None:
        stdin, self.child.stdin = self.child.stdin, -1
        if stdin >= 0:
            os.close(stdin)
