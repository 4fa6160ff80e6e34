"""`Upgrader`: failing answers to `tools/call` as structured failures. Pure: messages in, messages out.

call = Call.of(request)                      # None: nothing to do with tools
refusal = upgrader.refusal(call)             # an answer to send instead of the call, or None
answer = upgrader.answer(call, message)      # an answer to send instead of the server's, or None: as it is
upgrader.tools.learn(result, is_whole=True)  # what the server answered to tools/list
answer = upgrader.failed(call, failure)      # for what the proxy itself found: a dead server, a 503
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from failwell import dialects
from failwell._json import is_array, is_object
from failwell.advice import Hints
from failwell.dialects._placement import META_KEY, encode
from failwell.event import Sent
from failwell.failure import Failure
from failwell.phrases.rpc_codes import PROTOCOL_ERRORS
from failwell.proxy.calls import ListedTool, ListedTools, ProxiedCall
from failwell.proxy.events import Happening, Kind
from failwell.reading.reader import read
from failwell.redact.canonical import json_safe

if TYPE_CHECKING:
    from failwell.server._schemas import SchemaChecks

ORIGINAL_KEY = "dev.failwell/original"
"""Where in `_meta` the answer of the server stands as it was, without its secrets."""

_LONGEST_ORIGINAL = 10_000

Message = dict[str, Any]


class Rewriter:
    """Reads what a server answers to `tools/call` and writes failures in one dialect.

    Args:
        dialect: how failures are written.
        flip_unflagged: tools whose error texts are errors even if the server calls them a success; `*` means all.
        look_unflagged: report error texts in successes of all other tools.
        validate: refuse arguments that the tool's schema refuses, before the server sees them.
        dry_run: report what would change, and change nothing.
        tools: what the server lists, if somebody else keeps it.
        report: told what happened.
        tells_all: tell of calls that begin and succeed too, and more of each.
        session: what to call the client's session where that is told.

    Raises:
        ValueError: there is no such dialect.
    """

    def __init__(
        self,
        *,
        dialect: str = "compact",
        flip_unflagged: Collection[str] = (),
        look_unflagged: bool = False,
        validate: bool = False,
        dry_run: bool = False,
        tools: ListedTools | None = None,
        report: Callable[[Happening], object] = lambda _: None,
        tells_all: bool = False,
        session: str = "",
    ) -> None:
        dialects.get(dialect)
        self.dialect = dialect
        self.flip_unflagged = frozenset(flip_unflagged)
        self.look_unflagged = look_unflagged
        self.dry_run = dry_run
        self.tools = tools or ListedTools()
        self._report = report
        self.tells_all = tells_all
        self._session = session
        self.validates = validate
        self._checks: SchemaChecks | None = None

    def refusal(self, call: ProxiedCall) -> Message | None:
        """Return the answer to a call that must not reach the server, or None: pass it on."""
        if self.tells_all:
            self._report(self.happening("begun", call))
        failure = self._refused(call) if self.validates else None
        if failure is None:
            return None
        failure = failure.replace(outcome="not_executed")
        self._report(self.happening("refused", call, failure))
        return None if self.dry_run else self.failed(call, failure)

    def failure_in(self, call: ProxiedCall, message: Message) -> Failure | None:
        """Return the failure in an answer that is flagged as one and that concerns the tool, or None."""
        if is_object(error := message.get("error")):
            if call.is_task or error.get("code") in PROTOCOL_ERRORS:
                return None
        elif not is_object(result := message.get("result")) or result.get("isError") is not True:
            return None
        return self._read(call, message)

    def unflagged_in(self, call: ProxiedCall, message: Message) -> Failure | None:
        """Return the failure in an answer that the server calls a success, where anybody wants to know; or None."""
        result = message.get("result")
        if not self.looks_at_successes_of(call.tool) or not is_object(result) or result.get("isError") is True:
            return None
        if not is_array(result.get("content")):
            return None
        found = self._read(call, message, unflagged=True)
        return None if found is None or found.severity == "warning" else found

    def looks_at_successes_of(self, tool: str) -> bool:
        """Return whether answers that are not flagged must be looked at too."""
        return self.look_unflagged or self.flips(tool)

    def flips(self, tool: str) -> bool:
        """Return whether the operator said that error texts of this tool are errors, flagged or not."""
        return tool in self.flip_unflagged or "*" in self.flip_unflagged

    def answer(self, call: ProxiedCall, message: Message, *, attempts: int | None = None) -> Message | None:
        """Return the structured answer in place of the server's, or None: pass that on as it is.

        *attempts* says how often the call was tried, if it was tried again.
        """
        end: Kind = "failure"
        failure = self.failure_in(call, message)
        if failure is None:
            failure = self.unflagged_in(call, message)
            if failure is None:
                self._report_success(call, message, attempts)
                return None
            end = "flipped" if self.flips(call.tool) else "unflagged"
        self._report(self.happening(end, call, failure, **tried(attempts)))
        if end == "unflagged":
            return None
        return None if self.dry_run else self._upgraded(call, message, failure, attempts)

    def _report_success(self, call: ProxiedCall, message: Message, attempts: int | None) -> None:
        if attempts is not None:
            self._report(self.happening("recovered", call, None, **tried(attempts)))
        elif self.tells_all and _has_succeeded(message):
            self._report(self.happening("success", call))

    def failed(self, call: ProxiedCall, failure: Failure, *, attempts: int | None = None) -> Message:
        """Return the answer to a call for a failure that no server told of."""
        return self._message(call, self._result(call, failure, attempts))

    def happening(self, event: Kind, call: ProxiedCall, failure: Failure | None = None, **details: Any) -> Happening:
        """Return what is told of a call."""
        if not self.tells_all:
            return Happening(event, call.tool, failure, details)
        sent = None if event == "begun" else Sent(call.arguments)
        return Happening(event, call.tool, failure, details, call.id, self._session, self.hints(call.tool), sent)

    def hints(self, tool: str) -> Hints:
        """Return whether a tool may run twice, as the server lists it."""
        return hints_of(self.tools.get(tool))

    def _read(self, call: ProxiedCall, message: Message, *, unflagged: bool = False) -> Failure | None:
        known = self.tools.get(call.tool)
        found = read(
            message,
            tool=call.tool,
            arguments=call.arguments,
            input_schema=known.input_schema,
            annotations=known.annotations,
            unflagged=unflagged,
        )
        if found is None or found.origin != "inferred":
            return found
        if found.code == "UNKNOWN_TOOL":
            return self._with_tools(call, found)
        return self._with_fields(call, found) if found.type == "VALIDATION" else found

    def _with_tools(self, call: ProxiedCall, failure: Failure) -> Failure:
        """Return the failure of a call to a tool that does not exist, with those that do, as far as they are known."""
        names = self.tools.names()
        if not names or call.tool in names:
            return failure
        from failwell.schema.problems import unknown_tool  # only now: it brings much that other failures do not need

        told = unknown_tool(call.tool, names)
        return failure.replace(message=told.message, suggestion=told.suggestion, actions=told.actions)

    def _with_fields(self, call: ProxiedCall, failure: Failure) -> Failure:
        """Return a failure of validation with what the schema finds wrong in place of what a text made us suspect."""
        checked = self._refused(call)
        if checked is None:
            return failure
        paths = {problem.path for problem in checked.fields}
        named = (problem for problem in failure.fields if problem.kind is not None and problem.path not in paths)
        return failure.replace(fields=(*checked.fields, *named))

    def _refused(self, call: ProxiedCall) -> Failure | None:
        if self._checks is None:
            from failwell.server._schemas import SchemaChecks  # only now: most failures need no validator

            self._checks = SchemaChecks()
        return self._checks.refused(call.arguments, self.tools.get(call.tool).input_schema, tool=call.tool)

    def _upgraded(self, call: ProxiedCall, message: Message, failure: Failure, attempts: int | None) -> Message | None:
        before: Message = message["result"] if is_object(message.get("result")) else {}
        after = self._result(call, failure, attempts)
        blocks = before.get("content")
        rest = [block for block in blocks if not _is_text(block)] if is_array(blocks) else []
        after["content"] += rest
        meta: Message = before["_meta"] if is_object(before.get("_meta")) else {}
        if META_KEY in meta and blocks == after["content"] and before.get("isError") is after["isError"]:
            return None  # a server that speaks as we do
        result: Message = {**before, **after, "_meta": {**meta, **after["_meta"]}}
        original: Message = {"error": message["error"]} if "error" in message else {"content": blocks}
        if "structuredContent" in before and self.tools.get(call.tool).has_output_schema:
            # Widespread clients check it against the schema even in errors, and throw the error away.
            original["structuredContent"] = result.pop("structuredContent")
        result["_meta"][ORIGINAL_KEY] = _safe(_plainly(original), failure, after["_meta"][META_KEY]["message"])
        return {**{key: value for key, value in message.items() if key != "error"}, "result": result}

    def _result(self, call: ProxiedCall, failure: Failure, attempts: int | None) -> Message:
        has_schema = self.tools.get(call.tool).has_output_schema
        result = encode(failure, self.dialect, output_schema=has_schema, attempts=attempts)
        return {**result, "resultType": "complete"} if call.is_modern else result

    def _message(self, call: ProxiedCall, result: Message) -> Message:
        return {"jsonrpc": "2.0", "id": call.id, "result": result}


def tried(attempts: int | None) -> dict[str, int]:
    """Return what is told of the end of a call that was tried so often."""
    return {} if attempts is None else {"attempts": attempts}


def hints_of(tool: ListedTool) -> Hints:
    """Return whether a tool may run twice; nothing is promised by annotations that make no sense."""
    return Hints.of(tool.annotations if is_object(tool.annotations) else None)


def _has_succeeded(message: Message) -> bool:
    result = message.get("result")
    return is_object(result) and result.get("isError") is not True


def _is_text(block: Any) -> bool:
    return is_object(block) and block.get("type") == "text"


def _safe(original: Message, failure: Failure, message: str) -> Message:
    if original == {"text": failure.message} and len(message) == len(failure.message):
        return {"text": message}  # it was made safe for the failure already
    found: Message = json_safe(original, text_limit=_LONGEST_ORIGINAL, text_total=2 * _LONGEST_ORIGINAL)
    return found


def _plainly(original: Message) -> Message:
    """Return an answer with one text as just that text."""
    blocks = original.get("content")
    if not is_array(blocks):
        return original
    texts = [block["text"] for block in blocks if _is_text(block) and isinstance(block.get("text"), str)]
    rest = {key: value for key, value in original.items() if key != "content"}
    return {"text": "\n".join(texts), **rest}
