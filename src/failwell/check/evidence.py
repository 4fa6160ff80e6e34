"""`Evidence`: everything about one call and its answer that the grades look at."""

import re
from collections.abc import Collection
from typing import Any

from msgspec import Struct

from failwell._json import is_array, is_object
from failwell.advice import is_guess
from failwell.check.probes.probe import Probe
from failwell.check.report import Ending
from failwell.dialects._placement import META_KEY, read_whole
from failwell.failure import Failure, last_key
from failwell.reading.flat_text import Reading
from failwell.reading.reader import explain

_AWAY = frozenset(
    (
        *("CONNECTION_REFUSED", "CONNECTION_FAILED", "CONNECTION_LOST", "CONNECT_TIMEOUT", "DNS_TEMPORARY"),
        "HOST_NOT_FOUND",
    )
)
_STATUSES = frozenset((502, 503, 504))
_WORD_ENDS = r"(?<![A-Za-z0-9_]){}(?![A-Za-z0-9_])"


class ProbeAnswer(Struct, frozen=True, kw_only=True):
    """The JSON-RPC answer to one call, or None with the ending that took its place."""

    response: dict[str, Any] | None
    seconds: float
    ending: Ending | None = None
    alive: bool = True


class Evidence(Struct, frozen=True, kw_only=True):
    """One provoked call and all that its answer says.

    `failure` is read from the whole answer, `from_text` from the text alone; of the tool's schema only the names of
    its fields are known, so what the error does not say is not known. `is_structured` says whether a program could
    read it without guessing. `again` is the failure of the same call made once more. `tools` are the names of the
    tools that exist, for a call of one that does not.
    """

    probe: Probe
    ending: Ending
    text: str
    failure: Failure | None
    is_structured: bool
    from_text: Failure | None
    text_is_structured: bool
    is_protocol_error: bool
    seconds: float
    alive: bool
    tools: tuple[str, ...] = ()
    again: Failure | None = None
    repaired: dict[str, Any] | None = None

    @property
    def is_tolerated(self) -> bool:
        """Whether the server took no notice of what many servers tolerate: then there is nothing to grade."""
        if not self.probe.may_be_ignored or self.ending in ("hung", "crashed"):
            return False
        problems = self.failure.fields if self.failure else ()
        pointed = any(last_key(problem.path) in self.probe.named for problem in problems)
        return not pointed and not (self.failure is not None and all(map(self.says, self.probe.named)))

    @property
    def is_backend_away(self) -> bool:
        """Whether the server only says that it cannot reach its backend, which tells nothing of its own words."""
        failure = self.failure
        if failure is None or is_guess(failure):
            return False
        return failure.code in _AWAY or (failure.type == "TRANSIENT" and failure.http_status in _STATUSES)

    @property
    def is_refused_as_wrong(self) -> bool:
        """Whether the call was surely refused because its input is wrong, before the tool did anything."""
        return (
            self.ending == "refused" and self.alive and self.failure is not None and self.failure.type == "VALIDATION"
        )

    def says(self, words: str) -> bool:
        """Tell whether the text holds a word or phrase, in any case."""
        if not words:
            return False
        pattern = _WORD_ENDS.format(re.escape(words.casefold()))
        return re.search(pattern, self.text.casefold()) is not None


def read_evidence(
    probe: Probe, answer: ProbeAnswer, *, fields: Collection[str] = (), tools: tuple[str, ...] = ()
) -> Evidence:
    """Return what an answer to a call of a tool with these fields says."""
    response = answer.response
    if response is None:
        return Evidence(
            probe=probe, ending=answer.ending or "crashed", text="", failure=None, is_structured=False, from_text=None,
            text_is_structured=False, is_protocol_error=False, seconds=answer.seconds, alive=answer.alive, tools=tools,
        )  # fmt: skip
    # The names of the fields and nothing else: what is wrong, the error must say.
    names: dict[str, Any] = {"properties": {name: {} for name in fields}, "additionalProperties": True}
    known: dict[str, Any] = {"tool": probe.tool, "arguments": probe.arguments, "input_schema": names}
    found = explain(response, **known, unflagged=True)
    text = _text_of(response)
    alone = explain({"content": [{"type": "text", "text": text}], "isError": True}, **known) if found else None
    return Evidence(
        probe=probe,
        ending=_ending(response, found),
        text=text,
        failure=found.failure if found else None,
        is_structured=_has_our_failure(response) or _is_structured(found),
        from_text=alone.failure if alone else None,
        text_is_structured=_is_structured(alone),
        is_protocol_error=is_object(response.get("error")),
        seconds=answer.seconds,
        alive=answer.alive,
        tools=tools,
    )


def _ending(response: dict[str, Any], found: Reading | None) -> Ending:
    result = response.get("result")
    if found is None:
        return "accepted"
    is_flagged = not is_object(result) or result.get("isError") is True or found.failure.severity == "warning"
    return "refused" if is_flagged else "unflagged"


def _has_our_failure(response: dict[str, Any]) -> bool:
    result = response.get("result")
    meta = result.get("_meta") if is_object(result) else None
    return is_object(meta) and read_whole(meta.get(META_KEY)) is not None


def _is_structured(reading: Reading | None) -> bool:
    """Tell whether a failure was read and not guessed. What nobody could guess has no rule either."""
    return reading is not None and reading.rule is None and reading.failure.confidence != 0


def _text_of(response: dict[str, Any]) -> str:
    """Return the text that a model sees of an answer."""
    error = response.get("error")
    if is_object(error):
        return str(error.get("message", ""))
    result = response.get("result")
    blocks = result.get("content") if is_object(result) else None
    texts = [block.get("text") for block in blocks if is_object(block)] if is_array(blocks) else []
    return "\n".join(text for text in texts if isinstance(text, str))
