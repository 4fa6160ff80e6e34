"""`Rewriter`: failing answers to `tools/call` as structured failures. Pure: messages in, messages out.

call = ProxiedCall.of(request)                       # None: nothing to do with tools
reading = rewriter.read_answer(call, message)        # what the server answered
answer, event = rewriter.write_answer(call, reading)  # an answer to send instead of the server's, or None: as it is
answer = rewriter.failed(call, failure)              # for what the proxy itself found: a dead server, a 503
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from failwell import dialects
from failwell._json import is_array, is_object, write_json
from failwell._log import log
from failwell.advice import Hints, advised, decide
from failwell.dialects._placement import META_KEY, encode
from failwell.event import CallArguments, Event, Kind
from failwell.failure import Failure, is_certain
from failwell.phrases.rpc_codes import PROTOCOL_ERRORS
from failwell.proxy.bounds import MAX_ORIGINAL_CHARACTERS
from failwell.proxy.calls import ListedTool, ListedTools, ProxiedCall
from failwell.proxy.channels import is_failing, redacted, redacted_part
from failwell.reading.reader import attempts_below, read
from failwell.redact.canonical import json_safe
from failwell.redact.whole import holds_json, redact_whole

if TYPE_CHECKING:
    from failwell.retry import Run
    from failwell.server._schemas import SchemaChecks

ORIGINAL_KEY = "dev.failwell/original"
"""The key in `_meta` of what the server itself answered, redacted."""

_UNREADABLE = Failure(
    code="INTERNAL_ERROR", message="The call failed, and the server did not say why.", origin="inferred", confidence=0.0
)

Message = dict[str, Any]

_SAID_ELSEWHERE = frozenset(("jsonrpc_code", "failed_items", "succeeded"))
_ENVELOPE = frozenset(("jsonrpc", "id", "result", "error"))
_REPLACED = frozenset(("content", "isError", "_meta"))


class AnswerReading(Struct):
    """What a server's answer says: the failure in it and its kind, if any; and the message, the JSON in it redacted."""

    message: Message
    failure: Failure | None = None
    kind: Kind | None = None

    @property
    def failed(self) -> Failure | None:
        """The failure that the client learns of: not one that is called a success and stays one."""
        return None if self.kind == "unflagged" else self.failure

    @property
    def is_retried_below(self) -> bool:
        """Whether the server, or a proxy before it, has retried the call already."""
        return attempts_below(self.message.get("result")) > 1


