"""`repeat_handshake`: tell a server that took the place of a dead one what the client had told that."""

from collections.abc import Callable

from failwell.proxy.glances import decoded, encode
from failwell.proxy.pumping import taken_of
from failwell.proxy.waiting import Moment
from failwell.proxy.watching import Asked, Watch

_PATIENCE = 10.0


def repeat_handshake(watch: Watch, stdin: int, *, number: int) -> None:
    """Send `initialize` again, what followed, and what was to last: the level of the log, and subscriptions.

    Ids are our own, so that the client does not see the answers. A client that still waits for its first answer gets
    this one. Servers since 2026-07-28 know no handshake.
    """
    if watch.handshake:
        line, *rest = watch.handshake
        if decoded(line)["id"] in watch.pending:
            taken_of(line, stdin)
            return
        shaken = Moment()
        _ask(watch, stdin, line, f"failwell-handshake-{number}", shaken.come)
        shaken.wait(_PATIENCE)
        for line in rest:
            taken_of(line, stdin)
    for at, line in enumerate(list(watch.lasting.values())):
        _ask(watch, stdin, line, f"failwell-again-{number}-{at}", lambda: None)


def _ask(watch: Watch, stdin: int, line: bytes, id: str, answered: Callable[[], None]) -> None:
    watch.pending[id] = Asked(id, "", sent_as=id, give_up=answered)
    taken_of(encode({**decoded(line), "id": id}) + b"\n", stdin)
