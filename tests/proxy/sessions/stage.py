"""A scripted client and a scripted server with a proxy between them, all in one event loop.

A script says what the client sends and what the server answers, and waits for what it expects. Nothing is timed: what
does not come within `PATIENCE` is an error.
"""

import asyncio
import io
import json
import os
import re
import signal
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from aiohttp import ClientSession, ClientTimeout, TCPConnector, web

from tests.proxy.http.setting import close_all
from tests.proxy.sessions.launcher import Launcher, ProxyProcess
from tests.proxy.sessions.transcript import Transcript

PATIENCE = 40.0
_LONGEST_LINE = 1 << 28
_POLL_INTERVAL = 0.02
_HOLDER = [sys.executable, "-I", "-S", str(Path(__file__).with_name("holder.py"))]
_PATH = "/mcp"
_STREAM = "text/event-stream"
_JSON = "application/json"

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "client", "version": "1"}}
INFO = {"name": "server", "version": "1"}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "key": {"type": "string"}}, "required": ["n"]}
TOOLS: list[dict[str, Any]] = [
    {"name": "look", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
    {"name": "put", "inputSchema": SCHEMA, "annotations": {"idempotentHint": True}},
    {"name": "act", "inputSchema": SCHEMA},
    {"name": "typed", "inputSchema": SCHEMA, "outputSchema": {"type": "object", "required": ["n"]}},
]

_START = re.compile(rb'"id":([^,]+),"method":"([^"]+)"')

T = TypeVar("T")
Message = dict[str, Any]
Answer = Message | str | Callable[["Request"], Awaitable[None]]
"""What the server answers: a `result` or an `error`; a text in which `<id>` is the id; or something that it does."""


class Stuck(AssertionError):
    """Something that a script waits for does not come."""


def compact(message: Any) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


class Request:
    """What reached the server."""

    def __init__(self, stage: "Stage", body: bytes, method: str = "") -> None:
        self.stage = stage
        self.body = body
        self.message = _lenient(body)
        if self.message is None and (start := _START.search(body)):  # all that can be read of a deep message
            self.message = {"id": json.loads(start[1]), "method": start[2].decode()}
        known = self.message if isinstance(self.message, dict) else {}
        self.id: Any = known.get("id")
        self.method: str = method or known.get("method") or ""
        params = known.get("params")
        self.params: Message = params if isinstance(params, dict) else {}

    async def answer(self, answer: Answer) -> None:
        """Answer it."""
        if callable(answer):
            await answer(self)
            return
        text = answer if isinstance(answer, str) else compact({"jsonrpc": "2.0", "id": "<id>", **answer}).decode()
        data = text.replace('"<id>"', json.dumps(self.id)).replace("<id>", str(self.id))
        await self.write(data.encode("utf-8", "surrogateescape"), is_last=True)

    async def say(self, message: Message) -> None:
        """Send a message before the answer."""
        await self.write(compact({"jsonrpc": "2.0", **message}), is_last=False)

    async def write(self, data: bytes, *, is_last: bool) -> None:
        raise NotImplementedError

    async def break_off(self) -> None:
        """Break off before the answer: the process dies, or the connection breaks."""
        raise NotImplementedError


def _lenient(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


class Stage:
    """One session: the proxy, its client and its server.

    Attributes:
        answers: what the server answers to a tool, for each try; the last of them from then on. Calls of other tools
            wait until the script takes them with `receive`, unless there is an answer `otherwise`.
        manual: methods that the server does not answer by itself.
        pages: the tools that the server lists.
        has_streams: the server has a stream for its own messages, which waits to be taken as `GET`.
        form: over HTTP, `json` or `sse`.
    """

    def __init__(self, transport: str, words: tuple[str, ...], launcher: Launcher, *, form: str = "json") -> None:
        self.transport = transport
        self.form = form
        self.answers: dict[str, list[Answer]] = {}
        self.otherwise: Answer | None = None
        self.manual: set[str] = set()
        self.pages: list[list[Message]] = [TOOLS]
        self._listings = 0
        self.has_streams = False
        self.version: str | None = None
        self.waiting: list[Request] = []
        self.notes: list[Request] = []
        self.transcript = Transcript()
        self.tries: Counter[str] = Counter()
        self.given: Counter[Any] = Counter()
        self.words = words
        self._launcher = launcher
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[Any]] = []
        self._has_ended = False
        self._told = b""

    @property
    def is_http(self) -> bool:
        """Whether the server speaks HTTP."""
        return self.transport != "stdio"

    async def __aenter__(self) -> "Stage":
        self._stack = AsyncExitStack()
        await self._stack.__aenter__()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fw"))
        self._events = Path(folder, "events.jsonl")
        words = [str(self._events) if word == "EVENTS" else word for word in self.words]
        server = HttpServer if self.is_http else LineServer
        self.server: Any = await self._stack.enter_async_context(server(self, folder))
        client = HttpClient if self.transport == "http" else LineClient
        self.client: Any = client(self)
        told, stderr = os.pipe()
        stdin, stdout = self.client.streams()
        words = ["--name", "demo", *self.client.words, *words, *self.server.words]
        self.proxy: ProxyProcess = self._launcher.start(words, [stdin, stdout, stderr])
        self._stack.callback(self.proxy.close)
        for stream in (stdin, stdout, stderr):
            os.close(stream)
        self._reader = await _reader(told)
        self.start(self._listen_to_operator())
        await self.client.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._has_ended:
            with suppress(OSError):
                self.proxy.send(signal.SIGKILL)
            await self.client.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stack.aclose()

    def start(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    async def _listen_to_operator(self) -> None:
        while chunk := await self._reader.read(1 << 16):
            self._told += chunk
            self.touch()

    def told(self) -> str:
        """Return what the proxy told its operator so far."""
        return self._told.decode("utf-8", "replace")

    def touch(self) -> None:
        """Have whoever waits look again."""
        self._changed.set()

    async def until(self, what: str, find: Callable[[], T | None]) -> T:
        """Wait until something is found."""
        try:
            async with asyncio.timeout(PATIENCE):
                while (found := find()) is None:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise Stuck(f"waited in vain for {what}; so far:\n{self.transcript.shown()}\n{self.told()}") from None
        return found

    # What the server does.

    async def take(self, request: Request) -> None:
        """Take in what reached the server."""
        method = request.method
        if isinstance(request.message, dict) and (request.id is None or not method):
            self.notes.append(request)
            self.touch()
            return
        answer = self._answer(request) if method not in self.manual else None
        if answer is None:
            self.waiting.append(request)
            self.touch()
        else:
            await request.answer(answer)
            self.given[request.params.get("name") if method == "tools/call" else method] += 1
            self.touch()

    def _answer(self, request: Request) -> Answer | None:
        match request.method:
            case "tools/call":
                tool = request.params.get("name", "")
                if not isinstance(tool, str) or tool not in self.answers:
                    return self.otherwise
                self.tries[tool] += 1
                return self.answers[tool][min(self.tries[tool], len(self.answers[tool])) - 1]
            case "initialize":
                version = self.version or request.params.get("protocolVersion")
                return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": INFO}}
            case "tools/list":
                self._listings += 1
                page = int(request.params.get("cursor") or 0)
                more = {"nextCursor": str(page + 1)} if page + 1 < len(self.pages) else {}
                return {"result": {"tools": self.pages[page], **more}}
            case "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe":
                return {"result": {}}
            case "GET":
                return None if self.has_streams else respond(405, Allow="POST, DELETE")
            case "DELETE":
                return respond(200)
        return None

    async def receive(self, method: str = "tools/call") -> Request:
        """Wait for a request that the server does not answer by itself, and return it."""

        def find() -> Request | None:
            return next((one for one in self.waiting if one.method == method), None)

        found = await self.until(f"{method} at the server", find)
        self.waiting.remove(found)
        return found

    async def note(self, method: str) -> Request:
        """Wait for a notification, and return it."""
        return await self.until(f"{method} at the server", lambda: _first(self.notes, method))

    # What the client does.

    async def open(self, *, lists: bool = True, version: str | None = None) -> None:
        """Shake hands, and ask for the tools."""
        hello = HELLO if version is None else {**HELLO, "protocolVersion": version}
        await self.ask("initialize", hello, id="hello")
        await self.notify("notifications/initialized")
        if self.transport == "remote":  # it asks for a stream by itself
            await self.until("GET at the server", lambda: self.transcript.has_reached_server("GET") or None)
        if lists:
            await self.ask_tools()

    async def ask_tools(self, id: Any = "list", **params: Any) -> None:
        await self.ask("tools/list", params or None, id=id)

    async def ask(self, method: str, params: Message | None = None, *, id: Any) -> None:
        """Send a request and wait for its answer."""
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        await self.send(message if params is None else {**message, "params": params})
        await self.result(id)

    async def notify(self, method: str, params: Message | None = None) -> None:
        message: Message = {"jsonrpc": "2.0", "method": method}
        before = len(self.notes)
        await self.send(message if params is None else {**message, "params": params})
        await self.client.wait_for_notification(method, before)

    async def call(self, tool: str, id: Any = 7, *, meta: Any = None, more: Any = None, **arguments: Any) -> None:
        """Send a call, and do not wait for its answer."""
        params: Message = {"name": tool, "arguments": arguments or {"n": 1}, **(more or {})}
        params |= {} if meta is None else {"_meta": meta}
        await self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})

    async def send(self, message: Any, **headers: str) -> None:
        """Send a message, or bytes as they are."""
        body = message if isinstance(message, bytes) else compact(message)
        self.transcript.sent(body)
        await self.client.send(body, **headers)

    async def result(self, id: Any) -> None:
        """Wait for the answer to a request."""
        await self.client.result(id)

    async def cancel(self, id: Any) -> None:
        await self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})

    async def settle(self) -> None:
        """Wait until what was sent before has passed in both directions."""
        await self.ask("ping", id="settle")

    async def listed(self, count: int) -> None:
        """Wait until the server was asked for its tools so many times: the proxy asks on its own after a change."""
        async with asyncio.timeout(PATIENCE):
            while self._listings < count:
                await asyncio.sleep(_POLL_INTERVAL)

    async def event(self, kind: str, count: int = 1) -> None:
        """Wait until so many events of a kind are on record."""
        async with asyncio.timeout(PATIENCE):
            while sum(f'"kind":"{kind}"' in line.replace(" ", "") for line in self._event_lines()) < count:
                await asyncio.sleep(_POLL_INTERVAL)

    def _event_lines(self) -> list[str]:
        return self._events.read_text().splitlines() if self._events.exists() else []

    async def end(self) -> Message:
        """End the session as the client, and return its record."""
        await self.client.end()
        code = await asyncio.wait_for(self.proxy.wait(), PATIENCE)
        self._has_ended = True
        await self.client.close()
        await asyncio.wait(self._tasks[:1], timeout=PATIENCE)
        return self.transcript.record(self._event_lines(), self.told(), code)


