"""The sessions: what is answered, with which options, over which transport, and in which order."""

import gzip
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from tests.proxy.sessions import answers
from tests.proxy.sessions.answers import BUSY, LIMITED, MISSING, PAUSE, REFUSED, SHORT, error, flagged, raw, success
from tests.proxy.sessions.stage import SCHEMA, TOOLS, Answer, Request, Stage, compact, respond

Play = Callable[[Stage], Awaitable[None]]

RETRY = ("--retry", "--events", "EVENTS")
ALL = ("--retry", "--validate", "--flip-unflagged", "*", "--events", "EVENTS")
OPTIONS: dict[str, tuple[str, ...]] = {
    "plain": (),
    "events": ("--events", "EVENTS"),
    "retry": ("--retry",),
    "flip": ("--flip-unflagged", "*"),
    "validate": ("--validate", "--quiet"),
    "all": ALL,
    "dry": ("--observe", *ALL),
    "xml": ("--dialect", "xml"),
    "envelope": ("--dialect", "envelope"),
    "flat": ("--dialect", "flat"),
    "compact": ("--dialect", "compact", "--events", "EVENTS"),
}
BOTH = ("stdio", "http")
EVERY = ("stdio", "http", "remote")
STREAMS = ("stdio", "sse", "remote")
"""Transports on which the server can send more than its answer; `sse` is HTTP with answers as event streams."""


class Session(NamedTuple):
    """A scripted session."""

    name: str
    transport: str
    words: tuple[str, ...]
    play: Play
    is_ordered: bool = True
    is_quick: bool = False


SESSIONS: dict[str, Session] = {}


def add(
    name: str,
    play: Play,
    *,
    words: tuple[str, ...] = (),
    over: Iterable[str] = BOTH,
    is_ordered: bool = True,
    is_quick: bool = False,
) -> None:
    """Add a session for each transport. Of those that are quick, the usual run of the tests plays all but `remote`."""
    for transport in over:
        key = f"{transport}/{name}"
        assert key not in SESSIONS, key
        SESSIONS[key] = Session(key, transport, words, play, is_ordered, is_quick and transport != "remote")


def session(name: str, **more: Any) -> Callable[[Play], Play]:
    def register(play: Play) -> Play:
        add(name, play, **more)
        return play

    return register


async def break_off(request: Request) -> None:
    await request.break_off()


# One call.


def one_call(*tries: Answer, tool: str = "look", more: Any = None, **arguments: Any) -> Play:
    """Return a session with one call, whose tries are answered one after the other."""

    async def play(stage: Stage) -> None:
        await stage.open()
        stage.answers[tool] = list(tries)
        await stage.call(tool, more=more, **arguments)
        await stage.result(7)
        await stage.settle()

    return play


_QUICK = ("success", "not found", "busy", "secret", "unflagged")
_WRITTEN = ("not found", "busy", "invalid", "internal error")
for _option, _words in OPTIONS.items():
    for _name, _answer in answers.COMMON.items():
        if _option in ("plain", "all") or _name in (_WRITTEN if _option in answers.NAMES else _QUICK):
            _is_quick = _name in {"plain": _QUICK, "all": ("busy", "unflagged")}.get(_option, ())
            add(f"{_option}/{_name}", one_call(_answer), words=_words, is_quick=_is_quick)
for _name, _answer in answers.ERRORS.items():
    add(f"plain/{_name}", one_call(_answer))
    add(f"all/{_name}", one_call(_answer), words=ALL, over=("http",))
for _name, _answer in answers.ODD.items():
    add(f"plain/{_name}", one_call(_answer))
    if "very long" not in _name:
        add(f"all/{_name}", one_call(_answer), words=ALL)
for _table in (answers.TEXTS, answers.DIALECTS):  # the same parts read and write these everywhere
    for _name, _answer in _table.items():
        add(f"plain/{_name}", one_call(_answer), over=("stdio",))
        add(f"all/{_name}", one_call(_answer, success()), words=ALL, over=("http",))
for _name, _answer in answers.SECRET.items():
    add(f"plain/{_name}", one_call(_answer), is_quick=_name == "secret, structured content")
for _name, _answer in answers.TYPED.items():
    add(f"plain/{_name}", one_call(_answer, tool="typed"))
    add(f"all/{_name}", one_call(_answer, tool="typed"), words=ALL)
for _name in ("success", "not found", "busy", "secret", "unflagged"):
    add(f"all/{_name}", one_call(answers.COMMON[_name]), words=ALL, over=("sse", "remote"))
    add(f"plain/{_name}", one_call(answers.COMMON[_name]), over=("sse", "remote"))
for _name in ("NaN", "NaN in a failure", "wrong byte", "wrong byte in a failure", "deep", "deep failure", "long text"):
    add(f"plain/{_name}", one_call(answers.ODD[_name]), over=("sse", "remote"))
    add(f"all/{_name}", one_call(answers.ODD[_name]), words=ALL, over=("sse",))

# Retries: what the tool promises, how often, and how it ends.

for _tool in ("look", "put", "act"):
    for _name, _answer in {"busy": BUSY, "too many": LIMITED, "refused": REFUSED, "not found": MISSING}.items():
        _is_quick = _name == "busy" and _tool != "put"
        add(
            f"retry/{_tool} recovers, {_name}",
            one_call(_answer, success(), tool=_tool),
            words=RETRY,
            is_quick=_is_quick,
        )
    add(f"retry/{_tool} never recovers", one_call(BUSY, tool=_tool), words=RETRY)
add("retry/third try", one_call(BUSY, LIMITED, success()), words=RETRY, over=EVERY)
add("retry/third try, no events", one_call(BUSY, LIMITED, success()), words=("--retry",), over=EVERY)
add("retry/another failure", one_call(BUSY, MISSING), words=RETRY)
add("retry/graver failure before", one_call(BUSY, REFUSED), words=RETRY)
add("retry/protocol error after", one_call(BUSY, error(-32600, "Invalid request")), words=RETRY)
add("retry/two attempts", one_call(BUSY), words=(*RETRY, "--attempts", "2"))
add("retry/one attempt", one_call(BUSY), words=(*RETRY, "--attempts", "1"))
add("retry/no time", one_call(PAUSE), words=(*RETRY, "--deadline", "5"))
add("retry/operator says safe", one_call(BUSY, success(), tool="act"), words=(*RETRY, "--retry-safe", "act"))
add("retry/dry", one_call(BUSY), words=(*RETRY, "--observe"))
add("retry/flipped", one_call(success("Error: 503 Service Unavailable"), success()), words=ALL)
add("retry/not flipped", one_call(success("Error: 503 Service Unavailable"), success()), words=RETRY)
add("retry/success with NaN", one_call(BUSY, answers.ODD["NaN"]), words=RETRY, over=(*BOTH, "sse"))
add("retry/success with a wrong byte", one_call(BUSY, answers.ODD["wrong byte"]), words=RETRY, over=(*BOTH, "sse"))
add("retry/deep success", one_call(BUSY, answers.ODD["deep"]), words=RETRY, over=(*BOTH, "sse"))
add("retry/deep failure", one_call(BUSY, answers.ODD["deep failure"]), words=RETRY, over=(*BOTH, "sse"))
add("retry/very long success", one_call(BUSY, answers.ODD["very long success"]), words=RETRY, over=(*BOTH, "sse"))
add("retry/very long failure", one_call(BUSY, answers.ODD["very long failure"]), words=RETRY, over=(*BOTH, "sse"))
add(
    "retry/typed", one_call(BUSY, answers.TYPED["typed failure"], tool="typed"), words=(*RETRY, "--retry-safe", "typed")
)
for _length in (200_000, 300_000, 1_200_000):
    add(f"retry/{_length} bytes", one_call(BUSY, success(), n=1, key="x" * _length), words=RETRY)
    add(f"plain/{_length} bytes", one_call(BUSY, n=1, key="x" * _length))
