"""A command that is told to end takes the server that it started along."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# Says which process it is in a pipe that is closed when it ends; never answers.
MUTE = (
    "import os, signal, sys; pipe = open(sys.argv[1], 'w'); print(os.getpid(), file=pipe, flush=True); signal.pause()"
)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
@pytest.mark.parametrize("command", ["read", "check"])
def test_a_server_that_is_still_starting_is_ended_with_the_command(
    command: str, number: signal.Signals, tmp_path: Path
) -> None:
    assert_ends(command, number, tmp_path)


def test_a_job_in_the_background_that_ignores_ctrl_c_is_ended_too(tmp_path: Path) -> None:
    assert_ends("check", signal.SIGTERM, tmp_path, ignoring=signal.SIGINT)


def assert_ends(command: str, number: signal.Signals, folder: Path, ignoring: signal.Signals | None = None) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    argv = [sys.executable, "-m", "failwell", command, "--", sys.executable, "-c", MUTE, str(pipe)]
    before = signal.signal(ignoring, signal.SIG_IGN) if ignoring else None
    try:
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, restore_signals=False)
    finally:
        if ignoring:
            signal.signal(ignoring, before)
    server = None
    try:
        server = int(heard(reading))

        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        said = heard(reading)  # at once: the command has waited for the server, and nobody else holds the pipe

        assert (process.returncode, out, err, said) == (130, b"", b"", b"")
        server = None
    finally:
        process.kill()
        process.communicate()
        os.close(reading)
        if server is not None:
            os.kill(server, signal.SIGKILL)


def heard(reading: int) -> bytes:
    assert select.select([reading], [], [], 60)[0], "nothing was heard"
    return os.read(reading, 10)
