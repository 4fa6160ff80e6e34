"""`Rewriter`: failing answers to `tools/call` as structured failures. Pure: messages in, messages out.

call = ProxiedCall.of(request)                       # None: nothing to do with tools
reading = rewriter.read_answer(call, message, is_failed=True)  # what the server answered
answer, event = rewriter.write_answer(call, reading)  # an answer to send instead of the server's, or None: as it is
answer = rewriter.failed(call, failure)              # for what the proxy itself found: a dead server, a 503
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from failwell import dialects
from failwell._automatic import is_automatic
from failwell._json import is_list, is_object, write_json
from failwell._log import log
from failwell._spelling import normalised
from failwell.advice import Hints, advised, decide, is_guess
from failwell.dialects._placement import META_KEY, UNFLAGGED_KEY, write_result, write_whole
from failwell.event import CallArguments, Event, Kind
from failwell.failure import FIELDS, Failure, is_certain
from failwell.phrases.rpc_codes import INVALID_REQUEST, METHOD_NOT_FOUND, PROTOCOL_ERRORS
from failwell.proxy.bounds import MAX_ERROR_TEXT_CHARACTERS, MAX_ORIGINAL_CHARACTERS
from failwell.proxy.calls import ListedTool, ListedTools, ProxiedCall
from failwell.proxy.channels import is_failing, redacted, redacted_part
from failwell.reading.flat_text import Reading, without_filling
from failwell.reading.reader import attempts_in, explain
from failwell.redact.canonical import CleanMessage, canonical, json_safe
from failwell.redact.json_value import redact_json
from failwell.redact.scrubber import clean_ends, holds_json

if TYPE_CHECKING:
    from failwell.proxy.options import ProxyOptions
    from failwell.proxy.policies import ToolPolicies
    from failwell.retry import Run
    from failwell.server._schemas import SchemaChecks

ORIGINAL_KEY = "dev.failwell/original"
"""The key in `_meta` of what the server itself answered, redacted."""

_UNREADABLE = Reading(
    Failure(
        code="INTERNAL_ERROR",
        message="The call failed, and the server did not say why.",
        origin="inferred",
        confidence=0.0,
    )
)

Message = dict[str, Any]

_SAID_ELSEWHERE = frozenset(("jsonrpc_code", "failed_items", "succeeded"))
_SAID_IN_LINES = frozenset(("status", "status_code", "http_status", "retry_after", "retry_after_seconds"))
_ENVELOPE = frozenset(("jsonrpc", "id", "result", "error"))
_REPLACED = frozenset(("content", "isError", "_meta"))


class AnswerReading(Struct):
    """What a server's answer says: the failure in it and its kind, if any; and the message, the JSON in it redacted.

    `cleaned` is the text that the failure was read from, if that was cleaned.
    """

    message: Message
    failure: Failure | None = None
    kind: Kind | None = None
    cleaned: CleanMessage | None = None

    @property
    def is_retried_below(self) -> bool:
        """Whether the server, or a proxy before it, has retried the call already."""
        result = self.message.get("result")
        meta = result.get("_meta") if is_object(result) else None
        return is_object(meta) and attempts_in(meta) > 1


class Rewriter:
    """Reads what a server answers to `tools/call` and writes failures in one dialect.

    Args:
        dialect: how failures are written.
        flip_unflagged: tools whose error texts are errors even if the server calls them a success; `*` means all.
        reads_unflagged: report error texts in successes of all other tools.
        dry_run: report what would change, and change nothing.
        safe: tools that may run twice, as the operator knows.
        tools: the tools that the server lists, if they are shared.
        reports_all: report calls that succeed too, and more about each.
        session: the name of the client's session in events.
        marks_unflagged: flag a success where the schema proves the call wrong and the text complains of that; where
            its text is that of an error otherwise, say so in `_meta` only.
        policies: what is wanted for each tool, if there is a policy file; it knows the options too.

    Raises:
        ValueError: there is no such dialect.
    """

    def __init__(
        self,
        *,
        dialect: str = "meta",
        flip_unflagged: Collection[str] = (),
        reads_unflagged: bool = False,
        dry_run: bool = False,
        safe: Collection[str] = (),
        tools: ListedTools | None = None,
        reports_all: bool = False,
        session: str = "",
        policies: "ToolPolicies | None" = None,
        marks_unflagged: bool = False,
    ) -> None:
        dialects.get(dialect)
        self._policies = policies
        self.marks_unflagged = marks_unflagged
        self.dialect = dialect
        self.flip_unflagged = frozenset(flip_unflagged)
        self.reads_unflagged = reads_unflagged
        self.dry_run = dry_run
        self._safe = frozenset(safe)
        self.tools = tools or ListedTools()
        self.reports_all = reports_all
        self._session = session
        self.agent = ""
        """The client, as it named itself at the beginning of the session, if it did."""
        self._checks: SchemaChecks | None = None

    @classmethod
    def of(cls, options: "ProxyOptions", tools: ListedTools, *, is_observed: bool, session: str = "") -> "Rewriter":
        """Return the rewriter that the options of a proxy ask for; if it *is_observed*, each call is reported."""
        return cls(
            dialect=options.dialect,
            flip_unflagged=options.flip_unflagged,
            reads_unflagged=is_observed or options.observe,
            dry_run=options.observe,
            safe=options.retry_safe,
            policies=options.policies,
            marks_unflagged=is_automatic(),
            tools=tools,
            reports_all=is_observed,
            session=session,
        )

    def read_answer(self, call: ProxiedCall, message: Message, *, is_failed: bool) -> AnswerReading:
        """Return what an answer says, given whether it is flagged as a failure."""
        is_changed = is_failed or self.flips(call.tool)
        reading = self._read_safe(call, _with_safe_json(message) if is_changed else message)
        if is_changed or reading.failure is None or (safe := _with_safe_json(message)) is message:
            return reading
        again = self._read_safe(call, safe)
        return replace(again, message=message) if again.kind == "unflagged" else again

    def read_again(self, call: ProxiedCall, reading: AnswerReading) -> AnswerReading:
        """Return what an answer says now that the tools are known: only a text may be read otherwise."""
        if reading.failure is None or is_certain(reading.failure):
            return reading
        if reading.kind == "unflagged":
            return self.read_answer(call, reading.message, is_failed=False)
        return self._read_safe(call, reading.message)

    def _read_safe(self, call: ProxiedCall, message: Message) -> AnswerReading:
        if is_about_tool(call, message):
            found = self._read(call, message) or _UNREADABLE
            return AnswerReading(message, found.failure, "failure", found.cleaned)
        if not call.is_task and is_object(error := message.get("error")) and error.get("code") == INVALID_REQUEST:
            # Servers send it for whatever they refuse: it is about the tool if it is clearly about an argument, or if
            # the server lists no such tool.
            refused = self._read(call, message)
            if refused is not None and not is_guess(refused.failure) and self._is_about_call(call, refused.failure):
                return AnswerReading(message, refused.failure, "failure", refused.cleaned)
            return AnswerReading(message)
        is_flipped = self.flips(call.tool)
        is_read = self.reads_unflagged or self.marks_unflagged or is_flipped
        if not is_read or not _has_succeeded(message) or _content(message) is None:
            return AnswerReading(message)
        error = self._read(call, message, unflagged=True)
        if error is None and self._flips_by_name(call.tool) and _is_bare_error(message):
            error = self._read(call, {**message, "result": {**message["result"], "isError": True}})
        if error is None or error.failure.severity == "warning":
            return AnswerReading(message)
        failure = error.failure
        is_proven = self.marks_unflagged and error.sign is not None and error.sign.is_proven
        if self.marks_unflagged and failure.code == "UNKNOWN_TOOL" and self._is_missing(call.tool):
            is_proven, failure = True, failure.replace(outcome="unknown")  # the list of tools proves it
        kind: Kind = "flipped" if is_flipped or is_proven else "unflagged"
        return AnswerReading(message, failure, kind, error.cleaned)

    def _is_about_call(self, call: ProxiedCall, failure: Failure) -> bool:
        return bool(failure.fields) or (failure.code == "UNKNOWN_TOOL" and self._is_missing(call.tool))

    def flips(self, tool: str) -> bool:
        """Return whether the operator said that error texts of this tool are errors, flagged or not."""
        if self._policies is not None:
            return self._policies.flips(tool)
        return tool in self.flip_unflagged or "*" in self.flip_unflagged

    def _flips_by_name(self, tool: str) -> bool:
        """Return whether the operator said so of the tool itself, and not of all tools."""
        return tool in self.flip_unflagged or (self._policies is not None and self._policies.flips_by_name(tool))

    def validates(self, tool: str) -> bool:
        """Return whether wrong arguments of a tool are refused, where any are."""
        return self._policies is None or self._policies.validates(tool)

    def _dialect_of(self, tool: str) -> str:
        return self.dialect if self._policies is None else self._policies.dialect(tool)

    def redacted(self, message: Message) -> Message | None:
        """Return a failing answer that is not rewritten, redacted; None: there is nothing to hide."""
        if self.dry_run or not is_failing(message):
            return None
        found = redacted(message)
        return None if found == message else found

    def write_answer(
        self, call: ProxiedCall, reading: AnswerReading, *, attempts: int | None = None, run: "Run | None" = None
    ) -> tuple[Message | None, Event | None]:
        """Return the structured answer in place of one that was read, or None: that passes as it is; and its event.

        *attempts* says how often the call was tried, if it was tried again, and *run* knows what came of all tries.
        What fails and is not rewritten is redacted: None means that nothing in it was to be hidden, or that the server
        calls it a success.
        """
        failure, message, kind = reading.failure, reading.message, reading.kind
        if failure is None or kind is None:
            return self.redacted(message), self._success(call, message, attempts)
        if run is not None:
            failure = run.with_gravest_outcome(failure)
        event = self.event(kind, call, failure, attempt=attempts or 1)
        if self.dry_run:
            return None, event
        if kind == "unflagged":
            return self._mark(call, reading, failure), event
        return self._rewrite(call, reading, failure, attempts), event

    def _mark(self, call: ProxiedCall, reading: AnswerReading, failure: Failure) -> Message | None:
        """Return a success with the failure that its text tells of in `_meta`, and nothing else changed."""
        result = reading.message["result"]
        meta: Any = result.get("_meta") or {}
        if not self.marks_unflagged or not is_object(meta) or META_KEY in meta:
            return None
        worded = advised(failure.replace(outcome="unknown"), self.hints(call.tool))
        marked = {**meta, UNFLAGGED_KEY: write_whole(canonical(worded, reading.cleaned))}
        return {**reading.message, "result": {**result, "_meta": marked}}

    def cut(self, call: ProxiedCall, message: Message) -> Message | None:
        """Return a success whose texts are cut to the size that the policy allows; None: it passes as it is."""
        most = None if self._policies is None else self._policies.response_size(call.tool)
        if most is None or self.dry_run or (blocks := _content(message)) is None:
            return None
        result, texts = message["result"], [block["text"] for block in blocks if _has_text(block)]
        structured = result.get("structuredContent")
        length, inside = _length(texts), _length(structured)
        if max(length, inside) <= most:
            return None
        share = most / max(length, 1)
        kept = [{**block, "text": _cut(block["text"], share)} if _has_text(block) else block for block in blocks]
        shown = _length([block["text"] for block in kept if _has_text(block)])
        # Many clients show this instead of the texts.
        shortened = _cut(structured, most / max(inside, 1), longer_than=_SHORT)
        if length <= most and shortened == structured:
            return None
        omitted = f"{length - shown} of {length} characters" if length > most else "Parts of structuredContent were"
        note = f"[{omitted} omitted. {self._ask_for_less(call)}]"
        cut = {**result, "content": [*kept, {"type": "text", "text": note}]}
        if shortened != structured:
            cut["structuredContent"] = shortened
        return {**message, "result": cut}

    def _ask_for_less(self, call: ProxiedCall) -> str:
        schema = self.tools.get(call.tool).input_schema
        known = schema.get("properties") if is_object(schema) else None
        names = [name for name in known if set(normalised(name).split("_")) & _NARROWING] if is_object(known) else []
        return (
            f"Ask for less with: {', '.join(names[:5])}." if names else "Ask for less, in several calls if necessary."
        )

    def _success(self, call: ProxiedCall, message: Message, attempts: int | None) -> Event | None:
        if attempts is not None:
            return self.event("recovered", call, attempt=attempts)
        return self.event("success", call) if self.reports_all and _has_succeeded(message) else None

    def failed(self, call: ProxiedCall, failure: Failure, *, attempts: int | None = None) -> Message:
        """Return the answer to a call for a failure that the proxy itself found."""
        return {"jsonrpc": "2.0", "id": call.id, "result": self._result(call, failure, attempts)}

    def event(self, kind: Kind, call: ProxiedCall, failure: Failure | None = None, **more: Any) -> Event:
        """Return an event of a call."""
        if not self.reports_all:
            return Event(source="proxy", kind=kind, tool=call.tool, failure=failure, **more)
        return Event(
            source="proxy",
            kind=kind,
            session=self._session,
            tool=call.tool,
            call=call.id,
            agent=call.agent or self.agent,
            failure=failure,
            hints=self.hints(call.tool),
            arguments=CallArguments(call.arguments),
            **more,
        )

    def depends_on_tool(self, failure: Failure) -> bool:
        """Return whether the next step after a failure that the proxy found depends on what the tool promises."""
        return _advice(failure, _SAFE) != _advice(failure)

    def hints(self, tool: str, listed: ListedTool | None = None) -> Hints:
        """Return whether a tool may run twice, as the operator knows or the server lists it: as *listed*, if given."""
        if self._policies is not None:
            found = self.tools.find(tool)
            return self._policies.hints(tool, None if found is None else found.promises)
        if tool in self._safe:
            return Hints(idempotent=True)
        return Hints.of(dict.fromkeys((listed or self.tools.get(tool)).annotations, True))

    def _read(self, call: ProxiedCall, message: Message, *, unflagged: bool = False) -> Reading | None:
        schema = self.tools.get(call.tool).input_schema
        try:
            found = explain(
                message, tool=call.tool or None, arguments=call.arguments, input_schema=schema, unflagged=unflagged
            )
            if found is None or (is_certain(found.failure) and found.failure.code != "METHOD_NOT_FOUND"):
                return found
            failure = self._with_details(call, found.failure)
            if failure.code == "METHOD_NOT_FOUND" and self._is_missing(call.tool):
                failure = failure.replace(code="UNKNOWN_TOOL")
            if failure.code == "UNKNOWN_TOOL":
                failure = self._with_tools(call, failure)
            elif failure.type == "VALIDATION":
                failure = self._with_fields(call, failure)
            elif failure.type == "NOT_FOUND":
                failure = self._with_helpful_tools(call, failure)
            return found if failure is found.failure else replace(found, failure=failure)
        except Exception:
            log.exception("a failure could not be read")
            return None if unflagged else replace(_UNREADABLE, failure=_UNREADABLE.failure.replace(tool=call.tool))

    def _with_details(self, call: ProxiedCall, failure: Failure) -> Failure:
        """Return a failure with its details in the message, where the dialect shows a model nothing else of them."""
        if failure.origin != "read" or self._dialect_of(call.tool) != "meta":
            return failure
        details = {key: value for key, value in failure.details.items() if key not in _SAID_ELSEWHERE}
        if not details:
            return failure
        return failure.replace(message=f"{failure.message} {redact_json(write_json(details))}")

    def _with_tools(self, call: ProxiedCall, failure: Failure) -> Failure:
        """Return the failure of a call to a tool that does not exist, with those that do, as far as they are known."""
        names = self.tools.names()
        if not names or call.tool in names:
            return failure
        from failwell.schema.problems import unknown_tool  # only now: it brings much that other failures do not need

        better = unknown_tool(call.tool, names)
        return failure.replace(message=better.message, suggestion=None, actions=better.actions)

    def _is_missing(self, tool: str) -> bool:
        """Return whether the server lists its tools, and this is none of them."""
        return not self.tools.is_empty and tool not in self.tools.names()

    def _with_helpful_tools(self, call: ProxiedCall, failure: Failure) -> Failure:
        """Return the failure of a call that did not find something, with the tools that list or create such things."""
        if failure.actions or is_guess(failure) or self.tools.is_empty:
            return failure
        from failwell.schema.tool_names import helpful_tools  # only now: most failures have no use for other tools

        fields = [problem.path for problem in failure.fields]
        found = helpful_tools(
            call.tool, self.tools.candidates(), text=failure.message, fields=fields, requires=self._required
        )
        return failure.replace(actions=found) if found else failure

    def _required(self, tool: str) -> Collection[str]:
        """Return the names of the arguments that a tool requires."""
        schema = self.tools.get(tool).input_schema
        names = schema.get("required") if is_object(schema) else None
        return [name for name in names if isinstance(name, str)] if is_list(names) else ()

    def _with_fields(self, call: ProxiedCall, failure: Failure) -> Failure:
        """Return a failure of validation with the problems that the schema proves, and those that the server named."""
        checked = self.check(call)
        if checked is None:
            return failure
        paths = {problem.path for problem in checked.fields}
        named = (problem for problem in failure.fields if problem.kind is not None and problem.path not in paths)
        return failure.replace(fields=(*checked.fields, *named))

    def check(self, call: ProxiedCall) -> Failure | None:
        """Return what is wrong with the arguments of a call by the schema of its tool; None: nothing is known to be."""
        if call.is_unread:
            return None
        if self._checks is None:
            from failwell.server._schemas import SchemaChecks  # only now: most failures need no validator

            self._checks = SchemaChecks(are_fixed=True)
        try:
            return self._checks.refused(call.arguments, self.tools.get(call.tool).input_schema, tool=call.tool)
        except Exception:
            log.exception("the arguments of a call could not be checked, so it passed")
            return None

    def _rewrite(
        self, call: ProxiedCall, reading: AnswerReading, failure: Failure, attempts: int | None
    ) -> Message | None:
        message = reading.message
        before: Message = message["result"] if is_object(message.get("result")) else {}
        is_error, is_sure, blocks = "error" in message, is_certain(failure), _content(message)
        if is_sure and failure.code == "UNKNOWN_TOOL" and call.tool in _text_of(message, blocks):
            is_sure = False  # the server says so itself, and its own words stay
        text = "" if is_error and is_sure else _text_of(message, blocks)
        original = "" if is_sure else text.strip()
        is_plain = original == reading.cleaned  # cleaning leaves out the filling too
        kept = original if is_plain else without_filling(original, keeps_frames=lambda: _runs_code(call))
        is_short = len(failure.message) <= FIELDS["message"].longest
        words = None if is_short and kept in failure.message else _redact_text(kept or failure.message)
        after = self._result(call, failure, attempts, cleaned=reading.cleaned, words=words)
        is_whole = kept == original and len(kept) <= MAX_ERROR_TEXT_CHARACTERS and not is_error
        if is_whole and blocks is not None and after["content"][0]["text"] == (words or original):
            # Nothing was to be added, and what is the same as a text that was redacted needs that no more.
            is_safe = blocks == after["content"]
            after["content"] = blocks if is_safe else redacted_part(blocks, "result", "content")
        else:
            rest = [block for block in blocks or () if not _is_text(block)]
            after["content"] += redacted_part(rest, "result", "content") if rest else rest
        meta: Message = before["_meta"] if is_object(before.get("_meta")) else {}
        is_same = blocks == after["content"] and before.get("isError") is after["isError"]
        if META_KEY in meta and is_same and _outcome(meta) == _outcome(after["_meta"]):
            return self.redacted(message)  # the server uses failwell itself
        more: Message = {key: value for key, value in before.items() if key not in _REPLACED}
        extra: Message = {key: value for key, value in message.items() if key not in _ENVELOPE}
        others: Message = {key: value for key, value in meta.items() if key not in (META_KEY, ORIGINAL_KEY)}
        if more or extra or others:  # what is neither part of the failure nor replaced by it
            extra = redacted({**extra, "result": {**more, "_meta": others}})
            more = extra.pop("result")
            others = more.pop("_meta")
        result: Message = {**{key: None for key in before if key in _REPLACED or key in more}, **more, **after}
        result["_meta"] = {**others, **after["_meta"]}
        answered: Message = {"content": before.get("content")} if blocks is None else {"text": text}
        if is_error:
            answered = {"error": redacted_part(message["error"], "error")}
        if "structuredContent" in before and self.tools.get(call.tool).has_output_schema:
            # Widespread clients check it against the schema even in errors, and throw the error away.
            answered["structuredContent"] = result.pop("structuredContent")
        result["_meta"][ORIGINAL_KEY] = _redact(answered, failure, after["_meta"][META_KEY]["message"])
        return {**{key: message[key] for key in ("jsonrpc", "id") if key in message}, **extra, "result": result}

    def _result(
        self,
        call: ProxiedCall,
        failure: Failure,
        attempts: int | None,
        *,
        cleaned: CleanMessage | None = None,
        words: str | None = None,
    ) -> Message:
        tool, dialect = self.tools.get(call.tool), self._dialect_of(call.tool)
        worded = advised(failure, self.hints(call.tool, tool), attempt=attempts or 1)
        result = write_result(
            worded,
            dialect,
            cleaned=cleaned,
            words=words,
            output_schema=tool.has_output_schema,
            attempts=attempts,
        )
        return {**result, "resultType": "complete"} if call.is_modern else result


_SAFE = Hints(read_only=True)
# Of a call it says that there is no such tool, or that there are no tools: no client has an answer to that.
_ABOUT_TOOLS = frozenset((METHOD_NOT_FOUND,))


def _advice(failure: Failure, hints: Hints | None = None) -> tuple[str, str | None]:
    return decide(failure, hints).action, advised(failure, hints).suggestion


def is_about_tool(call: ProxiedCall, message: Message) -> bool:
    """Return whether an answer is flagged as a failure and concerns the tool: not the protocol, nor a task."""
    if is_object(error := message.get("error")):
        code = error.get("code")
        return not (call.is_task or (isinstance(code, int) and code in PROTOCOL_ERRORS - _ABOUT_TOOLS))
    return is_object(result := message.get("result")) and result.get("isError") is True


def _outcome(meta: Message) -> Any:
    """Return the outcome that a failure in `_meta` states."""
    failure = meta[META_KEY]
    return failure.get("outcome") if is_object(failure) else None


def _runs_code(call: ProxiedCall) -> bool:
    from failwell.schema.tool_names import runs_code  # only now: few texts have a traceback

    return runs_code(call.tool, call.arguments)


def _content(message: Message) -> list[Any] | None:
    """Return the blocks of a result; None: it has none."""
    result = message.get("result")
    blocks = result.get("content") if is_object(result) else None
    return blocks if is_list(blocks) else None


def _text_of(message: Message, blocks: list[Any] | None) -> str:
    """Return what a client shows of an answer: its texts, or the message of an error and what goes with it."""
    if "error" in message:
        error = message["error"]
        if not is_object(error):
            return _shown(error)
        text, data = error.get("message"), error.get("data")
        is_said = not data or data == text or (is_object(data) and set(map(normalised, data)) <= _SAID_IN_LINES)
        return _shown(text) if is_said else f"{_shown(text)} {_shown(data)}"
    return "\n".join(_texts(blocks or []))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else write_json(redact_json(value))


def _redact_text(text: str) -> str:
    is_long = len(text) > MAX_ERROR_TEXT_CHARACTERS
    found: str = clean_ends(text, MAX_ERROR_TEXT_CHARACTERS) if is_long else redact_json(text)
    return found.strip()


def _texts(blocks: list[Any]) -> list[str]:
    return [block["text"] for block in blocks if _is_text(block) and isinstance(block.get("text"), str)]


def _is_bare_error(message: Message) -> bool:
    from failwell.reading.unflagged import is_bare_error  # only now: it brings much that other failures do not need

    return is_bare_error(_text_of(message, _content(message)))


def _has_succeeded(message: Message) -> bool:
    result = message.get("result")
    return is_object(result) and result.get("isError") is not True


# Words in the names of arguments by which a caller gets less.
_NARROWING = frozenset(
    (
        "limit",
        "offset",
        "page",
        "cursor",
        "max",
        "count",
        "top",
        "head",
        "tail",
        "first",
        "last",
        "start",
        "end",
        "fields",
    )
)
_CUT = "\n[…]\n"


_SHORT = 100  # characters of a string within structuredContent that are no text: a name, a date


def _cut(value: Any, share: float, *, longer_than: int = 0) -> Any:
    """Return a value whose long texts have a share of their characters: of the head, and less of the tail."""
    if is_object(value):
        return {key: _cut(item, share, longer_than=longer_than) for key, item in value.items()}
    if is_list(value):
        return [_cut(item, share, longer_than=longer_than) for item in value]
    if not isinstance(value, str) or share >= 1 or len(value) <= longer_than:
        return value
    room = int(len(value) * share) - len(_CUT)
    if room <= 0:
        return ""
    head = room * 4 // 5
    return f"{value[:head]}{_CUT}{value[len(value) - (room - head) :]}"


def _length(value: Any) -> int:
    """Return how many characters all texts in a value have."""
    if is_object(value):
        return sum(map(_length, value.values()))
    if is_list(value):
        return sum(map(_length, value))
    return len(value) if isinstance(value, str) else 0


def _has_text(block: Any) -> bool:
    return _is_text(block) and isinstance(block.get("text"), str)


def _is_text(block: Any) -> bool:
    return is_object(block) and block.get("type") == "text"


def _with_safe_json(message: Message) -> Message:
    """Return a failing answer whose texts are redacted where they hold JSON: words made of it do not tell its names."""
    blocks = _content(message)
    if blocks is None or not any(map(holds_json, _texts(blocks))):
        return message
    safe = [
        {**block, "text": redact_json(text)}
        if _is_text(block) and isinstance(text := block.get("text"), str) and holds_json(text)
        else block
        for block in blocks
    ]
    return {**message, "result": {**message["result"], "content": safe}}


def _redact(original: Message, failure: Failure, message: str) -> Message:
    if original == {"text": failure.message} and len(message) == len(failure.message):
        return {"text": message}  # it was redacted for the failure already
    found: Message = json_safe(original, text_limit=MAX_ORIGINAL_CHARACTERS, text_total=2 * MAX_ORIGINAL_CHARACTERS)
    return found