add("retry/task", one_call(BUSY, success(), more={"task": {"ttl": 1000}}), words=RETRY)
add("plain/task error", one_call(error(-32603, "no tasks"), more={"task": {"ttl": 1000}}), over=EVERY)
add(
    "plain/task",
    one_call({"result": {"task": {"taskId": "t-1", "status": "working"}}}, more={"task": {"ttl": 1000}}),
    over=EVERY,
)
add("all/task failure", one_call(flagged("404 Not Found"), more={"task": {}}), words=ALL)


@session("retry/breaker", words=(*RETRY, "--attempts", "1", "--deadline", "8"))
async def breaker(stage: Stage) -> None:
    """A tool that fails again and again is suspended, for longer than a call may wait."""
    await stage.open()
    stage.answers["look"] = [BUSY]
    for number in range(8):
        await stage.call("look", number, n=number)
        await stage.result(number)
    await stage.settle()


@session("retry/loop", words=RETRY)
async def loop(stage: Stage) -> None:
    """The same call fails in the same way again and again."""
    await stage.open()
    stage.answers["act"] = [MISSING]
    for number in range(6):
        await stage.call("act", number)
        await stage.result(number)
    await stage.settle()


# What is refused before it reaches the server.

for _name, _arguments in {
    "right": {"n": 1},
    "wrong type": {"n": "one"},
    "missing": {"key": "a"},
    "unknown name": {"n": 1, "kee": "a"},
    "secret value": {"n": answers.SECRETS["password"][1]},
}.items():
    for _option in ("validate", "all", "dry"):
        add(
            f"{_option}/arguments, {_name}",
            one_call(success(), **_arguments),
            words=OPTIONS[_option],
            is_quick=(_option, _name) == ("all", "wrong type"),
        )
add("validate/no such tool", one_call(error(-32602, "Unknown tool: lok"), tool="lok"), words=OPTIONS["validate"])
add("plain/no such tool", one_call(error(-32602, "Unknown tool: lok"), tool="lok"), over=EVERY, is_quick=True)
add("plain/no such tool, flagged", one_call(flagged("Unknown tool: lok"), tool="lok"), over=EVERY)
add("plain/invalid arguments", one_call(error(-32602, "Invalid arguments"), n="one"), over=EVERY)


# Interleavings.


async def is_waiting(stage: Stage) -> None:
    """Wait until the proxy waits before it tries `look` again."""
    await stage.until("the answer", lambda: stage.given["look"] or None)
    if stage.transport == "stdio":
        await stage.server.say(compact({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "up"}}))
        await stage.client.seen('"up"')
    else:
        await stage.event("retry")


async def cancel(stage: Stage, id: Any, *, is_passed: bool = True) -> None:
    """Cancel a request, and wait until the proxy knows."""
    before = len(stage.notes)
    await stage.cancel(id)
    if stage.transport == "http":
        await stage.result("notifications/cancelled")
    elif is_passed:
        await stage.until("the cancellation", lambda: len(stage.notes) > before or None)
    else:
        await stage.settle()


def parallel(is_reversed: bool) -> Play:
    async def play(stage: Stage) -> None:
        await stage.open()
        given: list[Answer] = [success("a"), MISSING, success("b"), flagged("403 Forbidden"), error(-32603, "broken")]
        for number in range(5):
            await stage.call("act", number)
        taken = [await stage.receive() for _ in given]
        taken.sort(key=lambda one: one.id, reverse=is_reversed)
        for one in taken:
            await one.answer(given[one.id])
        for number in range(5):
            await stage.result(number)
        await stage.settle()

    return play


for _option in ("plain", "all"):
    _words = OPTIONS[_option]
    _every = (*EVERY, "sse")
    add(f"{_option}/parallel", parallel(is_reversed=False), words=_words, over=_every, is_ordered=False)
    add(f"{_option}/parallel, reversed", parallel(is_reversed=True), words=_words, over=_every, is_ordered=False)


@session("retry/parallel", words=RETRY, over=EVERY, is_ordered=False, is_quick=True)
async def parallel_retries(stage: Stage) -> None:
    """One call is retried while another one is answered."""
    await stage.open()
    await stage.call("look", 1)
    await stage.call("put", 2)
    first, second = [await stage.receive() for _ in range(2)]
    await first.answer(BUSY)
    again = await stage.receive()
    await second.answer(success())
    await stage.result(second.id)
    await again.answer(success())
    await stage.result(first.id)
    await stage.settle()


def late(*given: Answer, tool: str = "look") -> Play:
    """A call is cancelled, and answered all the same."""

    async def play(stage: Stage) -> None:
        await stage.open()
        await stage.call(tool)
        request = await stage.receive()
        await cancel(stage, 7)
        for one in given:
            await request.answer(one)
        if stage.transport == "http":
            await stage.result(7)
        await stage.settle()

    return play


for _name, _answer in {"success": success(), "failure": MISSING, "busy": BUSY, "error": error(-32800, "Gone")}.items():
    add(f"plain/cancelled, then {_name}", late(_answer), over=EVERY, is_quick=_name == "failure")
    add(f"retry/cancelled, then {_name}", late(_answer), words=RETRY, over=EVERY)


@session("plain/cancelled, no answer", over=("stdio", "remote"))
@session("retry/cancelled, no answer", words=RETRY, over=("stdio", "remote"))
async def cancelled_for_good(stage: Stage) -> None:
    await stage.open()
    await stage.call("look")
    await stage.receive()
    await cancel(stage, 7)
    await stage.settle()


@session("plain/cancelled after the answer", over=EVERY)
@session("retry/cancelled after the answer", words=RETRY, over=EVERY)
async def cancelled_too_late(stage: Stage) -> None:
    await stage.open()
    stage.answers["look"] = [BUSY, success()]
    await stage.call("look")
    await stage.result(7)
    await cancel(stage, 7)
    await stage.settle()


