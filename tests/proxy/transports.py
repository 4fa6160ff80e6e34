"""Both transports without processes, sockets and clocks: the real parts between a client and a server of the test.

A test says what the client sends, what the server answers, when it dies and how time passes. It sees what each end got.
"""

import asyncio
import heapq
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from typing import Any, Protocol

from msgspec import Struct
from multidict import CIMultiDict

from failwell.proxy.channels import redacted_message
from failwell.proxy.conversation import Conversation, PendingRequest, Settings
from failwell.proxy.http.bodies import BodyMemory
from failwell.proxy.http.effects import AsyncEffectRunner
from failwell.proxy.http.event_stream import EventSplitter, data_of, event_of
from failwell.proxy.http.exchange import Exchange
from failwell.proxy.http.sessions import HttpSession, PostedBody, UpstreamRequest
from failwell.proxy.http.streams import ListeningStream
from failwell.proxy.http.tools import ToolLister
from failwell.proxy.stdio.effects import EffectRunner
from failwell.proxy.stdio.lazy_reader import LazyReader
from failwell.proxy.stdio.pump import end_of_taken
from failwell.proxy.stdio.restarts import Restarts
from tests.proxy.conversations import conversation

Message = dict[str, Any]
LASTING = ("answered_ids", "_recently_answered", "handshake", "lasting")
"""What a conversation keeps after its calls have ended, up to a bound of its own."""


class Received(Struct, eq=False):
    """A request that a server got: which server, how often it was answered, and where a response goes."""

    message: Message
    server: int
    answers: int = 0
    response: Any = None


class Witness(Protocol):
    """Sees what each end gets, at the moment it gets it."""

    def server_got(self, request: Received) -> None:
        """See a request that a server got."""

    def client_got(self, message: Message) -> None:
        """See a message that the client got."""


class Transport(Protocol):
    """What a test does with a transport. `server` is the number of the server that runs, or is dying."""

    conversation: Conversation
    server: int
    is_dying: bool
    is_over: bool

    def pause(self) -> None:
        """Let something else happen, in another thread."""

    async def apause(self) -> None:
        """Let something else happen, in another task."""

    def send(self, *messages: Message) -> bool:
        """Have the client send messages, which arrive together; return whether the proxy reads them now."""
        ...

    def answer(self, request: Received, data: bytes) -> None:
        """Have the server answer a request that it got."""

    def say(self, data: bytes) -> None:
        """Have the server say something that it was not asked for, or say it late."""

    def die(self, room: int) -> None:
        """Have the server die; nobody has noticed that yet.

        It takes so many bytes more, or all but so many of what is written next.
        """

    def notice_death(self, *, will_return: bool) -> None:
        """Have the proxy see that the server is dead; another one takes its place, or none."""

    def leave(self, id: Any) -> None:
        """Have the client go away from a request without a word, where it can do that."""

    def pass_time(self, seconds: float) -> None:
        """Let time pass."""

    def end(self) -> None:
        """Let all calls end that wait for anything but the server."""

    def leftovers(self) -> dict[str, int]:
        """Return what is kept of calls, by where."""

    def close(self) -> None:
        """Let go of everything."""


def leftovers_in(thing: object, *, but: tuple[str, ...] = ()) -> dict[str, int]:
    """Return how much each container of an object holds."""
    found = {name: len(value) for name, value in vars(thing).items() if hasattr(value, "__len__") and name not in but}
    return {name: length for name, length in found.items() if length and name not in ("_server", "calls")}


