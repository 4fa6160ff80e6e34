"""`Look`: which events of a stream hold answers that must be dealt with, and which pass as they are."""

from msgspec import Struct

from failwell.failure import Failure
from failwell.json_types import is_object
from failwell.proxy.glances import Id, came, decoded, read
from failwell.proxy.http.event_stream import data_of, id_of
from failwell.proxy.http.rules import Rules
from failwell.proxy.http.sessions import Pending, Session
from failwell.proxy.upgrading import Message


class Answer(Struct):
    """What the server answered to a call, or the failure that the proxy found; and the event or body it came in."""

    pending: Pending
    message: Message
    found: Failure | None = None
    event: bytes | None = None
    body: bytes | None = None


class Look:
    """Looks at the events that answer a posted body, no closer than it must.

    Args:
        waiting: the calls in it, by the ids that the server knows them by.
        session: whose calls they are.
        rules: what the operator wants.
    """

    def __init__(self, waiting: dict[Id, Pending], session: Session, rules: Rules) -> None:
        self.is_resumable = False
        self._waiting = waiting
        self._session = session
        self._rules = rules

    def at(self, event: bytes) -> Answer | bool | None:
        """Return the answer in an event; None: pass it as it is. False: drop it."""
        if b"id:" in event and id_of(event):
            self.is_resumable = True
        data = data_of(event)
        if not data:
            return None
        glance = came(data)
        if glance is None:
            return self._at_odd(event, data)
        if glance.method is not None:
            return self._at_notification(glance.method, data)
        pending = None if glance.id is None else self._waiting.get(glance.id)
        if pending is None:
            return None
        if pending.is_answered:
            return False
        if glance.is_failed or self.is_due(pending):
            return self._at_odd(event, data)
        self._session.ended(pending)
        pending.is_answered = True
        return None

    def is_due(self, pending: Pending) -> bool:
        """Return whether even a success must be looked at."""
        return self._rules.looks_at_successes or pending.run is not None or pending.sent_as != pending.id

    def _at_odd(self, event: bytes, data: bytes) -> Answer | bool | None:
        try:
            message = read(data)
        except RecursionError:
            return None
        id = message.get("id") if is_object(message) and message.get("method") is None else None
        pending = self._waiting.get(id) if isinstance(id, int | str) else None
        if pending is None or not is_object(message):
            return None
        return False if pending.is_answered else Answer(pending, message, event=event)

    def _at_notification(self, method: str, data: bytes) -> bool | None:
        self._session.heard(data)
        if method == "notifications/progress" and len(self._waiting) == 1:
            pending = next(iter(self._waiting.values()))
            if pending.run is not None and not self._rules.is_progress(pending, decoded(data)):
                return False
        return None