@session("plain/cancelled, never sent", over=EVERY)
@session("retry/cancelled, never sent", words=RETRY, over=EVERY)
async def cancelled_unknown(stage: Stage) -> None:
    await stage.open()
    await cancel(stage, 99)
    await stage.settle()


@session("retry/cancelled while it waits", words=RETRY, over=("stdio",), is_quick=True)
@session("retry/cancelled while it waits", words=RETRY, over=("http", "remote"))
async def cancelled_while_waiting(stage: Stage) -> None:
    """Over HTTP the answer comes when the wait is over, so that it must be short."""
    await stage.open()
    stage.answers["look"] = [SHORT]
    await stage.call("look")
    await is_waiting(stage)
    await cancel(stage, 7, is_passed=stage.is_http)
    await stage.settle()
    if stage.transport == "http":
        await stage.result(7)


def cancelled_second_try(*given: Answer) -> Play:
    async def play(stage: Stage) -> None:
        await stage.open()
        await stage.call("look")
        await (await stage.receive()).answer(BUSY)
        again = await stage.receive()
        await cancel(stage, 7)
        for one in given:
            await again.answer(one)
        if given and stage.transport == "http":
            await stage.result(7)
        await stage.settle()

    return play


for _name, _answer in {"success": success(), "failure": MISSING, "busy": BUSY}.items():
    add(
        f"retry/cancelled in the second try, then {_name}",
        cancelled_second_try(_answer),
        words=RETRY,
        over=EVERY,
        is_quick=_name == "busy",
    )


def doubled(first: Answer, second: Answer, *tries: Answer) -> Play:
    """A call gets two answers."""

    async def play(stage: Stage) -> None:
        await stage.open()
        await stage.call("look")
        request = await stage.receive()
        for one in tries:
            await request.answer(one)
            request = await stage.receive()
        await write_only(request, first)
        await request.answer(second)
        await stage.result(7)
        await stage.settle()

    return play


async def write_only(request: Request, answer: Answer) -> None:
    """Answer a request, and leave its stream open."""
    assert isinstance(answer, dict)
    await request.write(compact({"jsonrpc": "2.0", "id": request.id, **answer}), is_last=False)


for _name, _pair in {
    "two successes": (success("one"), success("two")),
    "success, failure": (success("one"), MISSING),
    "failure, success": (MISSING, success("two")),
    "two failures": (MISSING, flagged("403 Forbidden")),
    "error, success": (error(-32600, "Invalid request"), success("two")),
}.items():
    add(f"plain/{_name}", doubled(*_pair), over=STREAMS, is_quick=_name == "two failures")
    add(f"retry/{_name} in the second try", doubled(*_pair, BUSY), words=RETRY, over=STREAMS)


def progress(value: float, token: Any = "token", **more: Any) -> dict[str, Any]:
    params = {"progressToken": token, "progress": value, **more}
    return {"method": "notifications/progress", "params": params}


def with_progress(*tries: tuple[Answer, tuple[Any, ...]], token: Any = "token") -> Play:
    async def play(stage: Stage) -> None:
        await stage.open()
        await stage.call("look", meta={"progressToken": token})
        for answer, values in tries:
            request = await stage.receive()
            for value in values:
                await request.say(progress(value, token))
            await request.answer(answer)
        await stage.result(7)
        await stage.settle()

    return play


add("plain/progress", with_progress((success(), (1, 2, 2, 1))), over=STREAMS)
add("plain/progress of a failure", with_progress((MISSING, (1, 2))), over=STREAMS)
add("retry/progress", with_progress((BUSY, (1, 2)), (success(), (1, 2, 3))), words=RETRY, over=STREAMS, is_quick=True)
add("retry/progress goes back", with_progress((success(), (1, 2, 2, 1))), words=RETRY, over=STREAMS)
add("retry/odd progress", with_progress((BUSY, ("a", 2)), (success(), (None, 1))), words=RETRY, over=STREAMS)
add(
    "retry/progress, number as token",
    with_progress((BUSY, (1,)), (success(), (1,)), token=5),
    words=RETRY,
    over=STREAMS,
)


@session("retry/progress of another call", words=RETRY, over=STREAMS)
async def progress_of_two(stage: Stage) -> None:
    """Progress of a retried call and of one that is not."""
    await stage.open()
    await stage.call("look", 1, meta={"progressToken": "a"})
    first = await stage.receive()
    await first.say(progress(5, "a"))
    await first.answer(BUSY)
    again = await stage.receive()
    await stage.call("act", 2, meta={"progressToken": "b"})
    other = await stage.receive()
    await other.say(progress(1, "b"))
    await again.say(progress(4, "a"))
    await again.say(progress(1, "unknown"))
    await other.answer(success())
    await stage.result(2)
    await again.answer(success())
    await stage.result(1)
    await stage.settle()


def changed(first: Any, second: Any, *, is_told: bool) -> Play:
    """A tool changes what it promises during the session."""

    async def play(stage: Stage) -> None:
        stage.pages = [[{"name": "act", "inputSchema": SCHEMA, "annotations": first}]]
        await stage.open()
        stage.pages = [[{"name": "act", "inputSchema": SCHEMA, "annotations": second}]]
        if is_told:
            await stage.call("other", "other")
            request = await stage.receive()
            await request.say({"method": "notifications/tools/list_changed"})
            await request.answer(success())
            await stage.result("other")
            await stage.listed(2)
        else:
            await stage.ask_tools("again")
        stage.answers["act"] = [BUSY, success()]
        await stage.call("act")
        await stage.result(7)
        await stage.settle()

    return play


_SAFE, _NONE = {"readOnlyHint": True}, {"readOnlyHint": False}
for _name, (_first, _second) in {"kept": (_SAFE, _SAFE), "lost": (_SAFE, _NONE), "won": (_NONE, _SAFE)}.items():
    add(f"retry/promise {_name}", changed(_first, _second, is_told=False), words=RETRY, over=EVERY)
    add(f"retry/promise {_name}, told", changed(_first, _second, is_told=True), words=RETRY, over=STREAMS)
add("plain/promise lost, told", changed(_SAFE, _NONE, is_told=True), over=STREAMS)
add("validate/list changed", changed(_SAFE, _SAFE, is_told=True), words=OPTIONS["validate"], over=STREAMS)


@session("retry/promise lost during the call", words=RETRY, over=STREAMS)
async def promise_lost_during_call(stage: Stage) -> None:
    await stage.open()
    await stage.call("look")
    request = await stage.receive()
    stage.pages = [[{"name": "look", "inputSchema": SCHEMA}]]
    await stage.ask_tools("again")
    await request.answer(BUSY)
    await stage.result(7)
    await stage.settle()


