"""`Written`: the answers to one posted body, on their way to the client."""

from failwell.proxy.glances import encode
from failwell.proxy.http.event_stream import data_of, event_of, with_data
from failwell.proxy.http.looking import Answer
from failwell.proxy.http.replying import Headers, Reply, json_headers
from failwell.proxy.renaming import renamed
from failwell.proxy.upgrading import Message

_OK = 200


class Written:
    """Writes answers to a stream that has begun, and else keeps them until there are no more.

    Args:
        reply: where they go.
        is_batch: there may be several in one body.
    """

    def __init__(self, reply: Reply, *, is_batch: bool) -> None:
        self.headers: Headers | None = None
        self.is_batch = is_batch
        self._reply = reply
        self._kept: list[bytes] = []

    async def message(self, message: Message, event: bytes | None = None) -> None:
        """Write a message, in the event that it came in if there is one."""
        data = encode(message)
        if event is not None:
            await self._reply.write(with_data(event, data))
        else:
            await self.raw(data)

    async def passed(self, answer: Answer) -> bool:
        """Write an answer as it came but for its id, unless it was one of many."""
        id = answer.pending.id
        is_named = answer.message.get("id") == id
        if answer.event is not None:
            event = answer.event
            await self._reply.write(event if is_named else with_data(event, renamed(data_of(event), id)))
        elif answer.body is not None:
            await self.raw(answer.body if is_named else renamed(answer.body, id))
        else:
            return False
        return True

    async def raw(self, data: bytes) -> None:
        """Write a message that is encoded already."""
        if self._reply.is_begun:
            await self._reply.write(event_of(data))
        else:
            self._kept.append(data)

    async def finish(self) -> None:
        """Write what is not written yet."""
        if not self._kept:
            return
        body = b"[" + b",".join(self._kept) + b"]" if self.is_batch else self._kept[0]
        await self._reply.whole(_OK, json_headers() if self.headers is None else self.headers, body)