def lines_of(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


def messages_in(data: bytes) -> list[Message]:
    found = json.loads(data)
    return found if isinstance(found, list) else [found]


class LineTransport:
    """Standard input and output: `EffectRunner` and `Restarts`, and what `StdioSession` does with their lines.

    In a session each direction has a thread, and so has each timer. What another thread does while one of them asks the
    limits or reports an event happens in *meanwhile*, which gets the directions that are busy.
    """

    def __init__(self, wanted: Settings, witness: Witness, *, meanwhile: Callable[[set[str]], None]) -> None:
        self.server = 1
        self.is_dying = self.is_over = False
        self.conversation = conversation(wanted)
        self._witness = witness
        self._now = 0.0
        self._room = 0
        self._meanwhile = meanwhile
        self._busy: set[str] = set()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._waiting: list[tuple[bytes, PendingRequest | None]] = []
        self._unread: list[tuple[Message, ...]] = []
        self._restarts = Restarts(clock=lambda: self._now)
        self._runner = EffectRunner(
            self.conversation,
            to_client=self._to_client,
            to_server=self._send,
            report=lambda _: self.pause(),
            clock=lambda: self._now,
            jitter=lambda: 0.5,
            schedule=self._schedule,
        )

    def pause(self) -> None:
        self._meanwhile(self._busy | ({"up"} if self._is_up_waiting else set()))

    @property
    def _is_up_waiting(self) -> bool:
        return any(request is None for _, request in self._waiting)

    async def apause(self) -> None:
        raise AssertionError("nothing is awaited here")

    def send(self, *messages: Message) -> bool:
        if self._is_up_waiting or "up" in self._busy:  # the thread that reads the client waits for the next server
            self._unread.append(messages)
            return False
        self._busy.add("up")
        lines = [json.dumps(one).encode() + b"\n" for one in messages]
        changed = [self._runner.from_client(line) for line in lines]
        self._busy.discard("up")
        data = b"".join(line if one is None else one for line, one in zip(lines, changed, strict=True))
        if data:
            self._to_server(data)
        return True

    def answer(self, request: Received, data: bytes) -> None:
        request.answers += 1
        self.say(data)

    def say(self, data: bytes) -> None:
        if self.is_dying or self.is_over:
            return
        self._busy.add("down")
        line = data + b"\n"
        changed = self._runner.from_server(line)
        self._busy.discard("down")
        self._to_client(line if changed is None else changed)

    def die(self, room: int) -> None:
        self.is_dying, self._room = True, room

    def notice_death(self, *, will_return: bool) -> None:
        if not will_return:
            self._waiting.clear()
            self.is_over = True
            self._read_on()
            self._to_client(self._restarts.answers(self._runner, 1, will_return=False))
            self._timers.clear()  # the process ends
            return
        self._busy.add("main")
        answers = self._restarts.answers(self._runner, 1, will_return=True)
        self._busy.discard("main")
        self.server += 1
        self.is_dying = False
        self._to_client(answers)
        waiting, self._waiting = self._waiting, []
        for data, request in waiting:
            self._to_server(data) if request is None else self._send(data, request)
        self._read_on()

    def _read_on(self) -> None:
        unread, self._unread = self._unread, []
        for messages in unread:
            self.send(*messages)

    def leave(self, id: Any) -> None:
        """Do nothing: a client on standard input leaves all its requests together."""

    def pass_time(self, seconds: float) -> None:
        until = self._now + seconds
        while self._timers and self._timers[0][0] <= until:
            at, _, action = heapq.heappop(self._timers)
            self._now = max(self._now, at)
            action()
        self._now = until

    def end(self) -> None:
        self.pass_time(0.0)

    def leftovers(self) -> dict[str, int]:
        kept = {**leftovers_in(self.conversation, but=LASTING), **leftovers_in(self._runner)}
        if self.is_over:
            kept.pop("_unsent", 0)  # nobody will send them
        elif self.conversation.listing is not None:
            kept |= leftovers_in(self.conversation.listing)
        return kept

    def close(self) -> None:
        self._timers.clear()

    def _schedule(self, delay: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (self._now + delay, next(self._numbers), action))

    def _to_client(self, data: bytes) -> None:
        for line in lines_of(data):
            for message in messages_in(line):
                self._witness.client_got(message)

    def _to_server(self, data: bytes) -> None:
        """Do what `StdioSession.to_server` does, for a server that may take only some of it."""
        if "main" in self._busy:  # which holds the lock until the next server runs
            self._wait(data, None)
            return
        self._runner.note_all_sent()
        rest = data[end_of_taken(data, self._take(data)) :]
        if rest:
            self._runner.note_not_sent(rest)
            self._wait(rest, None)

    def _send(self, data: bytes, request: PendingRequest) -> None:
        """Do what `StdioSession.send` does."""
        if "main" in self._busy:
            self._wait(data, request)
        elif not request.is_ended and not request.is_cancelled:
            request.is_sent = True
            if not end_of_taken(data, self._take(data)):
                request.is_sent = False
                self._wait(data, request)

    def _wait(self, data: bytes, request: PendingRequest | None) -> None:
        if not self.is_over:
            self._waiting.append((data, request))

    def _take(self, data: bytes) -> int:
        """Return how many bytes the server takes."""
        room = len(data) + self._room if self._room < 0 else self._room
        taken = 0 if self.is_over else min(room, len(data)) if self.is_dying else len(data)
        self._room = max(self._room - taken, 0)
        for line in lines_of(data[:taken] + b"\n"):  # a server may act on a message before its line ends
            self._take_line(line)
        return taken

    def _take_line(self, line: bytes) -> None:
        try:
            found = messages_in(line)
        except ValueError:
            return
        for one in found:
            if "id" in one and "method" in one:
                self._witness.server_got(Received(one, self.server))


class OneThreadTransport(LineTransport):
    """Standard input and output while one thread passes both directions: `LazyReader`, and what `Duplex` does with it.

    Nothing else happens while that thread waits for anybody. It ends with the server, or once that takes no more.
    """

    def __init__(self, wanted: Settings, witness: Witness, *, meanwhile: Callable[[set[str]], None]) -> None:
        super().__init__(wanted, witness, meanwhile=meanwhile)
        self._reader = None if wanted.shares_limits else LazyReader(self._runner)

    def pause(self) -> None:
        if self._reader is None:
            super().pause()

    def send(self, *messages: Message) -> bool:
        reader = self._reader
        if reader is None:
            return super().send(*messages)
        data = b"".join(json.dumps(one).encode() + b"\n" for one in messages)
        is_read = reader.may_change_requests and reader.must_read(data)
        if is_read:
            reader.catch_up()
            data = self._read_up(data)
        rest = data[end_of_taken(data, self._take(data)) :]
        if rest:
            self._leave()
            if not is_read:
                self._read_up(data)
            self._runner.note_not_sent(rest)
            self._wait(rest, None)
        elif not is_read:
            reader.note_sent(data)
        return True

    def say(self, data: bytes) -> None:
        reader = self._reader
        if reader is None or self.is_dying:
            super().say(data)
            return
        line = data + b"\n"
        changed = reader.from_server(line)
        self._to_client(line if changed is None else changed)
        if reader.is_behind:
            reader.catch_up()

    def notice_death(self, *, will_return: bool) -> None:
        self._leave()
        super().notice_death(will_return=will_return)

    def pass_time(self, seconds: float) -> None:
        if self._reader is not None:
            self._reader.catch_up()
        super().pass_time(seconds)

    def leftovers(self) -> dict[str, int]:
        unread = {} if self._reader is None else leftovers_in(self._reader, but=("_answered",))
        return {**super().leftovers(), **unread}

    def _send(self, data: bytes, request: PendingRequest) -> None:
        super()._send(data, request)
        if self._waiting:
            self._leave()

    def _read_up(self, data: bytes) -> bytes:
        lines = lines_of(data)
        changed = [self._runner.from_client(line) for line in lines]
        self._runner.note_all_sent()
        return b"".join(line if one is None else one for line, one in zip(lines, changed, strict=True))

    def _leave(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.catch_up()


class QuietLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__()

    def time(self) -> float:
        return self.now

    def settle(self) -> None:
        """Run until every task waits for something."""
        for _ in range(40):
            self.call_soon(self.stop)
            self.run_forever()


class Response:
    """A response of the server, as far as the proxy looks at one."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.status = 200
        self.method = "POST"
        self.content_type = ""
        self.content_length = None
        self.headers: CIMultiDict[str] = CIMultiDict()
        self.started: asyncio.Future[None] = loop.create_future()
        self.is_released = False
        self.content = self
        self._chunks: asyncio.Queue[bytes | Exception] = asyncio.Queue()
        self._is_ended = False

    def start(self, content_type: str) -> None:
        if not self.started.done():
            self.content_type = content_type
            self.headers["Content-Type"] = content_type
            self.started.set_result(None)

    def feed(self, chunk: bytes | Exception) -> None:
        self._chunks.put_nowait(chunk)
        self._is_ended = self._is_ended or chunk == b""

    def at_eof(self) -> bool:
        return self._is_ended and self._chunks.qsize() == 1

    def break_off(self) -> None:
        if self.started.done():
            self.feed(ConnectionResetError())
        else:
            self.started.set_exception(ConnectionResetError())
            self.started.exception()  # whoever waited for it may have left

    async def readany(self) -> bytes:
        found = await self._chunks.get()
        if isinstance(found, Exception) or not found:
            self._chunks.put_nowait(found)  # the end stays the end
        if isinstance(found, Exception):
            raise found
        return found

    async def iter_any(self) -> AsyncIterator[bytes]:
        while chunk := await self.readany():
            yield chunk

    def release(self) -> None:
        self.is_released = True

    close = release


class Reply:
    """Shows the messages that a client gets."""

    def __init__(self, witness: Witness) -> None:
        self.is_started = False
        self.takes_messages = False
        self._witness = witness

    async def send(self, status: int, headers: object, body: bytes) -> None:
        self.is_started = True
        for message in messages_in(body) if body else ():
            self._witness.client_got(message)

    async def start(self, status: int, headers: object) -> None:
        self.is_started = True

    async def write(self, data: bytes) -> None:
        for event in EventSplitter().feed(data):
            for message in messages_in(data_of(event)):
                self._witness.client_got(message)


class FakeUpstream:
    """The connections to the server of the test."""

    def __init__(self, send: Callable[[bytes], Awaitable[Response]]) -> None:
        self.memory = BodyMemory()
        self._send = send

    async def send(self, method: str, url: str, headers: object, body: bytes) -> Response:
        return await self._send(body)


class PostTransport:
    """HTTP: an `Exchange` for each posted call, and a `ListeningStream`; responses are JSON, or event streams."""

    def __init__(self, wanted: Settings, witness: Witness, *, form: str) -> None:
        self.server = 1
        self.is_dying = self.is_over = False
        self.conversation = conversation(wanted)
        self.loop = QuietLoop()
        self._witness = witness
        self._received: list[Received] = []
        self.form = form
        self._room = 0
        self._questions: list[asyncio.Future[None]] = []
        self._session = HttpSession(self.conversation)
        self._exchanges: dict[Exchange, asyncio.Task[None]] = {}
        self._posts: dict[Any, asyncio.Task[None]] = {}
        self._replies: dict[asyncio.Task[None], Reply] = {}
        self._upstream: Any = FakeUpstream(self._take)
        lister = ToolLister(self._upstream)
        self._effects = AsyncEffectRunner(
            lambda _: None,
            list_tools=lister.learn,
            clock=self.loop.time,
            jitter=lambda: 0.5,
        )
        self._listening = Response(self.loop)
        response: Any = self._listening
        stream = ListeningStream(self._session, Reply(witness), upstream=self._upstream, effects=self._effects)
        self._listener = self.loop.create_task(stream.run(response, on_endpoint=lambda _: None))

    def pause(self) -> None:
        raise AssertionError("everything is awaited here")

    async def apause(self) -> None:
        question = self.loop.create_future()
        self._questions.append(question)
        await question

    async def _take(self, body: bytes) -> Response:
        found = Received(json.loads(body), self.server, response=Response(self.loop))
        if self.is_over or (self.is_dying and not self._room):
            raise ConnectionRefusedError
        self._received.append(found)
        self._witness.server_got(found)
        if self.is_dying:
            raise ConnectionResetError
        await found.response.started
        return found.response

    def send(self, *messages: Message) -> bool:
        for one in messages:
            self._post(json.dumps(one).encode())
        self.loop.settle()
        return True

    def answer(self, request: Received, data: bytes) -> None:
        request.answers += 1
        response: Response = request.response
        if self.form == "sse":
            response.start("text/event-stream")
            response.feed(event_of(data))
        elif request.answers == 1:
            response.start("application/json")
            response.feed(data)
            response.feed(b"")
        else:
            self.say(data)
        self.loop.settle()

    def answer_elsewhere(self, request: Received, data: bytes) -> None:
        """Answer on the stream that the client listens to, and then, if that is JSON, in the response too."""
        request.answers += 1
        self.say(data)
        response: Response = request.response
        response.start("text/event-stream" if self.form == "sse" else "application/json")
        if self.form == "json":
            response.feed(data)
            response.feed(b"")
        self.loop.settle()

    def say(self, data: bytes) -> None:
        if not self.is_dying and not self.is_over:
            self._listening.feed(event_of(data))
            self.loop.settle()

    def die(self, room: int) -> None:
        self.is_dying, self._room = True, room

    def notice_death(self, *, will_return: bool) -> None:
        for request in self._received:
            if request.server == self.server:
                request.response.break_off()
        self.loop.settle()
        self.is_dying, self.is_over = False, not will_return
        self.server += 1

    def leave(self, id: Any) -> None:
        if (task := self._posts.get(id)) is not None:
            task.cancel()
            self.loop.settle()

    def pass_time(self, seconds: float) -> None:
        self._answer_question()
        self.loop.now += seconds
        self.loop.settle()

    def end(self) -> None:
        while self._questions:
            self._answer_question()
        for request in self._received:
            if request.answers:
                self.end_response(request)

    def end_response(self, request: Received) -> None:
        """Have the server end an event stream, which has its answer."""
        request.response.feed(b"")
        self.loop.settle()

    def leftovers(self) -> dict[str, int]:
        running = sum(not task.done() for task in self._exchanges.values())
        ended = [task for task in self._replies if task.done() and not task.cancelled()]
        found = {
            "exchanges": running,
            "posts without a response": sum(not self._replies[one].is_started for one in ended),
        }
        return {
            **leftovers_in(self.conversation, but=LASTING),
            **{name: count for name, count in found.items() if count},
        }

    def close(self) -> None:
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.settle()
        self.loop.close()

    def _answer_question(self) -> None:
        if self._questions:
            question = self._questions.pop(0)
            if not question.done():  # who asked may have left
                question.set_result(None)
            self.loop.settle()

    def _post(self, body: bytes) -> None:
        posted = PostedBody.of(body)
        if posted.cancels is not None:
            self.conversation.cancel(posted.cancels, body)
        elif posted.calls:
            headers: CIMultiDict[str] = CIMultiDict()
            request = UpstreamRequest(posted, "http://server/mcp", headers, self._session, is_tracked=True)
            reply = Reply(self._witness)
            exchange = Exchange(request, reply, upstream=self._upstream, effects=self._effects)
            task = self._posts[posted.id] = self._exchanges[exchange] = self.loop.create_task(exchange.run())
            self._replies[task] = reply
        elif posted.id is not None:
            self.loop.create_task(self._pass(posted))

    async def _pass(self, posted: PostedBody) -> None:
        """Do what a gateway does with a request that is no call."""
        try:
            response = await self._take(posted.body)
            data = await response.readany()
        except OSError:
            error = {"code": -32603, "message": "The server disconnected before it answered."}
            self._witness.client_got({"jsonrpc": "2.0", "id": posted.id, "error": error})
            return
        data = data_of(data) if self.form == "sse" else data
        if posted.is_list:
            self.conversation.learn(data, is_page=posted.is_page)
        for message in messages_in(redacted_message(data, answers=posted.id)):
            self._witness.client_got(message)