def _first(requests: list[Request], method: str) -> Request | None:
    return next((one for one in requests if one.method == method), None)


async def _reader(file: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(_LONGEST_LINE)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(file, "rb", 0))
    return reader


class _Writer:
    """Writes to a pipe without blocking the loop."""

    def __init__(self, file: int) -> None:
        self._file: int | None = file
        os.set_blocking(file, False)

    async def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest and self._file is not None:
            try:
                rest = rest[os.write(self._file, rest) :]
            except BlockingIOError:
                await self._ready()
            except OSError:
                return  # nobody reads any more, which the script sees elsewhere

    async def _ready(self) -> None:
        assert self._file is not None
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_writer(self._file, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_writer(self._file)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


class LineClient:
    """A client on standard input and output."""

    words: tuple[str, ...] = ()

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._lines: list[tuple[Any, bytes]] = []
        self._ends: tuple[int, int] = (-1, -1)
        self._is_over = False

    def streams(self) -> tuple[int, int]:
        """Return what the proxy reads and writes."""
        stdin, to = os.pipe()
        from_, stdout = os.pipe()
        self._ends = to, from_
        return stdin, stdout

    async def open(self) -> None:
        self._writer = _Writer(self._ends[0])
        self._reader = await _reader(self._ends[1])
        self._reading = self._stage.start(self._read())

    async def _read(self) -> None:
        while line := await self._reader.readline():
            message = _lenient(line)
            self._lines.append((message, line))
            self._stage.transcript.to_client(line)
            self._stage.touch()
        self._is_over = True
        self._stage.touch()

    async def send(self, body: bytes, **_: str) -> None:
        await self._writer.write(body + b"\n")

    async def wait_for_notification(self, method: str, before: int) -> None:
        """Lines keep their order: there is nothing to wait for, unless the server speaks HTTP."""
        if self._stage.is_http:
            await self._stage.until(f"{method} at the server", lambda: len(self._stage.notes) > before or None)

    async def result(self, id: Any) -> None:
        def find() -> bool:
            return any(_answers(message, id) or (message is None and start in line) for message, line in self._lines)

        start = f'"id":{json.dumps(id)},'.encode()  # all that can be read of a deep answer
        await self._stage.until(f"the answer to {id!r}", lambda: find() or None)
        self._lines = [one for one in self._lines if not _answers(one[0], id)]

    async def seen(self, text: str) -> None:
        """Wait for a line with a text."""
        await self._stage.until(f"{text!r}", lambda: any(text.encode() in line for _, line in self._lines) or None)

    async def end(self) -> None:
        self._writer.close()
        await asyncio.wait_for(self._reading, PATIENCE)

    async def over(self) -> None:
        """Wait until the proxy ends by itself."""
        await self._stage.until("the end of the proxy", lambda: self._is_over or None)

    async def close(self) -> None:
        self._writer.close()


def _answers(message: Any, id: Any) -> bool:
    if isinstance(message, list):
        return any(_answers(one, id) for one in message)
    return isinstance(message, dict) and "method" not in message and message.get("id") == id


class _Line(Request):
    """A line that reached the server."""

    async def write(self, data: bytes, *, is_last: bool) -> None:
        await self.stage.server.say(data)

    async def break_off(self) -> None:
        await self.stage.server.die(3)


class LineServer:
    """A server that is started by the proxy; it may die and be started again."""

    def __init__(self, stage: Stage, folder: str) -> None:
        self._stage = stage
        self._path = str(Path(folder, "server"))
        self.words = ("--", *_HOLDER, self._path)
        self.starts = 0
        self._control: socket.socket | None = None
        self._writer: _Writer | None = None

    async def __aenter__(self) -> "LineServer":
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self._path)
        self._listener.listen()
        self._listener.setblocking(False)
        self._accepting = asyncio.create_task(self._accept())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._accepting.cancel()
        await asyncio.gather(self._accepting, return_exceptions=True)
        self._leave("exit 0")
        self._listener.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            control, _ = await loop.sock_accept(self._listener)
            ready = asyncio.Event()
            loop.add_reader(control, ready.set)
            await ready.wait()
            loop.remove_reader(control)
            _, (stdin, stdout), _, _ = socket.recv_fds(control, 64, 2)
            self._leave("kill")
            self._control, self._writer = control, _Writer(stdout)
            self.starts += 1
            if self.starts > 1:
                self._stage.transcript.server_started()
            self._stage.start(self._read(await _reader(stdin), self.starts))
            self._stage.touch()

    async def _read(self, reader: asyncio.StreamReader, number: int) -> None:
        try:
            while line := await reader.readline():
                self._stage.transcript.to_server(line)
                request = _Line(self._stage, line)
                if isinstance(request.message, list):
                    for one in request.message:
                        await self._stage.take(_Line(self._stage, compact(one)))
                elif isinstance(request.message, dict):
                    await self._stage.take(request)
        finally:
            reader._transport.close()  # type: ignore[attr-defined]  # a reader has no other way to close its pipe
        if number == self.starts:
            self._leave("exit 0")

    def _leave(self, how: str) -> None:
        if self._control is not None and self._writer is not None:
            self._writer.close()
            with suppress(OSError):
                self._control.send(how.encode())
            self._control.close()
            self._control = None

    async def say(self, data: bytes, *, end: bytes = b"\n") -> None:
        """Write a line."""
        await self._stage.until("the server", lambda: self._control is not None or None)
        assert self._writer is not None
        self._stage.transcript.said(data)
        await self._writer.write(data + end)

    async def die(self, code: int | None, rest: bytes = b"") -> None:
        """End with a code, or by a signal, after the beginning of a line."""
        if rest:
            await self.say(rest, end=b"")
        self._leave("kill" if code is None else f"exit {code}")

    async def started(self, count: int) -> None:
        """Wait until the server was started so often."""
        await self._stage.until(f"start {count}", lambda: self.starts >= count or None)


