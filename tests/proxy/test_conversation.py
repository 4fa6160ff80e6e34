"""Whatever client, server, clock and limits do, in whatever order: the same is true of both transports.

Each request gets one answer, and a cancelled one at most one. No call is made again that may not be. Nothing is raised,
no secret passes in a failing answer, an effect that may have happened is never denied, and nothing is kept of calls
that have ended.
"""

import json
import logging
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from failwell.advice import Policy
from failwell.failure import Failure
from failwell.proxy.conversation import RetryRules, Settings
from failwell.retry import FailedAttempt, Question, RetryPermit, Shared
from tests.proxy.plants import SECRETS
from tests.proxy.transports import LineTransport, Message, OneThreadTransport, PostTransport, Received, Transport

SECRET, HIDDEN = SECRETS["github"]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "word": {"type": "string"}}, "required": ["n"]}
# What the server says of its tools; `act` promises nothing, and `ghost` is not listed.
LISTS: list[dict[str, dict[str, bool]]] = [
    {"look": {"readOnlyHint": True}, "put": {"idempotentHint": True}, "act": {}},
    {"look": {}, "put": {"idempotentHint": True}, "act": {}},
    {"look": {"readOnlyHint": True}, "act": {"idempotentHint": True}},
    {},
]
TOOLS = ("look", "put", "act", "ghost")


def flagged(text: str, **more: Any) -> Message:
    return {"result": {"content": [{"type": "text", "text": text}], "isError": True, **more}}


def own(outcome: str, **more: Any) -> Message:
    failure = {"v": 1, "message": "Busy.", "type": "TRANSIENT", "code": "SERVER_BUSY", "retryable": True}
    return flagged(f"Busy: {SECRET}", _meta={"dev.failwell/failure": {**failure, "outcome": outcome}, **more})


# What the server answers to a call. `{}` is the number of the call.
ANSWERS: dict[str, Message] = {
    "success": {"result": {"content": [{"type": "text", "text": "done {}"}]}},
    "busy": flagged(f"503 Service Unavailable for {{}}: {SECRET}"),
    "limited": flagged(f"Rate limit exceeded for {{}}, retry in 3 seconds: {SECRET}"),
    "missing": flagged(f"404 Not Found: {{}} {SECRET}"),
    "internal error": {"error": {"code": -32603, "message": f"broken {{}} {SECRET}"}},
    "wrong parameters": {"error": {"code": -32602, "message": f"wrong {{}} {SECRET}"}},
    "no request": {"error": {"code": -32600, "message": f"wrong {{}} {SECRET}"}},
    "not executed": own("not_executed"),
    "unknown": own("unknown"),
    "retried below": own("unknown", **{"dev.failwell/retry": {"attempts": 3}}),
    "unflagged": {"result": {"content": [{"type": "text", "text": "Error: 503 Service Unavailable"}]}},
    "odd": {"result": {"content": 5, "isError": True, "_meta": [SECRET]}},
}
NO_EFFECT = ("not executed", "limited")
"""Answers by which the server says that a call had no effect; only the first is more than words."""
ROUNDS = 5
"""After how many rounds without a request a server has got all: a call waits between its tries."""


class Request(Struct, eq=False):
    """What a client asked for: the tries that servers got, what these were answered, and what the client got."""

    def __repr__(self) -> str:
        tries = [(one.message["id"], one.server, self.said.get(one)) for one in self.tries]
        return f"<{self.id} {self.tool} {tries} {len(self.answers)} answers>"

    id: Any
    tool: str = ""
    tries: list[Received] = []
    said: dict[Received, str] = {}
    answers: list[Message] = []
    is_given_up: bool = False
    is_known_to_be: bool = False
    is_refused: bool = False


