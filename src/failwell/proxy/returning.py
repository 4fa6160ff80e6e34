"""`repeat_handshake`: tell a server that took the place of a dead one what the client had told that."""

from failwell.proxy.glances import decoded, encode
from failwell.proxy.pumping import taken_of
from failwell.proxy.waiting import Moment
from failwell.proxy.watching import Asked, Watch

_PATIENCE = 10.0


def repeat_handshake(watch: Watch, stdin: int, *, number: int) -> None:
    """Send `initialize` again under an id of our own, so that the client does not see the answer, and what followed.

    A client that still waits for its first answer gets this one. Servers since 2026-07-28 know no handshake.
    """
    if not watch.handshake:
        return
    line, *rest = watch.handshake
    first = decoded(line)
    if first["id"] in watch.pending:
        taken_of(line, stdin)
        return
    id, shaken = f"failwell-handshake-{number}", Moment()
    watch.pending[id] = Asked(id, "", sent_as=id, give_up=shaken.come)
    taken_of(encode({**first, "id": id}) + b"\n", stdin)
    shaken.wait(_PATIENCE)
    for line in rest:
        taken_of(line, stdin)