def respond(status: int, body: bytes | str = b"", **headers: str) -> Callable[[Request], Awaitable[None]]:
    """Return what answers a request over HTTP with a response."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def do(request: Request) -> None:
        text = body.encode() if isinstance(body, str) else body
        data = text.replace(b'"<id>"', json.dumps(request.id).encode())
        assert isinstance(request, _Posted)
        request.orders.put_nowait(("response", (status, named, data)))

    return do


class _Posted(Request):
    """A request that reached the server over HTTP."""

    def __init__(self, stage: Stage, request: web.BaseRequest, body: bytes) -> None:
        super().__init__(stage, body, method="" if request.method == "POST" else request.method)
        self.headers = request.headers
        self.orders: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self.is_streamed = stage.form == "sse" or request.method == "GET"
        self.is_gone = False

    async def write(self, data: bytes, *, is_last: bool) -> None:
        self.stage.transcript.said(data)
        if is_last and not self.is_streamed:
            more = {"Mcp-Session-Id": "session-1"} if self.method == "initialize" and not self.stage.version else {}
            self.orders.put_nowait(("response", (200, {"Content-Type": _JSON, **more}, data)))
            return
        self.event(b"event: message\ndata: " + data + b"\n\n")
        if is_last and self.method != "GET":
            self.finish()

    def event(self, data: bytes) -> None:
        """Write bytes to the stream."""
        self.is_streamed = True
        self.orders.put_nowait(("event", data))

    def finish(self) -> None:
        """End the stream."""
        self.orders.put_nowait(("end", None))

    async def break_off(self) -> None:
        self.orders.put_nowait(("break", None))

    async def run(self, request: web.BaseRequest) -> web.StreamResponse:
        """Do what is ordered."""
        response: web.StreamResponse | None = None
        try:
            while True:
                order, data = await self.orders.get()
                if order == "response":
                    status, headers, body = data
                    return web.Response(status=status, headers=headers, body=body)
                if order == "break":
                    assert request.transport is not None
                    request.transport.abort()
                    return response or web.Response()
                if response is None:
                    more = {"Mcp-Session-Id": "session-1"} if self.method == "initialize" else {}
                    response = web.StreamResponse(headers={"Content-Type": _STREAM, **more})
                    await response.prepare(request)
                if order == "end":
                    return response
                await response.write(data)
        except (ConnectionError, asyncio.CancelledError):
            self.is_gone = True
            self.stage.touch()
            raise

    async def gone(self) -> None:
        """Wait until nobody reads the answer any more."""
        await self.stage.until("the end of the connection", lambda: self.is_gone or None)


_USUAL = {
    "accept": "application/json, text/event-stream",
    "content-type": _JSON,
    "accept-encoding": "identity",
    "mcp-session-id": "session-1",
}
_UNSTEADY = ("host", "content-length", "user-agent", "transfer-encoding", "connection")


class HttpServer:
    """A server that the proxy stands in front of."""

    def __init__(self, stage: Stage, folder: str) -> None:
        self._stage = stage

    async def __aenter__(self) -> "HttpServer":
        self._server = web.Server(self._handle, handler_cancellation=True)
        self._listener = await asyncio.get_running_loop().create_server(self._server, "127.0.0.1", 0)
        self.words = ("--url", f"http://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}{_PATH}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listener.close()
        await close_all(self._server)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.content.read()  # however long it is
        told = {
            name.lower(): value
            for name, value in request.headers.items()
            if name.lower() not in _UNSTEADY and _USUAL.get(name.lower()) != value
        }
        self._stage.transcript.to_server(body, head=_head(request, told))
        self._stage.touch()
        posted = _Posted(self._stage, request, body)
        if isinstance(posted.message, dict) and not (posted.method and "id" in posted.message):
            posted.orders.put_nowait(("response", (202, {}, b"")))
        await self._stage.take(posted)
        return await posted.run(request)


def _head(request: web.BaseRequest, headers: Message) -> str:
    path = "" if request.raw_path == _PATH else f" {request.raw_path}"
    return f"{request.method}{path}{f' {json.dumps(headers, sort_keys=True)}' if headers else ''}"


_UNSTEADY_IN_ANSWERS = ("date", "server", "content-length", "transfer-encoding", "connection")


class HttpClient:
    """A client of the gateway."""

    words = ("--listen", "127.0.0.1:0", "--grace", "0")

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._posts: dict[Any, asyncio.Task[Any]] = {}
        self._null = -1
        self.headers: dict[str, str] = {}

    def streams(self) -> tuple[int, int]:
        return os.open(os.devnull, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY)

    async def open(self) -> None:
        def find() -> str | None:
            told = self._stage.told()
            return told if "\n" in told else None

        told = await self._stage.until("the address of the gateway", find)
        self._url = told.partition("listening on ")[2].partition(",")[0]
        self._session = ClientSession(
            connector=TCPConnector(limit=0), timeout=ClientTimeout(total=None), auto_decompress=False
        )

    async def send(self, body: bytes, **headers: str) -> None:
        message = _lenient(body)
        label = message.get("id", message.get("method")) if isinstance(message, dict) else "batch"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"Accept": _USUAL["accept"], "Content-Type": _JSON, **self.headers, **named}
        self.start(label, "POST", sent, body)

    def start(self, label: Any, method: str, headers: dict[str, str], body: bytes | None = None) -> None:
        """Send a request; its answer is awaited by its label."""
        answer = self._stage.transcript.expect(label)
        self._posts[label] = self._stage.start(self._request(method, headers, body, answer, is_hello=label == "hello"))

    async def _request(
        self, method: str, headers: dict[str, str], body: bytes | None, answer: list[Any], *, is_hello: bool
    ) -> None:
        data = None if body is None else io.BytesIO(body)
        async with self._session.request(method, self._url, data=data, headers=headers) as response:
            kept = {
                name.lower(): value
                for name, value in response.headers.items()
                if name.lower() not in _UNSTEADY_IN_ANSWERS
            }
            if is_hello and "mcp-session-id" in kept:
                self.headers["Mcp-Session-Id"] = kept["mcp-session-id"]
            form = kept.pop("content-type", "")
            told = [str(response.status), form.removeprefix("application/"), json.dumps(kept) if kept else ""]
            answer.append(" ".join(filter(None, told)))
            self._stage.touch()
            try:
                await self._read(response, answer, is_stream=form == _STREAM)
            except Exception as broken:
                answer.append(f"broken off: {type(broken).__name__}")
        self._stage.touch()

    async def _read(self, response: Any, answer: list[Any], *, is_stream: bool) -> None:
        rest = b""
        async for chunk in response.content.iter_any():
            rest += chunk
            while is_stream and b"\n\n" in rest:
                event, _, rest = rest.partition(b"\n\n")
                answer.append(event)
                self._stage.touch()
        if rest:
            answer.append(rest)

    async def wait_for_notification(self, method: str, before: int) -> None:
        await self.result(method)

    async def result(self, id: Any) -> None:
        label = id if id in self._posts else "batch"
        done, _ = await asyncio.wait([self._posts[label]], timeout=PATIENCE)
        if not done:
            raise Stuck(f"waited in vain for the answer to {id!r}; so far:\n{self._stage.transcript.shown()}")
        self._posts[label].result()

    async def seen(self, text: str) -> None:
        """Wait for a part of an answer with a text."""
        await self._stage.until(f"{text!r}", lambda: self._stage.transcript.has(text.encode()) or None)

    async def wait_all(self) -> None:
        """Wait for the answers to all requests."""
        for label in list(self._posts):
            await self.result(label)

    def leave(self, label: Any) -> None:
        """Hang up before the answer to a request is complete."""
        self._posts.pop(label).cancel()

    async def end(self) -> None:
        await self.wait_all()
        await self._session.close()
        self._stage.proxy.send(signal.SIGTERM)

    async def close(self) -> None:
        await self._session.close()