class AskedLimits:
    """Limits that refuse as many tries as a test says, and that may have to be asked, while something else happens."""

    def __init__(self, world: "World", *, is_asked: bool) -> None:
        self.refusals = 0
        self._shared = Shared.new()
        self.failure_state = self._shared.failure_state
        self.pacer = self._shared.pacer
        self.succeeded = self._shared.succeeded
        self.released = self._shared.released
        self._world = world
        self._is_asked = is_asked

    def begin(self, key: Any, now: float, *, caller: Any) -> Any:
        def begun() -> Failure | None:
            if not self.refusals:
                return self._shared.begin(key, now, caller=caller)
            self.refusals -= 1
            self._world.requests[caller.arguments["n"]].is_refused = True
            return Failure(code="SERVICE_UNAVAILABLE", message="Calls are suspended.", outcome="not_executed")

        return self._question(begun) if self._is_asked else begun()

    def failed(self, attempt: FailedAttempt, now: float) -> Any:
        def failed() -> RetryPermit:
            return self._shared.failed(attempt, now)

        return self._question(failed) if self._is_asked else failed()

    def _question(self, answer: Callable[[], Any]) -> Question[Any]:
        def run() -> Any:
            self._world.transport.pause()
            return answer()

        async def arun() -> Any:
            await self._world.transport.apause()
            return answer()

        return Question(run, arun)


class Options(Struct, frozen=True):
    """What the operator wants, and what is known at first."""

    retries: bool = True
    validates: bool = False
    reports_all: bool = False
    flips: bool = False
    asks_limits: bool = False
    is_listed: bool = True


Action = tuple[Any, ...]
LINE_FORMS = {"stdio": LineTransport, "stdio in one thread": OneThreadTransport}
CLIENT, SERVER, DEATH, OTHER = {"up"}, {"down"}, {"down", "main"}, set[str]()
"""Who must not be busy for something to happen: a thread that waits does nothing else."""