class Rewriter:
    """Reads what a server answers to `tools/call` and writes failures in one dialect.

    Args:
        dialect: how failures are written.
        flip_unflagged: tools whose error texts are errors even if the server calls them a success; `*` means all.
        reads_unflagged: report error texts in successes of all other tools.
        dry_run: report what would change, and change nothing.
        safe: tools that may run twice, as the operator knows.
        tools: the tools that the server lists, if they are shared.
        reports_all: report calls that start and succeed too, and more about each.
        session: the name of the client's session in events.

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
    ) -> None:
        dialects.get(dialect)
        self.dialect = dialect
        self.flip_unflagged = frozenset(flip_unflagged)
        self.reads_unflagged = reads_unflagged
        self.dry_run = dry_run
        self._safe = frozenset(safe)
        self.tools = tools or ListedTools()
        self.reports_all = reports_all
        self._session = session
        self._checks: SchemaChecks | None = None

    def read_answer(self, call: ProxiedCall, message: Message) -> AnswerReading:
        """Return what an answer says."""
        message = _with_safe_json(message, is_failing=is_failing(message) or self.flips(call.tool))
        failure = self._failure_in(call, message)
        if failure is not None:
            return AnswerReading(message, failure, "failure")
        failure = self.unflagged_in(call, message)
        if failure is None:
            return AnswerReading(message)
        return AnswerReading(message, failure, "flipped" if self.flips(call.tool) else "unflagged")

    def failure_in(self, call: ProxiedCall, message: Message) -> Failure | None:
        """Return the failure in an answer that is flagged as one and that concerns the tool, or None."""
        return self._failure_in(call, _with_safe_json(message, is_failing=is_failing(message)))

    def _failure_in(self, call: ProxiedCall, message: Message) -> Failure | None:
        if is_object(error := message.get("error")):
            code = error.get("code")
            if call.is_task or (isinstance(code, int) and code in PROTOCOL_ERRORS):
                return None
        elif not is_object(result := message.get("result")) or result.get("isError") is not True:
            return None
        return self._read(call, message) or _UNREADABLE

    def unflagged_in(self, call: ProxiedCall, message: Message) -> Failure | None:
        """Return the failure in an answer that the server calls a success, if such answers are to be read; or None."""
        result = message.get("result")
        if (
            not (self.reads_unflagged or self.flips(call.tool))
            or not is_object(result)
            or result.get("isError") is True
        ):
            return None
        if not is_array(result.get("content")):
            return None
        found = self._read(call, message, unflagged=True)
        return None if found is None or found.severity == "warning" else found

    def flips(self, tool: str) -> bool:
        """Return whether the operator said that error texts of this tool are errors, flagged or not."""
        return tool in self.flip_unflagged or "*" in self.flip_unflagged

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
        event = self.event(kind, call, failure, **attempts_detail(attempts))
        is_passed = kind == "unflagged" or self.dry_run
        return None if is_passed else self._rewrite(call, message, failure, attempts), event

    def _success(self, call: ProxiedCall, message: Message, attempts: int | None) -> Event | None:
        if attempts is not None:
            return self.event("recovered", call, None, **attempts_detail(attempts))
        return self.event("success", call) if self.reports_all and _has_succeeded(message) else None

    def failed(self, call: ProxiedCall, failure: Failure, *, attempts: int | None = None) -> Message:
        """Return the answer to a call for a failure that the proxy itself found."""
        return self._message(call, self._result(call, failure, attempts))

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
            failure=failure,
            hints=self.hints(call.tool),
            arguments=None if kind == "started" else CallArguments(call.arguments),
            **more,
        )

    def depends_on_tool(self, failure: Failure) -> bool:
        """Return whether the next step after a failure that the proxy found depends on what the tool promises."""
        return _advice(failure, _SAFE) != _advice(failure)

    def hints(self, tool: str) -> Hints:
        """Return whether a tool may run twice, as the operator knows or the server lists it."""
        return Hints(idempotent=True) if tool in self._safe else hints_of(self.tools.get(tool))

    def _read(self, call: ProxiedCall, message: Message, *, unflagged: bool = False) -> Failure | None:
        try:
            return self._read_or_raise(call, message, unflagged=unflagged)
        except Exception:
            log.exception("a failure could not be read")
            return None if unflagged else _UNREADABLE.replace(tool=call.tool)

    def _read_or_raise(self, call: ProxiedCall, message: Message, *, unflagged: bool) -> Failure | None:
        schema = self.tools.get(call.tool).input_schema
        found = read(message, tool=call.tool, arguments=call.arguments, input_schema=schema, unflagged=unflagged)
        if found is None or is_certain(found):
            return found
        found = self._with_details(found)
        if found.code == "UNKNOWN_TOOL":
            return self._with_tools(call, found)
        return self._with_fields(call, found) if found.type == "VALIDATION" else found

    def _with_details(self, failure: Failure) -> Failure:
        """Return a failure with its details in the message, where the dialect shows a model nothing else of them."""
        details = {key: value for key, value in failure.details.items() if key not in _SAID_ELSEWHERE}
        if self.dialect != "meta" or failure.origin != "read" or not details:
            return failure
        return failure.replace(message=f"{failure.message} {redact_whole(write_json(details))}")

    def _with_tools(self, call: ProxiedCall, failure: Failure) -> Failure:
        """Return the failure of a call to a tool that does not exist, with those that do, as far as they are known."""
        names = self.tools.names()
        if not names or call.tool in names:
            return failure
        from failwell.schema.problems import unknown_tool  # only now: it brings much that other failures do not need

        better = unknown_tool(call.tool, names)
        return failure.replace(message=better.message, suggestion=None, actions=better.actions)

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

            self._checks = SchemaChecks()
        try:
            return self._checks.refused(call.arguments, self.tools.get(call.tool).input_schema, tool=call.tool)
        except Exception:
            log.exception("the arguments of a call could not be checked; it passes")
            return None

    def _rewrite(self, call: ProxiedCall, message: Message, failure: Failure, attempts: int | None) -> Message | None:
        before: Message = message["result"] if is_object(message.get("result")) else {}
        after = self._result(call, failure, attempts)
        blocks = before.get("content")
        rest = [block for block in blocks if not _is_text(block)] if is_array(blocks) else []
        after["content"] += redacted_part(rest, "result", "content") if rest else rest
        meta: Message = before["_meta"] if is_object(before.get("_meta")) else {}
        is_same = blocks == after["content"] and before.get("isError") is after["isError"]
        if META_KEY in meta and is_same and _outcome(meta) == _outcome(after["_meta"]):
            return self.redacted(message)  # the server uses failwell itself
        more = redacted_part({key: value for key, value in before.items() if key not in _REPLACED}, "result")
        extra = redacted_part({key: value for key, value in message.items() if key not in _ENVELOPE})
        result: Message = {**{key: None for key in before if key in _REPLACED or key in more}, **more, **after}
        result["_meta"] = {**redacted_part(_without_own(meta), "result", "_meta"), **after["_meta"]}
        original: Message = (
            {"error": redacted_part(message["error"], "error")} if "error" in message else {"content": blocks}
        )
        if "structuredContent" in before and self.tools.get(call.tool).has_output_schema:
            # Widespread clients check it against the schema even in errors, and throw the error away.
            original["structuredContent"] = result.pop("structuredContent")
        result["_meta"][ORIGINAL_KEY] = _redact(_simplify(original), failure, after["_meta"][META_KEY]["message"])
        return {**{key: message[key] for key in ("jsonrpc", "id") if key in message}, **extra, "result": result}

    def _result(self, call: ProxiedCall, failure: Failure, attempts: int | None) -> Message:
        has_schema = self.tools.get(call.tool).has_output_schema
        worded = advised(failure, self.hints(call.tool), attempt=attempts or 1)
        result = encode(worded, self.dialect, output_schema=has_schema, attempts=attempts)
        return {**result, "resultType": "complete"} if call.is_modern else result

    def _message(self, call: ProxiedCall, result: Message) -> Message:
        return {"jsonrpc": "2.0", "id": call.id, "result": result}


_SAFE = Hints(read_only=True)


def _advice(failure: Failure, hints: Hints | None = None) -> tuple[str, str | None]:
    return decide(failure, hints).action, advised(failure, hints).suggestion


def attempts_detail(attempts: int | None) -> dict[str, int]:
    """Return the field of an event that says how often a call was made, if it was made again."""
    return {} if attempts is None else {"attempt": attempts}


def hints_of(tool: ListedTool) -> Hints:
    """Return whether a tool may run twice."""
    return Hints.of(dict.fromkeys(tool.annotations, True))


def _outcome(meta: Message) -> Any:
    """Return the outcome that a failure in `_meta` states."""
    failure = meta[META_KEY]
    return failure.get("outcome") if is_object(failure) else None


def _without_own(meta: Message) -> Message:
    """Return `_meta` without the server's own failure, which is written anew."""
    return {key: value for key, value in meta.items() if key not in (META_KEY, ORIGINAL_KEY)}


