"""`Child`: the server as a process, started before anything heavy is loaded."""

import os
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    import subprocess

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