class World:
    """A client, a server and the proxy between them, and whoever checks what they get."""

    def __init__(self, form: str, options: Options, *, dry_run: bool = False) -> None:
        self.limits = AskedLimits(self, is_asked=options.asks_limits)
        rules = RetryRules(Policy(attempts=3), self.limits)
        wanted = Settings(
            validates=options.validates,
            dry_run=dry_run,
            reports_all=options.reports_all,
            reads_unflagged=options.reports_all,
            flip_unflagged=frozenset(("*",)) if options.flips else frozenset(),
            load_retries=(lambda: rules) if options.retries else None,
            shares_limits=options.asks_limits,
            answers_cancelled=form not in LINE_FORMS,
            calls={},
        )
        self.requests: dict[Any, Request] = {}
        self.got: list[Received] = []
        self.lists: list[dict[str, dict[str, bool]]] = []
        self.strays: set[Any] = set()
        self.wrong: list[str] = []
        self.script: deque[Action] = deque()
        self._depth = 0
        self._listed = LISTS[0]
        self.transport: Transport = (
            LINE_FORMS[form](wanted, self, meanwhile=self.meanwhile)
            if form in LINE_FORMS
            else PostTransport(wanted, self, form=form)
        )
        if options.is_listed:
            self.send_request("tools/list")
            self.answer(0, "success")

    # What each end gets.

    def server_got(self, request: Received) -> None:
        known = [one.message["id"] for one in self.got if one.server == request.server]
        self.expect(request.message["id"] not in known, f"{request.message} has the id of another request")
        self.got.append(request)
        params = request.message.get("params") or {}
        if request.message["method"] != "tools/call":
            return
        made = self.requests[params["arguments"]["n"]]
        self.expect(not made.answers, f"{made} is made after its answer")
        self.expect(not made.is_known_to_be, f"{made} is made after it was cancelled")
        self.expect(not made.is_refused, f"{made} is made though the limits refused it")
        if made.tries:
            self.expect("retried below" not in made.said.values(), f"{made} is made again, though it was below")
            self.expect("success" not in made.said.values(), f"{made} is made again, though it succeeded")
            self.expect(self.is_over(made.tries[-1]), f"{made} is made twice at the same time")
            self.expect(self.may_repeat(made), f"{made} is made again")
        made.tries.append(request)

    def expect(self, is_true: bool, otherwise: str) -> None:
        """Note what is wrong: many tasks would not let it be raised."""
        if not is_true:
            self.wrong.append(otherwise)

    def is_over(self, request: Received) -> bool:
        is_dead = request.server < self.transport.server or self.transport.is_dying or self.transport.is_over
        return bool(request.answers) or is_dead

    def may_repeat(self, made: Request) -> bool:
        named = [one[made.tool] for one in self.lists if made.tool in one]
        is_promised = bool(named) and all(True in one.values() for one in named)
        return is_promised or all(made.said.get(one) == "not executed" for one in made.tries)

    def client_got(self, message: Message) -> None:
        if "id" not in message or "method" in message:
            return
        text = json.dumps(message)
        result = message.get("result")
        is_failed = "error" in message or (isinstance(result, dict) and result.get("isError") is True)
        self.expect(not is_failed or HIDDEN not in text, f"a secret in {text}")
        if message["id"] in self.strays:
            return
        made = self.requests.get(message["id"])
        if made is None:
            self.wrong.append(f"nobody asked for {text}")
            return
        made.answers.append(message)
        self.expect(len(made.answers) == 1, f"{made} is answered twice")
        self.expect(f"done {made.id}" in text or "done" not in text, f"{message} answers another call")
        failure = result.get("_meta", {}).get("dev.failwell/failure", {}) if is_failed and result else {}
        if failure.get("outcome") == "not_executed":
            said = [made.said.get(one, "nothing") for one in made.tries]
            self.expect(all(one in NO_EFFECT for one in said), f"{made} may have had an effect: {said}")

    # What each end does.

    def send_call(self, tool: int, is_right: bool, together: int) -> None:
        messages = [self._call(TOOLS[(tool + more) % len(TOOLS)], is_right=is_right) for more in range(together)]
        self.transport.send(*messages)

    def _call(self, tool: str, *, is_right: bool) -> Message:
        made = Request(len(self.requests), tool)
        self.requests[made.id] = made
        arguments = {"n": made.id, "word": "a" if is_right else 5}
        return {
            "jsonrpc": "2.0",
            "id": made.id,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments, "_meta": {"progressToken": made.id}},
        }

    def send_request(self, method: str) -> None:
        made = Request(len(self.requests))
        self.requests[made.id] = made
        self.transport.send({"jsonrpc": "2.0", "id": made.id, "method": method, "params": {}})

    def cancel(self, which: int) -> None:
        if (made := self._open_call(which)) is not None:
            made.is_given_up = True
            note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": made.id}}
            made.is_known_to_be = self.transport.send(note)

    def leave(self, which: int) -> None:
        if (made := self._open_call(which)) is not None and isinstance(self.transport, PostTransport):
            made.is_given_up = made.is_known_to_be = True
            self.transport.leave(made.id)

    def _open_call(self, which: int) -> Request | None:
        found = [one for one in self.requests.values() if one.tool and not one.answers and not one.is_given_up]
        return found[-1 - which % len(found)] if found else None

    def answer(self, which: int, kind: str) -> None:
        waiting = [one for one in self.got if not self.is_over(one)]
        if waiting:
            self._answer(waiting[-1 - which % len(waiting)], kind)

    def answer_oddly(self, which: int, kind: str, id: Any) -> None:
        """Answer without an id, or with that of nobody; only a response shows whose answer it is."""
        waiting = [one for one in self.got if not self.is_over(one) and one.message["method"] == "tools/call"]
        if waiting and isinstance(self.transport, PostTransport):
            request = waiting[-1 - which % len(waiting)]
            content = self._content(request, kind)
            if id is not None or self.transport.form == "sse":
                self.requests[request.message["params"]["arguments"]["n"]].said[request] = "nothing"
            self.strays.add(id)
            self.transport.answer(request, self._encoded(id, content))
            self.transport.end_response(request)

    def answer_elsewhere(self, which: int, kind: str) -> None:
        waiting = [one for one in self.got if not self.is_over(one) and one.message["method"] == "tools/call"]
        if waiting and isinstance(self.transport, PostTransport):
            request = waiting[-1 - which % len(waiting)]
            content = self._content(request, kind)
            self.transport.answer_elsewhere(request, self._encoded(request.message["id"], content))

    def refuse(self, tries: int) -> None:
        self.limits.refusals += tries

    def answer_again(self, which: int, kind: str) -> None:
        known = [one for one in self.got if one.answers and one.server == self.transport.server]
        if isinstance(self.transport, PostTransport):  # a gateway keeps no account of other requests
            known = [one for one in known if one.message["method"] == "tools/call"]
        if known and not self.transport.is_dying:
            self._answer(known[-1 - which % len(known)], kind)

    def _answer(self, request: Received, kind: str) -> None:
        if request.message["method"] == "tools/list":
            content: Message = {"result": {"tools": self._tools()}}
            if not request.answers:  # nobody learns from a second answer
                self.lists.append(self._listed)
        else:
            content = self._content(request, kind)
        self.transport.answer(request, self._encoded(request.message["id"], content))

    def _content(self, request: Received, kind: str) -> Message:
        content = ANSWERS[kind]
        arguments = (request.message.get("params") or {}).get("arguments")
        if arguments is None:
            return content if "error" in content else {"result": {}}
        made = self.requests[arguments["n"]]
        made.said.setdefault(request, kind)
        return json.loads(json.dumps(content).replace("{}", str(made.id)))

    @staticmethod
    def _encoded(id: Any, content: Message) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": id, **content}).encode()

    def _tools(self) -> list[Message]:
        return [
            {"name": name, "inputSchema": SCHEMA, "annotations": annotations}
            for name, annotations in self._listed.items()
        ]

    def say_stray(self, kind: str) -> None:
        self.strays.add("stray")
        self.transport.say(self._encoded("stray", ANSWERS[kind]))

    def say_progress(self, which: int, progress: int) -> None:
        params = {"progressToken": which, "progress": progress}
        self._note("progress", params)

    def change_tools(self, which: int) -> None:
        self._listed = LISTS[which % len(LISTS)]
        self._note("tools/list_changed", {})

    def _note(self, name: str, params: Message) -> None:
        note = {"jsonrpc": "2.0", "method": f"notifications/{name}", "params": params}
        self.transport.say(json.dumps(note).encode())

    def die(self, room: int) -> None:
        if not self.transport.is_dying and not self.transport.is_over:
            self.transport.die(room)

    def notice_death(self) -> None:
        if self.transport.is_dying:
            self.transport.notice_death(will_return=True)

    def pass_time(self, seconds: float) -> None:
        self.transport.pass_time(seconds)

    # What happens, and when.

    def play(self, script: list[Action], *, dies: bool) -> None:
        self.play_on(script)
        if dies:
            self.die(0)
            self.transport.notice_death(will_return=False)
        quiet = 0
        while quiet < ROUNDS:
            before = len(self.got)
            self.notice_death()
            for request in [one for one in self.got if not self.is_over(one)]:
                self._answer(request, "success")
            self.transport.pass_time(60.0)
            self.transport.end()
            quiet = quiet + 1 if len(self.got) == before else 0

    def play_on(self, script: list[Action]) -> None:
        self.script.extend(script)
        while self.script:
            self._act(self.script.popleft())

    def meanwhile(self, busy: set[str]) -> None:
        """Do what comes next while somebody waits, unless it is that one who would do it."""
        if self.script and self._depth < 3 and not ACTIONS[self.script[0][0]] & busy:
            self._depth += 1
            self._act(self.script.popleft())
            self._depth -= 1

    def _act(self, action: Action) -> None:
        getattr(self, action[0])(*action[1:])

    def check(self) -> None:
        """Check what is true when all has ended."""
        for made in self.requests.values():
            self.expect(bool(made.answers) or made.is_given_up, f"{made} has no answer")
        assert self.wrong == [], self.wrong
        kept = self.transport.leftovers()
        given_up = sum(made.is_given_up for made in self.requests.values())
        cancelled = kept.pop("_cancelled", 0)
        assert cancelled <= given_up  # their answers may still come
        assert kept.pop("own_ids", 0) <= cancelled
        assert kept == {}, kept