def _has_succeeded(message: Message) -> bool:
    result = message.get("result")
    return is_object(result) and result.get("isError") is not True


def _is_text(block: Any) -> bool:
    return is_object(block) and block.get("type") == "text"


def _with_safe_json(message: Message, *, is_failing: bool) -> Message:
    """Return a failing answer whose texts are redacted where they hold JSON: words made of it do not tell its names."""
    result = message.get("result")
    blocks = result.get("content") if is_failing and is_object(result) else None
    if not is_array(blocks) or not any(_holds_json(block) for block in blocks):
        return message
    safe = [{**block, "text": redact_whole(block["text"])} if _holds_json(block) else block for block in blocks]
    return {**message, "result": {**message["result"], "content": safe}}


def _holds_json(block: Any) -> bool:
    text = block.get("text") if _is_text(block) else None
    return isinstance(text, str) and holds_json(text)


def _redact(original: Message, failure: Failure, message: str) -> Message:
    if original == {"text": failure.message} and len(message) == len(failure.message):
        return {"text": message}  # it was redacted for the failure already
    found: Message = json_safe(original, text_limit=MAX_ORIGINAL_CHARACTERS, text_total=2 * MAX_ORIGINAL_CHARACTERS)
    return found


def _simplify(original: Message) -> Message:
    """Return an answer with one text as just that text."""
    blocks = original.get("content")
    if not is_array(blocks):
        return original
    texts = [block["text"] for block in blocks if _is_text(block) and isinstance(block.get("text"), str)]
    rest = {key: value for key, value in original.items() if key != "content"}
    return {"text": "\n".join(texts), **rest}
