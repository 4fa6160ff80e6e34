"""A server that ends and comes back while others write to it, wait for it or want it to end."""

import threading

import pytest

from failwell.proxy.stdio import process
from failwell.proxy.stdio.process import Child, ServerProcess

CAT = ["sh", "-c", "cat > /dev/null"]


def ended(server: ServerProcess) -> int | None:
    """Return the code that the process ends with; None if it does not end."""
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(server.wait()), daemon=True)
    thread.start()
    thread.join(10)
    return codes[0] if codes else None


def test_a_client_that_leaves_while_the_server_is_started_again_ends_the_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = ServerProcess(Child(["sh", "-c", "exit 3"]), grace=5.0)
    assert server.wait() == 3

    def started(command: list[str]) -> Child:
        server.hang_up()
        return Child(command)

    monkeypatch.setattr(process, "Child", started)
    server.child.command = CAT
    server.lock.acquire()
    server.restart()
    server.lock.release()

    assert ended(server) == 143


def test_whoever_waits_for_a_successor_misses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    server = ServerProcess(Child(["sh", "-c", "exit 3"]), grace=5.0)
    server.wait()
    first, found, threads = server.child, [], []

    def event() -> threading.Event:
        """Come between all steps of a start."""
        thread = threading.Thread(target=lambda: found.append(server.wait_for_successor(first)), daemon=True)
        thread.start()
        thread.join(0.1)
        threads.append(thread)
        return threading.Event()

    monkeypatch.setattr(process, "Event", event)
    server.restart()
    for thread in threads:
        thread.join(5)
    server.wait()

    assert found == [True, True]