@session("retry/pages", words=RETRY, over=EVERY)
@session("plain/pages", over=EVERY)
@session("validate/pages", words=OPTIONS["validate"], over=EVERY)
async def pages(stage: Stage) -> None:
    """The tools are on two pages, of which the client asks for each."""
    stage.pages = [TOOLS[:1], TOOLS[1:]]
    await stage.open()
    await stage.ask_tools("second", cursor="1")
    stage.answers |= {"look": [BUSY, success()], "put": [BUSY, success()], "lok": [flagged("Unknown tool: lok")]}
    for tool in ("look", "put", "lok"):
        await stage.call(tool, tool)
        await stage.result(tool)
    await stage.call("put", "wrong", n="one")
    await stage.result("wrong")
    await stage.settle()


def unlisted(*tries: Answer, **arguments: Any) -> Play:
    """The client does not ask for the tools."""

    async def play(stage: Stage) -> None:
        await stage.open(lists=False)
        stage.answers["look"] = list(tries)
        await stage.call("look", **arguments)
        await stage.result(7)
        await stage.settle()

    return play


for _option in ("plain", "retry", "all"):
    add(f"{_option}/unlisted, busy", unlisted(BUSY, success()), words=OPTIONS[_option], over=EVERY)
    add(f"{_option}/unlisted, not found", unlisted(MISSING), words=OPTIONS[_option], over=EVERY)
    add(f"{_option}/unlisted, success", unlisted(success()), words=OPTIONS[_option], over=EVERY)
    add(f"{_option}/unlisted, wrong arguments", unlisted(success(), n="x"), words=OPTIONS[_option], over=EVERY)