ACTIONS = {
    "send_call": CLIENT,
    "send_request": CLIENT,
    "cancel": CLIENT,
    "leave": CLIENT,
    "answer": SERVER,
    "answer_again": SERVER,
    "answer_oddly": SERVER,
    "answer_elsewhere": SERVER,
    "say_stray": SERVER,
    "say_progress": SERVER,
    "change_tools": SERVER,
    "die": OTHER,
    "notice_death": DEATH,
    "pass_time": OTHER,
    "refuse": OTHER,
}

which = st.sampled_from((0, 0, 0, 1, 2, 5))  # counted from the last
kinds = st.sampled_from(list(ANSWERS))
calls = st.tuples(
    st.just("send_call"),
    st.sampled_from((0, 0, 1, 2, 2, 3)),
    st.sampled_from((True, True, False)),
    st.sampled_from((1, 1, 2)),
)
failures = st.sampled_from(("busy", "busy", "limited", "internal error", "not executed", "unknown", "retried below"))
times = st.tuples(st.just("pass_time"), st.sampled_from((0.0, 0.1, 1.0, 10.0, 40.0)))
actions: st.SearchStrategy[Action] = st.one_of(
    calls,
    st.tuples(st.just("answer"), which, failures),
    st.tuples(st.just("answer"), which, kinds),
    times,
    st.tuples(st.just("send_request"), st.sampled_from(("tools/list", "resources/list"))),
    st.tuples(st.just("cancel"), which),
    st.tuples(st.just("leave"), which),
    st.tuples(st.just("answer_again"), which, kinds),
    st.tuples(st.just("answer_elsewhere"), which, kinds),
    st.tuples(st.just("answer_oddly"), which, kinds, st.sampled_from((None, "stray"))),
    st.tuples(st.just("refuse"), st.just(1)),
    st.tuples(st.just("say_stray"), kinds),
    st.tuples(st.just("say_progress"), which, st.integers(0, 3)),
    st.tuples(st.just("change_tools"), which),
    st.tuples(st.just("die"), st.sampled_from((0, 0, -1, -2, 60, 200, 10_000))),
    st.tuples(st.just("notice_death")),
)


