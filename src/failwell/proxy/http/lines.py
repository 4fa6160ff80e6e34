"""The client's side of a proxy that speaks standard input and output: its lines, and where answers are written."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor

from failwell._json import is_object
from failwell.proxy.http.event_stream import Events, data_of, id_of, name_of, retry_of
from failwell.proxy.http.reply import ClientGone, Headers
from failwell.proxy.messages import Id, encode, glance_at_server, read
from failwell.proxy.stdio.pump import taken_of

_CHUNK = 1 << 16
_INTERNAL_ERROR = -32603
_MESSAGE = b"message"
_MOST_ANSWERED = 4096


class LineReader:
    """The lines that a client sends, read by a thread of their own: a pipe, a file and a terminal read alike."""

    def __init__(self, source: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.ended = asyncio.Event()
        threading.Thread(target=self._read, args=(source,), daemon=True, name="failwell lines").start()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (line := await self._queue.get()) is not None:
            yield line

    def _read(self, source: int) -> None:
        held = b""
        try:
            while chunk := os.read(source, _CHUNK):
                *lines, held = (held + chunk).split(b"\n")
                for line in lines:
                    self._put(line)
            self._put(held)
        except (OSError, RuntimeError):  # nothing to read from, or the loop is over
            pass
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, None)
            self._loop.call_soon_threadsafe(self.ended.set)
        except RuntimeError:
            return

    def _put(self, line: bytes) -> None:
        if line := line.strip():
            self._loop.call_soon_threadsafe(self._queue.put_nowait, line)


class LineWriter:
    """Where the client reads. A thread writes, so that a client who does not read stops nothing else."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="failwell output")

    async def message(self, data: bytes) -> None:
        """Write one message.

        Raises:
            ClientGone: nobody reads any more.
        """
        line = b" ".join(data.splitlines()) + b"\n"  # in JSON, line ends are spaces
        taken = await asyncio.get_running_loop().run_in_executor(self._writer, taken_of, line, self._target)
        if taken < len(line):
            raise ClientGone


class StdioReply:
    """The answer to one message, each of its messages a line.

    Args:
        output: where the client reads.
        asked: the id of the request, if it was one.
        seen: told each message.
    """

    def __init__(
        self, output: LineWriter, asked: Id | None, *, seen: Callable[[bytes], object] = lambda _: None
    ) -> None:
        self.is_begun = False
        self.is_answered = asked is None
        self.status = 0
        self.last_event: bytes | None = None
        self.patience: float | None = None
        self.asked = asked
        self.answered: dict[Id, None] = {}
        self._output = output
        self.seen = seen

    async def whole(self, status: int, headers: Headers, body: bytes) -> None:  # noqa: ARG002 - as `Reply` has it
        """Write the message in a body; an error that is none is written as one."""
        self.status = status
        try:
            message = read(body)
        except RecursionError:
            message = body
        if self.is_answered and status >= 300:
            return  # nobody waits for an answer to a notification
        if is_object(message) and "error" in message and message.get("id") is None:
            body = encode({**message, "id": self.asked})
        elif message is None:
            if self.asked is None or status == 202:
                return
            body = encode(self._error(f"The server answered with HTTP status {status}."))
        await self._message(body)

    async def begin(self, status: int, headers: Headers) -> None:  # noqa: ARG002 - as `Reply` has it
        """Begin a stream."""
        self.status = status
        self.is_begun = True

    async def write(self, data: bytes) -> None:
        """Write the messages in events."""
        for event in Events().feed(data):
            self.last_event = id_of(event) or self.last_event
            self.patience = retry_of(event) if self.patience is None else self.patience
            if name_of(event) == _MESSAGE and (found := data_of(event)):
                await self._message(found)

    async def failed(self, sentence: str) -> None:
        """Answer the request with an error, if it has no answer yet."""
        if not self.is_answered:
            await self._message(encode(self._error(sentence)))

    async def _message(self, data: bytes) -> None:
        self.seen(data)
        if (glance := glance_at_server(data)) is not None and glance.method is None and glance.id is not None:
            self.answered[glance.id] = None
            if len(self.answered) > _MOST_ANSWERED:
                self.answered.pop(next(iter(self.answered)))
            self.is_answered = self.is_answered or glance.id == self.asked
        await self._output.message(data)

    def _error(self, sentence: str) -> dict[str, object]:
        return {"jsonrpc": "2.0", "id": self.asked, "error": {"code": _INTERNAL_ERROR, "message": sentence}}