def modern(*tries: Answer, lists: bool = True) -> Play:
    """A client since 2026-07-28: there is no handshake, and each request describes its client."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
    }

    async def play(stage: Stage) -> None:
        if lists:
            await stage.ask_tools(_meta=meta)
        stage.answers["look"] = list(tries)
        await stage.call("look", meta={**meta, "progressToken": 1})
        await stage.result(7)
        await stage.settle()

    return play


for _name, _answer in {"success": success(), "not found": MISSING, "busy": BUSY, "error": error(-32603, "x")}.items():
    add(f"plain/2026-07-28, {_name}", modern(_answer), is_quick=_name == "not found")
    add(f"all/2026-07-28, {_name}", modern(_answer, success()), words=ALL)
    add(f"all/2026-07-28, unlisted, {_name}", modern(_answer, success(), lists=False), words=ALL)


def era(version: str) -> Play:
    async def play(stage: Stage) -> None:
        await stage.open(version=version)
        stage.answers["look"] = [BUSY, success()]
        await stage.call("look")
        await stage.result(7)
        await stage.settle()

    return play


for _version in ("2024-11-05", "2025-03-26", "2025-11-25"):
    add(f"retry/{_version}", era(_version), words=RETRY, over=EVERY)


# Ids and messages that are odd.


def odd_ids(*ids: Any) -> Play:
    async def play(stage: Stage) -> None:
        await stage.open()
        stage.answers["look"] = [MISSING]
        for id in ids:
            await stage.call("look", id)
            await stage.result(id)
        await stage.settle()

    return play


add("plain/ids", odd_ids("a", 0, -5, 2**53 + 1, "", "7", 7, "ü\u2028"), over=EVERY)
add("all/ids", odd_ids("a", 0, -5, 2**53 + 1, "", "7", 7, "ü\u2028"), words=ALL, over=EVERY)
add("plain/same id again", odd_ids(7, 7, 7), over=("stdio", "http"))
add("retry/same id again", odd_ids(7, 7, 7), words=RETRY, over=("stdio", "http"))


def sends(*bodies: bytes | str) -> Play:
    """The client sends lines that no server answers."""

    async def play(stage: Stage) -> None:
        await stage.open()
        stage.manual.add("tools/call")
        for body in bodies:
            await stage.send(body.encode() if isinstance(body, str) else body)
            if stage.transport == "http":
                await stage.client.wait_all()
        await stage.settle()

    return play


_CALL = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}'
for _option in ("plain", "all"):
    add(
        f"{_option}/lines that are no requests",
        sends("", "not JSON", "[]", "5", "{}", '{"jsonrpc":"2.0","id":1}', '{"method":5}', b"\xff\xfe", "  "),
        words=OPTIONS[_option],
        over=("stdio",),
    )
    add(
        f"{_option}/odd notifications",
        sends(
            '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"look","arguments":{}}}',
            '{"jsonrpc":"2.0","method":"notifications/cancelled"}',
            '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}',
            '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}',
            '{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"x":NaN}}',
        ),
        words=OPTIONS[_option],
        over=("stdio",),
    )


def odd_call(id: str, params: str) -> Play:
    """A call that is not what it should be; the server answers it with a failure."""

    async def play(stage: Stage) -> None:
        await stage.open()
        stage.otherwise = MISSING
        await stage.send((_CALL % (id, params)).encode("utf-8", "surrogateescape"))
        await (stage.client.wait_all() if stage.transport == "http" else stage.client.seen(f'"id":{id},'))
        await stage.settle()

    return play


_DEEP = "[" * 3000 + "]" * 3000
for _name, (_id, _params) in {
    "no arguments": ("7", '{"name":"look"}'),
    "arguments that are a list": ("7", '{"name":"look","arguments":[1]}'),
    "arguments that are null": ("7", '{"name":"look","arguments":null}'),
    "no name": ("7", '{"arguments":{}}'),
    "name that is a number": ("7", '{"name":5,"arguments":{}}'),
    "params that are null": ("7", "null"),
    "params that are a list": ("7", '["look"]'),
    "NaN": ("7", '{"name":"look","arguments":{"n":NaN}}'),
    "half a character": ("7", '{"name":"look","arguments":{"n":1,"key":"\\ud83d"}}'),
    "wrong byte": ("7", '{"name":"look","arguments":{"n":1,"key":"\udcff"}}'),
    "deep": ("7", '{"name":"look","arguments":{"n":1,"deep":' + _DEEP + "}}"),
    "fraction as id": ("7.5", '{"name":"look","arguments":{"n":1}}'),
    "long name": ("7", '{"name":"' + "x" * 500 + '","arguments":{"n":1}}'),
    "twice the same key": ("7", '{"name":"look","arguments":{"n":1},"name":"act"}'),
}.items():
    add(f"plain/call, {_name}", odd_call(_id, _params))
    add(f"all/call, {_name}", odd_call(_id, _params), words=ALL)


@session("plain/other requests")
@session("all/other requests", words=ALL)
async def other_requests(stage: Stage) -> None:
    """Requests that are no calls succeed and fail."""
    await stage.open()
    for number, answer in enumerate(
        (
            {"result": {"contents": [{"uri": "file:///a", "text": "password=visible-in-a-success"}]}},
            error(-32002, "Resource not found"),
            error(-32603, answers.SECRETS["password"][0], data={"token": answers.SECRETS["password"][1]}),
            {"result": {"isError": True, "content": [{"type": "text", "text": answers.SECRETS["password"][0]}]}},
            raw("5"),
        )
    ):
        message = {"jsonrpc": "2.0", "id": number, "method": "resources/read", "params": {"uri": "file:///a"}}
        await stage.send(message)
        await (await stage.receive("resources/read")).answer(answer)
        await stage.result(number)
    await stage.settle()


@session("plain/server asks", over=STREAMS)
@session("all/server asks", words=ALL, over=STREAMS)
async def server_asks(stage: Stage) -> None:
    """The server sends requests and notifications while a call runs."""
    await stage.open()
    await stage.call("look")
    request = await stage.receive()
    await request.say({"method": "notifications/message", "params": {"level": "info", "data": "working"}})
    await request.say({"id": 7, "method": "elicitation/create", "params": {"message": "Which?"}})
    await stage.client.seen("Which?")
    await stage.send({"jsonrpc": "2.0", "id": 7, "result": {"action": "accept"}})
    await stage.until("the client's answer", lambda: any("accept" in str(one.message) for one in stage.notes) or None)
    await request.say({"id": "ask", "method": "sampling/createMessage", "params": {"messages": []}})
    await stage.client.seen("createMessage")
    await request.answer(MISSING)
    await stage.result(7)
    await stage.settle()


def batch(*given: Answer) -> Play:
    """The client sends a batch of two calls and a notification."""

    async def play(stage: Stage) -> None:
        await stage.open()
        calls = [json.loads(_CALL % (number, '{"name":"look","arguments":{"n":1}}')) for number in (1, 2)]
        await stage.send([*calls, {"jsonrpc": "2.0", "method": "notifications/x"}])
        if stage.is_http:
            request = await stage.receive("")
            each = [{"jsonrpc": "2.0", "id": number, **one} for number, one in zip((1, 2), given, strict=True)]
            await request.answer(compact(each).decode())
        else:
            for one in given:
                await (await stage.receive()).answer(one)
        for number in (1, 2):
            await stage.result(number)
        await stage.settle()

    return play


for _name, _pair in {"fine": (success(), success()), "mixed": (MISSING, success()), "busy": (BUSY, BUSY)}.items():
    add(f"plain/batch, {_name}", batch(*_pair), is_quick=_name == "mixed")
    add(f"all/batch, {_name}", batch(*_pair), words=ALL)


@session("plain/broken off", over=("http", "sse", "remote"))
@session("retry/broken off", words=RETRY, over=("http", "sse", "remote"), is_quick=True)
async def broken_off(stage: Stage) -> None:
    """The connection breaks: of calls that may be made again, once."""
    await stage.open()
    stage.answers |= {
        "look": [break_off, success()],
        "act": [break_off, success()],
        "put": [break_off, BUSY, success()],
    }
    for tool in ("look", "act", "put"):
        await stage.call(tool, tool)
        await stage.result(tool)
    await stage.settle()


@session("plain/hangs up", over=EVERY)
@session("retry/hangs up", words=RETRY, over=EVERY)
async def hangs_up(stage: Stage) -> None:
    """The client leaves while a call runs."""
    await stage.open()
    await stage.call("act")
    request: Any = await stage.receive()
    await stage.settle()
    if stage.transport == "http":
        stage.client.leave(7)
        await request.gone()
        await stage.settle()


# Standard input and output: the server's lines and its deaths.


@session("plain/many calls", over=("stdio",), is_quick=True)
@session("retry/many calls", words=RETRY, over=("stdio",))
async def many_calls(stage: Stage) -> None:
    """Successes pass on the quick path; what fails among them is rewritten, and second answers are dropped."""
    await stage.open()
    stage.answers["look"] = [success()]
    for number in range(30):
        await stage.call("look", number)
    for number in range(30):
        await stage.result(number)
    stage.answers["look"] = [success(), MISSING, success(), BUSY]
    stage.tries.clear()
    for number in range(30, 36):
        await stage.call("look", number)
        await stage.result(number)
    for number in (3, 31, 34, 99):
        await stage.server.say(compact({"jsonrpc": "2.0", "id": number, **success("again")}))
        await stage.server.say(compact({"jsonrpc": "2.0", "id": number, **MISSING}))
    await stage.settle()


def server_lines(*lines: bytes | str, end: bytes = b"\n") -> Play:
    """The server sends lines while a call runs, and then answers it."""

    async def play(stage: Stage) -> None:
        await stage.open()
        await stage.call("look")
        request = await stage.receive()
        for line in lines:
            text = line if isinstance(line, str) else line.decode("utf-8", "surrogateescape")
            data = text.replace("<id>", str(request.id)).encode("utf-8", "surrogateescape")
            await stage.server.say(data, end=end)
        await request.answer(MISSING)
        await stage.result(7)
        await stage.settle()

    return play


_LINE = '{"jsonrpc":"2.0","id":<id>,"result":{"content":[{"type":"text","text":"404 Not Found"}],"isError":true}}'
for _name, _lines in {
    "garbage": ("Listening on port 8080", "{broken", "", "   ", b"\xff\xfe{", "null", "5", '"text"', "[]", "[5]", "{}"),
    "strange ids": ('{"jsonrpc":"2.0","id":987,"result":{}}', '{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}'),
    "another's failure": (_LINE.replace("<id>", "99"), _LINE.replace("<id>", '"7"'), _LINE.replace("<id>", "7.0")),
    "secret for nobody": (json.dumps({"id": None, **error(-32603, answers.SECRETS["password"][0])}),),
    "batch": (f"[{_LINE}]",),
    "batch of more": (f'[{_LINE},{{"method":"notifications/x"}},5,{{"id":99,"result":{{}}}}]',),
    "spaces": (f"  {_LINE}  ",),
    "byte order mark": ("\ufeff" + _LINE,),
    "without flag": ('{"jsonrpc":"2.0","id":<id>,"result":{}}',),
    "tools for another": ('{"jsonrpc":"2.0","id":"list","result":{"tools":[]}}',),
    "cancelled by the server": ('{"method":"notifications/cancelled","params":{"requestId":7}}',),
    "deep notification": ('{"method":"notifications/x","params":' + "[" * 3000 + "]" * 3000 + "}",),
}.items():
    add(f"plain/server sends {_name}", server_lines(*_lines), over=("stdio",), is_quick=_name == "garbage")
    add(f"all/server sends {_name}", server_lines(*_lines), words=ALL, over=("stdio",))
add("plain/server sends carriage returns", server_lines(_LINE, "x", end=b"\r\n"), over=("stdio",))
add("all/server sends carriage returns", server_lines(_LINE, "x", end=b"\r\n"), words=ALL, over=("stdio",))


def dies(code: int | None, rest: bytes = b"", *, calls: tuple[str, ...] = ("look", "act")) -> Play:
    """The server dies while calls run, and does not come back."""

    async def play(stage: Stage) -> None:
        await stage.open()
        for number, tool in enumerate(calls):
            await stage.call(tool, number)
        for _ in calls:
            await stage.receive()
        await stage.settle()  # so that the proxy has noted that the calls were sent
        await stage.server.die(code, rest.replace(b"<id>", b"0"))
        await stage.client.over()

    return play


_HALF, _WHOLE = b'{"jsonrpc":"2.0","id":<id>,"resu', compact({"jsonrpc": "2.0", "id": 0, **MISSING})
for _option in ("plain", "all"):
    _words = OPTIONS[_option]
    add(f"{_option}/dies", dies(4), words=_words, over=("stdio",), is_quick=True)
    add(f"{_option}/dies in peace", dies(0), words=_words, over=("stdio",))
    add(f"{_option}/is killed", dies(None), words=_words, over=("stdio",))
    add(f"{_option}/dies in a line", dies(3, _HALF), words=_words, over=("stdio",))
    add(f"{_option}/dies before a line ends", dies(3, _WHOLE), words=_words, over=("stdio",))
    add(f"{_option}/dies idle", dies(1, calls=()), words=_words, over=("stdio",))
add("dry/dies", dies(4), words=OPTIONS["dry"], over=("stdio",))


@session("plain/dies at once", over=("stdio",))
async def dies_at_once(stage: Stage) -> None:
    stage.manual.add("initialize")
    await stage.send({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {}})
    await stage.receive("initialize")
    await stage.server.die(7)
    await stage.client.over()


@session("retry/dies while a call waits", words=RETRY, over=("stdio",))
async def dies_while_waiting(stage: Stage) -> None:
    await stage.open()
    stage.answers["look"] = [PAUSE]
    await stage.call("look")
    await is_waiting(stage)
    await stage.settle()  # so that the proxy has noted that the calls were sent
    await stage.server.die(4)
    await stage.client.over()


@session("retry/dies in the second try", words=RETRY, over=("stdio",))
async def dies_in_second_try(stage: Stage) -> None:
    await stage.open()
    await stage.call("look")
    await (await stage.receive()).answer(BUSY)
    await stage.receive()
    await stage.settle()  # so that the proxy has noted that the calls were sent
    await stage.server.die(4)
    await stage.client.over()


def restarts(code: int | None, rest: bytes = b"") -> Play:
    """The server dies while calls run, and is started again."""

    async def play(stage: Stage) -> None:
        await stage.open()
        await stage.ask("logging/setLevel", {"level": "debug"}, id="level")
        await stage.ask("resources/subscribe", {"uri": "file:///a"}, id="subscribe")
        await stage.call("look", 1)
        await stage.receive()
        await stage.call("act", 2)
        await stage.receive()
        await stage.send({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": "file:///a"}})
        await stage.receive("resources/read")
        stage.answers |= {"look": [success("after")], "act": [MISSING]}
        await stage.settle()  # so that the proxy has noted that the calls were sent
        await stage.server.die(code, rest)
        for number in (1, 2, 3):
            await stage.result(number)
        await stage.server.started(2)
        await stage.call("act", 4)
        await stage.result(4)
        await stage.settle()

    return play


for _option, _words in {
    "plain": ("--restart",),
    "events": ("--restart", "--events", "EVENTS"),
    "retry": ("--restart", "--retry"),
    "all": ("--restart", *ALL),
}.items():
    add(f"{_option}/restarts", restarts(4), words=_words, over=("stdio",), is_ordered=False, is_quick=True)
    add(f"{_option}/restarts, killed", restarts(None), words=_words, over=("stdio",), is_ordered=False)
    add(f"{_option}/restarts, half a line", restarts(4, _HALF), words=_words, over=("stdio",), is_ordered=False)


@session("retry/restarts while a call waits", words=(*RETRY, "--restart"), over=("stdio",))
async def restarts_while_waiting(stage: Stage) -> None:
    await stage.open()
    stage.answers["look"] = [SHORT, success("after")]
    await stage.call("look")
    await is_waiting(stage)
    await stage.settle()  # so that the proxy has noted that the calls were sent
    await stage.server.die(4)
    await stage.server.started(2)
    await stage.result(7)
    await stage.settle()


@session("retry/restarts in the second try", words=(*RETRY, "--restart"), over=("stdio",))
async def restarts_in_second_try(stage: Stage) -> None:
    await stage.open()
    await stage.call("look")
    await (await stage.receive()).answer(BUSY)
    await stage.receive()
    stage.answers["look"] = [success("after")]
    await stage.settle()  # so that the proxy has noted that the calls were sent
    await stage.server.die(4)
    await stage.result(7)
    await stage.settle()


@session("plain/restarts, cancelled before", words=("--restart",), over=("stdio",))
@session("retry/restarts, cancelled before", words=(*RETRY, "--restart"), over=("stdio",))
async def restarts_after_cancel(stage: Stage) -> None:
    await stage.open()
    await stage.call("look")
    await stage.receive()
    await cancel(stage, 7)
    await stage.settle()  # so that the proxy has noted that the calls were sent
    await stage.server.die(4)
    await stage.server.started(2)
    await stage.settle()


@session("plain/restarts before the handshake", words=("--restart",), over=("stdio",))
@session("all/restarts before the handshake", words=("--restart", *ALL), over=("stdio",))
async def restarts_before_handshake(stage: Stage) -> None:
    stage.manual.add("initialize")
    await stage.send({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {}})
    await stage.receive("initialize")
    stage.manual.clear()
    await stage.server.die(4)
    await stage.result("hello")
    await stage.settle()


@session("plain/restarts without a handshake", words=("--restart",), over=("stdio",))
@session("all/restarts without a handshake", words=("--restart", *ALL), over=("stdio",))
async def restarts_modern(stage: Stage) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    await stage.ask_tools(_meta=meta)
    await stage.call("look", meta=meta)
    await stage.receive()
    stage.answers["look"] = [success("after")]
    await stage.settle()  # so that the proxy has noted that the calls were sent
    await stage.server.die(4)
    await stage.result(7)
    await stage.settle()


# HTTP: statuses, forms, streams, sessions.

_JSON = "application/json"
_BODY = '{"jsonrpc":"2.0","id":"<id>","error":{"code":%d,"message":"%s"}}'
RESPONSES: dict[str, Answer] = {
    "429": respond(429, "slow down", Retry_After="90", Content_Type="text/plain"),
    "429 at once": respond(429, "slow down", Retry_After="0"),
    "429, error": respond(429, _BODY % (-32023, "Busy"), Retry_After="90", Content_Type=_JSON),
    "503": respond(503, "<html>nginx</html>", Content_Type="text/html"),
    "503 at once": respond(503, "", Retry_After="0"),
    "503 on a date": respond(503, "", Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
    "500": respond(500, "Internal Server Error"),
    "500, error": respond(500, _BODY % (-32603, "Internal error"), Content_Type=_JSON),
    "500, secret": respond(500, json.dumps({"error": answers.SECRETS["password"][0]}), Content_Type=_JSON),
    "502": respond(502),
    "504": respond(504, "timeout"),
    "400, error": respond(400, _BODY % (-32600, "Invalid request"), Content_Type=_JSON),
    "400, secret": respond(400, _BODY % (-32600, answers.SECRETS["password"][0]), Content_Type=_JSON),
    "400, wrong parameters": respond(400, _BODY % (-32602, "Invalid params"), Content_Type=_JSON),
    "400": respond(400, "Bad Request"),
    "401": respond(401, "", WWW_Authenticate='Bearer error="invalid_token"'),
    "403": respond(403, '{"error":"denied"}', Content_Type=_JSON),
    "403 with a challenge": respond(403, "", WWW_Authenticate='Bearer error="insufficient_scope"'),
    "404": respond(404, _BODY % (-32001, "Session not found"), Content_Type=_JSON),
    "405": respond(405, "", Allow="GET"),
    "413": respond(413, "too large"),
    "302": respond(302, "", Location="http://127.0.0.1:9/elsewhere"),
    "307": respond(307, "", Location="http://127.0.0.1:9/elsewhere"),
    "202": respond(202),
    "204": respond(204),
    "page": respond(200, "<html>log in</html>", Content_Type="text/html"),
    "empty": respond(200, "", Content_Type=_JSON),
    "no JSON": respond(200, "{broken", Content_Type=_JSON),
    "another id": respond(200, '{"jsonrpc":"2.0","id":99,"result":{"content":[]}}', Content_Type=_JSON),
    "no id": respond(200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"x"}}', Content_Type=_JSON),
    "list of one": respond(200, "[" + compact({"id": "<id>", **MISSING}).decode() + "]", Content_Type=_JSON),
    "other headers": respond(200, compact({"id": "<id>", **MISSING}), Content_Type=_JSON, X_Trace="abc", ETag="e"),
    "gzip": respond(
        200, gzip.compress(compact({"id": 7, **MISSING}), mtime=0), Content_Type=_JSON, Content_Encoding="gzip"
    ),
    "gzip, success": respond(
        200, gzip.compress(compact({"id": 7, **success()}), mtime=0), Content_Type=_JSON, Content_Encoding="gzip"
    ),
    "charset": respond(200, compact({"id": "<id>", **MISSING}), Content_Type="application/json; charset=utf-8"),
    "empty stream": respond(200, "", Content_Type="text/event-stream"),
    "stream without an answer": respond(200, ": nothing\n\n", Content_Type="text/event-stream"),
    "stream that is cut": respond(200, 'data: {"jsonrpc":"2.0","id":7,"resu', Content_Type="text/event-stream"),
}
for _name, _answer in RESPONSES.items():
    add(
        f"plain/response {_name}",
        one_call(_answer, success()),
        over=("http",),
        is_quick=_name in ("429", "404", "no JSON"),
    )
    add(f"retry/response {_name}", one_call(_answer, success()), words=RETRY, over=("http",))
for _name in (
    "429",
    "503 at once",
    "401",
    "404",
    "500, secret",
    "302",
    "202",
    "page",
    "another id",
    "stream that is cut",
):
    add(f"retry/response {_name}", one_call(RESPONSES[_name], success()), words=RETRY, over=("remote",))
for _name in ("429 at once", "500", "502", "404"):
    add(f"retry/response {_name} of act", one_call(RESPONSES[_name], tool="act"), words=RETRY, over=BOTH[1:])
    add(f"all/response {_name}", one_call(RESPONSES[_name]), words=ALL, over=("http",))
    add(f"dry/response {_name}", one_call(RESPONSES[_name]), words=OPTIONS["dry"], over=("http",))
    add(f"xml/response {_name}", one_call(RESPONSES[_name]), words=OPTIONS["xml"], over=("http",))


def streamed(*events: bytes, ends: bool = True) -> Play:
    """The server answers a call with bytes in an event stream."""

    async def play(stage: Stage) -> None:
        await stage.open()
        await stage.call("look")
        request: Any = await stage.receive()
        stage.answers["look"] = [success("another try")]
        for event in events:
            request.event(event.replace(b'"<id>"', json.dumps(request.id).encode()))
        request.finish() if ends else await request.break_off()
        if stage.transport == "remote" and not ends:
            return
        await stage.result(7)
        await stage.settle()

    return play


_FAILED = compact({"jsonrpc": "2.0", "id": "<id>", **MISSING})
_NOTE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}'
_SECOND = compact({"jsonrpc": "2.0", "id": "<id>", **success("second")})
for _name, _events in {
    "comments": (b": hello\n\n", b"retry: 1000\n\n", b"data: " + _FAILED + b"\n\n"),
    "ids": (b"id: 1\ndata: " + _NOTE + b"\n\n", b"id: 2\nevent: message\ndata: " + _FAILED + b"\n\n"),
    "carriage returns": (b"data: " + _NOTE + b"\r\n\r\n", b"event: message\r\ndata: " + _FAILED + b"\r\n\r\n"),
    "two lines": (b"data: " + _FAILED.replace(b",", b",\ndata: ", 1) + b"\n\n",),
    "pieces": (b"data: " + _FAILED[:20], _FAILED[20:], b"\n", b"\n", b": ping\n\n"),
    "other events": (b"event: other\ndata: {}\n\n", b"data: not JSON\n\n", b"data: " + _FAILED + b"\n\n"),
    "after the answer": (b"data: " + _FAILED + b"\n\n", b"data: " + _NOTE + b"\n\n", b"data: " + _SECOND + b"\n\n"),
    "foreign answer": (b'data: {"jsonrpc":"2.0","id":99,"result":{"isError":true}}\n\n', b"data: " + _FAILED + b"\n\n"),
    "batch": (b"data: [" + _FAILED + b"," + _NOTE + b"]\n\n",),
    "no end": (b"data: " + _NOTE + b"\n\n", b"data: " + _FAILED + b"\n"),
}.items():
    add(f"plain/stream with {_name}", streamed(*_events), over=("sse",), is_quick=_name == "ids")
    add(f"all/stream with {_name}", streamed(*_events), words=ALL, over=("sse",))
add("plain/stream broken off", streamed(b"data: " + _NOTE + b"\n\n", ends=False), over=("sse",))
add("retry/stream broken off once", one_call(break_off, success()), words=RETRY, over=("sse",))


def resumed(*rest: Answer) -> Play:
    """A stream with ids breaks off, and the client asks for the rest."""

    async def play(stage: Stage) -> None:
        stage.has_streams = True
        await stage.open()
        await stage.call("look")
        request: Any = await stage.receive()
        request.event(b"id: 1\ndata: " + _NOTE + b"\n\n")
        await stage.client.seen('"x"')
        await request.break_off()
        await stage.result(7)
        stage.client.start("rest", "GET", {"Accept": "text/event-stream", "Last-Event-ID": "1", **stage.client.headers})
        stream: Any = await stage.receive("GET")
        for one in rest:
            assert isinstance(one, dict)
            stream.event(b"id: 2\ndata: " + compact({"jsonrpc": "2.0", "id": request.id, **one}) + b"\n\n")
        stream.finish()
        await stage.result("rest")
        await stage.settle()

    return play


for _option in ("plain", "retry", "all"):
    add(f"{_option}/resumed", resumed(MISSING), words=OPTIONS[_option], over=("sse",), is_quick=_option == "plain")
    add(f"{_option}/resumed, success", resumed(success()), words=OPTIONS[_option], over=("sse",))
    add(f"{_option}/resumed, twice", resumed(MISSING, success()), words=OPTIONS[_option], over=("sse",))
    add(f"{_option}/resumed, busy", resumed(BUSY), words=OPTIONS[_option], over=("sse",))


@session("plain/listens", over=("http", "sse"))
@session("retry/listens", words=RETRY, over=("http", "sse"), is_quick=True)
async def listens(stage: Stage) -> None:
    """The client opens a stream for the server's messages; an answer comes on it, too."""
    stage.has_streams = True
    await stage.open()
    stage.client.start("stream", "GET", {"Accept": "text/event-stream", **stage.client.headers})
    stream: Any = await stage.receive("GET")
    await stream.say({"method": "notifications/message", "params": {"data": "on the stream"}})
    await stage.client.seen("on the stream")
    stage.pages = [[{"name": "look", "inputSchema": SCHEMA}]]
    await stream.say({"method": "notifications/tools/list_changed"})
    await stage.client.seen("list_changed")
    await stage.listed(2)
    stage.answers["look"] = [BUSY, success()]
    await stage.call("look")
    await stage.result(7)
    await stream.say({"id": 7, **MISSING})
    await stream.say({"id": 99, **flagged(answers.SECRETS["password"][0])})
    await stream.say({"id": "ask", "method": "ping"})
    stream.finish()
    await stage.result("stream")
    stage.client.start("delete", "DELETE", dict(stage.client.headers))
    await stage.result("delete")
    await stage.settle()