@st.composite
def new_promises(draw: st.DrawFn) -> list[Action]:
    """Other tools, which the client asks for."""
    more = draw(st.lists(actions, max_size=1))
    return [("change_tools", draw(which)), *more, ("send_request", "tools/list"), ("answer", 0, "success")]


@st.composite
def retried_calls(draw: st.DrawFn) -> list[Action]:
    """A call that fails, what happens meanwhile, and the time until its next try."""
    before = draw(st.lists(actions, max_size=1))
    gone = st.tuples(st.sampled_from(("cancel", "leave")), st.just(0))
    between = draw(st.one_of(st.lists(actions, max_size=2), new_promises(), st.lists(gone, max_size=1)))
    return [draw(calls), *before, ("answer", 0, draw(failures)), *between, *draw(st.lists(times, max_size=2))]


scripts = st.lists(
    st.one_of(retried_calls(), retried_calls(), new_promises(), st.lists(actions, min_size=1, max_size=3)),
    min_size=2,
    max_size=8,
).map(lambda parts: [action for part in parts for action in part])
options = st.builds(
    Options,
    retries=st.sampled_from((True, True, True, True, False)),
    validates=st.sampled_from((False, False, False, True)),
    reports_all=st.booleans(),
    flips=st.sampled_from((False, False, True)),
    asks_limits=st.booleans(),
    is_listed=st.sampled_from((True, True, False)),
)
FORMS = (*LINE_FORMS, "json", "sse")
QUICK, MANY = 100, 20_000 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 600


