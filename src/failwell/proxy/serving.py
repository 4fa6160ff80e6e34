"""`Server`: the process behind the proxy as the others see it: a place to write to, that ends and may come back."""

import os
from _thread import allocate_lock, start_new_thread

from failwell.proxy.child import Child
from failwell.proxy.waiting import Moment

_AFTER_TERMINATION = 0.2
_UNTIL_CLOSED = 0.2


class Server:
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