@session("retry/two clients", words=RETRY, over=("http", "sse"), is_quick=True)
@session("plain/two clients", over=("http",))
async def two_clients(stage: Stage) -> None:
    """What one client learnt of the tools says nothing to another one."""
    await stage.open()
    stage.answers["act"] = [BUSY]
    stage.pages = [[{"name": "act", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}]]
    other = {"Authorization": "Bearer of-another-client"}
    list_again = {"jsonrpc": "2.0", "id": "other list", "method": "tools/list"}
    await stage.send(list_again, **other)
    await stage.result("other list")
    for number, headers in enumerate((other, {}, other)):
        call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "act", "arguments": {}}}
        await stage.send(call, **headers)
        await stage.result(number)
    await stage.settle()


@session("plain/no session", over=("http",))
@session("retry/no session", words=RETRY, over=("http",))
async def no_session(stage: Stage) -> None:
    """The server gives no id to the session."""
    stage.answers |= {"look": [BUSY, success()], "act": [respond(404, "no such page")]}
    for tool in ("look", "act"):
        await stage.call(tool, tool)
        await stage.result(tool)
    await stage.settle()


@session("plain/packed request", over=("http",))
@session("retry/packed request", words=RETRY, over=("http",))
async def packed_request(stage: Stage) -> None:
    await stage.open()
    stage.answers["look"] = [BUSY, success()]
    body = compact({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "look", "arguments": {}}})
    stage.transcript.sent(body)
    headers = {"Content-Type": _JSON, "Content-Encoding": "gzip", "Accept": f"{_JSON}, text/event-stream"}
    stage.client.start(7, "POST", {**headers, **stage.client.headers}, gzip.compress(body, mtime=0))
    await stage.result(7)
    await stage.settle()