class LogKeeper(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(self.format(record))


@contextmanager
def nothing_logged() -> Iterator[None]:
    """Check that nothing was caught and logged that should not have been raised."""
    handler, logger = LogKeeper(), logging.getLogger("failwell")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
    assert not handler.kept, handler.kept


def play(form: str, wanted: Options, script: list[Action], *, dies: bool) -> World:
    with nothing_logged():
        world = World(form, wanted)
        try:
            world.play(script, dies=dies)
            world.check()
        finally:
            world.transport.close()
    return world


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("examples", [QUICK, pytest.param(MANY, marks=pytest.mark.slow)])
def test_each_request_has_one_answer_and_no_call_is_made_again_that_may_not_be(form: str, examples: int) -> None:
    @settings(max_examples=examples)
    @given(wanted=options, script=scripts, dies=st.booleans())
    def search(wanted: Options, script: list[Action], dies: bool) -> None:
        play(form, wanted, script, dies=dies)

    search()


CALL_OF_LOOK, CALL_OF_ACT = ("send_call", 0, True, 1), ("send_call", 2, True, 1)
# What went wrong once, or would be found late.
STORIES: dict[str, tuple[Options, list[Action]]] = {
    "cancelled while it waits for its next try": (
        Options(),
        [CALL_OF_LOOK, ("answer", 0, "busy"), ("cancel", 0), ("pass_time", 1.0)],
    ),
    "each try has an id of its own": (
        Options(),
        [CALL_OF_LOOK, ("answer", 0, "busy"), ("pass_time", 40.0), ("answer", 0, "busy"), ("pass_time", 40.0)],
    ),
    "a failure comes on a stream that the client listens to": (
        Options(),
        [CALL_OF_LOOK, ("answer_elsewhere", 0, "busy"), ("pass_time", 40.0)],
    ),
    "a promise is lost while a call waits": (
        Options(),
        [
            CALL_OF_LOOK,
            ("answer", 0, "limited"),
            ("change_tools", 1),
            ("send_request", "tools/list"),
            ("answer", 0, "success"),
            ("pass_time", 10.0),
        ],
    ),
    "the server dies while a failure waits for the tools": (
        Options(is_listed=False),
        [CALL_OF_LOOK, ("answer", 0, "not executed")],
    ),
    "cancelled before the server has it": (Options(validates=True, is_listed=False), [CALL_OF_ACT, ("cancel", 0)]),
    "a dying server gets all but the end of a line": (Options(), [("die", -1), CALL_OF_ACT, ("notice_death",)]),
    "calls are reported": (Options(reports_all=True), [CALL_OF_ACT, ("answer", 0, "success")]),
    "cancelled while it waits for its turn": (
        Options(),
        [CALL_OF_ACT, ("answer", 0, "not executed"), CALL_OF_ACT, ("cancel", 0), ("pass_time", 40.0)],
    ),
    "the server dies while a call waits for its turn": (
        Options(asks_limits=True),
        [CALL_OF_ACT, ("answer", 0, "not executed"), CALL_OF_ACT, CALL_OF_ACT],
    ),
    "an answer comes twice": (Options(), [CALL_OF_ACT, ("answer", 0, "busy"), ("answer_again", 0, "success")]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("story", STORIES)
def test_the_same_is_true_of_what_went_wrong_once(story: str, dies: bool, form: str) -> None:
    wanted, script = STORIES[story]

    play(form, wanted, script, dies=dies)


@pytest.mark.parametrize("form", FORMS)
def test_a_call_of_a_limited_tool_waits_for_its_turn_and_calls_of_others_do_not(form: str) -> None:
    with nothing_logged():
        world = World(form, Options())
        try:
            before = len(world.got)
            world.play_on([CALL_OF_ACT, ("answer", 0, "not executed"), CALL_OF_ACT, CALL_OF_LOOK])
            at_once = [one.message["params"]["name"] for one in world.got[before:]]
            world.play_on([("pass_time", 40.0)])
            in_the_end = [one.message["params"]["name"] for one in world.got[before:]]
            world.play([], dies=False)
            world.check()
        finally:
            world.transport.close()

    assert at_once == ["act", "look"]
    assert sorted(in_the_end) == ["act", "act", "act", "look"]


@pytest.mark.parametrize("form", FORMS)
def test_a_dry_run_lets_no_call_wait_for_its_turn(form: str) -> None:
    world = World(form, Options(), dry_run=True)
    try:
        before = len(world.got)
        world.play_on([CALL_OF_ACT, ("answer", 0, "not executed"), CALL_OF_ACT])
        at_once = [one.message["params"]["name"] for one in world.got[before:]]
    finally:
        world.transport.close()

    assert at_once == ["act", "act"]