@session("plain/refused requests", over=("http",))
async def refused_requests(stage: Stage) -> None:
    """Requests that are not passed on."""
    await stage.open()
    for label, method, headers in (
        ("foreign page", "POST", {"Origin": "https://evil.example"}),
        ("method", "PUT", {}),
        ("encoding", "POST", {"Content-Encoding": "compress"}),
    ):
        stage.client.start(label, method, headers, b"{}")
        await stage.result(label)
    await stage.settle()


@session("plain/odd bodies", over=("http",))
@session("all/odd bodies", words=ALL, over=("http",))
async def odd_bodies(stage: Stage) -> None:
    """Bodies that are no requests; the server refuses them."""
    await stage.open()
    bodies = (b"", b"not JSON", b"[]", b"5", b"{}", b'{"method":5}', b"\xff", b"[[]]", b'[{"id":1}]')
    for number, body in enumerate(bodies):
        stage.client.start(f"body {number}", "POST", {"Content-Type": _JSON}, body)
        before = len(stage.waiting) + len(stage.notes)
        await stage.until("the body", lambda before=before: len(stage.waiting) + len(stage.notes) > before or None)
        for request in stage.waiting:
            await request.answer(respond(400, _BODY % (-32600, "Invalid"), Content_Type=_JSON))
        stage.waiting.clear()
        await stage.result(f"body {number}")
    await stage.settle()


@session("retry/ends while a call runs", words=RETRY, over=("http", "sse"))
@session("plain/ends while a call runs", over=("http", "sse"))
async def ends_while_running(stage: Stage) -> None:
    """The operator ends the gateway: the client gets an answer."""
    import signal

    await stage.open()
    await stage.call("look")
    request: Any = await stage.receive()
    if stage.form == "sse":
        await request.say({"method": "notifications/message", "params": {"data": "begun"}})
        await stage.client.seen("begun")
    stage.proxy.send(signal.SIGTERM)
    await stage.result(7)


@session("retry/answered with notes", words=RETRY, over=("sse", "remote"))
@session("plain/answered with notes", over=("sse", "remote"))
async def answered_with_notes(stage: Stage) -> None:
    """Notifications come before each of two answers."""
    await stage.open()
    await stage.call("look")
    request = await stage.receive()
    await request.say({"method": "notifications/message", "params": {"data": "first"}})
    await request.answer(BUSY)
    if "--retry" in stage.words:
        request = await stage.receive()
        await request.say({"method": "notifications/message", "params": {"data": "second"}})
        await request.answer(success())
    await stage.result(7)
    await stage.settle()


@session("retry/session is renewed", words=(*RETRY, "--restart"), over=("remote",))
@session("retry/session is gone", words=RETRY, over=("remote",))
async def session_gone(stage: Stage) -> None:
    await stage.open()
    stage.answers["act"] = [respond(404, "no such session"), success()]
    await stage.call("act")
    await stage.result(7)
    await stage.settle()
