"""Grades: what makes a failure a good one. Each is a row of the table with its weight, judged without I/O.

A judge returns True, or the reason why not, or None where the question does not arise.
"""

import json
import re
from collections.abc import Callable
from typing import NamedTuple

from failwell.advice import decide, is_guess
from failwell.check.evidence import Evidence
from failwell.check.report import Channel, GradeResult
from failwell.failure import Failure, last_key, path_keys
from failwell.redact.scrubber import scrub

SLOWEST = 2.0
"""The number of seconds that may pass until a wrong call is refused."""

MOST_CHARACTERS = 2_000
"""The length that the text of one failure may have."""

Verdict = bool | str | None

_NO_FAILURE = "there is no failure to read"
_ONLY_WORDS = "only plain text: a program has to guess"
_NOT_FLAGGED = {
    "unflagged": "the error is sent as a success: without isError, hosts and agents take it for the result",
    "accepted": "the call succeeded, though its arguments break the tool's own schema",
    "hung": "there was no answer in time",
    "crashed": "the server ended without an answer",
}
_RETRY = re.compile(
    r"\b(?:retry|retries|retried|retryable|retrying|repeat|once more"
    r"|(?:try|call|send|use|run)(?: \w+){0,3} again|(?:re|un)recoverable|wait \w+)\b",
    re.IGNORECASE,
)
_INVITES_REPEAT = re.compile(
    r"\b(?:re)?try(?:ing)?(?: \w+){0,3} later\b|\blater\b[^.]{0,20}\b(?:re)?try|\btemporar(?:y|ily)\b"
    r"|\bin a (?:moment|minute)\b",
    re.IGNORECASE,
)
# An instruction: at the beginning of a sentence, or addressed to the reader. "Invalid use of call" is none.
_VERBS = (
    r"(?:try|use|provide|choose|check|add|remove|fix|correct|pass|specify|set|supply|call|send|include|see|run|create"
    r"|retry|repeat|wait|do not|don't)"
)
_INSTRUCTION = re.compile(
    rf"(?:^|[.;:!?)\n][\s*-]*|\bplease |\byou (?:can|could|may|should|must|need to) |\bto fix[^.]{{0,20}}, ){_VERBS}\b"
    r"|\bdid you mean\b|\b(?:must|should) be (?:one of|an?|at|in|between|the)\b|\bexpected one of\b"
    r"|\b(?:available|valid|allowed|supported|known) (?:\w+ )?(?:are|is|values|options|tools)\b",
    re.IGNORECASE | re.MULTILINE,
)
ADDRESS_OF_MANUAL = "the address of a library's manual"
_INTERNALS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a traceback", re.compile(
        r"Traceback \(most recent call last\)|^\s+at .{1,200}[:(]\d+:\d+\)?\s*$|File \"[^\"\n]+\", line \d",
        re.MULTILINE)),
    ("one of the server's own paths", re.compile(
        r"(?<![\w:/.])/(?:home|usr|root|opt|var|app|srv|Users|workspace)/[\w.@+-]+/[^\s\"'`,;)]+"
        r"|\bsite-packages\b|\bnode_modules\b|(?<!\w)[A-Z]:\\[\w.]+\\[^\s\"'`,;)]+")),
    (ADDRESS_OF_MANUAL, re.compile(
        r"https?://(?:errors\.pydantic\.dev|docs\.pydantic\.dev|zod\.dev|json-schema\.org|docs\.python\.org"
        r"|nodejs\.org|developer\.mozilla\.org)\S*")),
)  # fmt: skip
_STEPS = {"VALIDATION": ("fix_input", "use"), "NOT_FOUND": ("use", "fix_input", "stop")}
_NEEDS_DELAY = ("RATE_LIMITED",)


# The call: is it flagged, is it a tool's error, was it quick, does the server live, can it be corrected?


def _is_flagged(evidence: Evidence) -> Verdict:
    if evidence.ending == "accepted" and evidence.tools:
        return "the call succeeded, though there is no such tool"
    return _NOT_FLAGGED.get(evidence.ending, True)


def _is_tool_error(evidence: Evidence) -> Verdict:
    """Judge whether wrong arguments are answered with a tool error, which a model sees."""
    if not evidence.probe.breaks_schema or evidence.failure is None or evidence.ending != "refused":
        return None
    if evidence.is_protocol_error:
        return "a JSON-RPC error: many hosts never show it to the model (SEP-1303 asks for a tool error)"
    return True


def _is_alive(evidence: Evidence) -> Verdict:
    return True if evidence.alive else "the server stopped answering after this call"


def _is_quick(evidence: Evidence) -> Verdict:
    if evidence.ending == "hung":
        return "there was no answer in time"
    return True if evidence.seconds <= SLOWEST else f"it took {evidence.seconds:.1f} s, more than {SLOWEST:g} s"


def _is_repairable(evidence: Evidence) -> Verdict:
    """Judge whether an agent who knows only the error can make the call that was meant."""
    if not evidence.probe.breaks_schema and not evidence.tools:
        return None
    if evidence.repaired is not None:
        return True
    return "an agent that changes only what the error names cannot fix the call"


# The text that a model sees.


def _names_field(evidence: Evidence) -> Verdict:
    if not evidence.probe.named:
        return None
    if evidence.failure is None:
        return _NO_FAILURE
    absent = [name for name in evidence.probe.named if not evidence.says(name)]
    return True if not absent else f"the text does not name {', '.join(absent)}"


def _says_expected(evidence: Evidence) -> Verdict:
    if not evidence.probe.expected:
        return None
    if evidence.failure is None:
        return _NO_FAILURE
    if any(map(evidence.says, evidence.probe.expected)):
        return True
    return f"the text does not say what is expected, such as {evidence.probe.expected[0]!r}"


def _lists_options(evidence: Evidence) -> Verdict:
    if evidence.tools:
        known = any(map(evidence.says, evidence.tools))
        return _NO_FAILURE if evidence.failure is None else known or "the text names no tool that exists"
    if not evidence.probe.options:
        return None
    if evidence.failure is None:
        return _NO_FAILURE
    absent = [option for option in evidence.probe.options if not evidence.says(option)]
    return True if not absent else f"the text does not list {', '.join(absent)}"


def _is_safe(evidence: Evidence) -> Verdict:
    """Judge whether the text keeps the server's internals to itself."""
    if evidence.failure is None:
        return None
    sent = json.dumps(evidence.probe.arguments)
    for what, pattern in _INTERNALS:
        if any(found[0] not in sent for found in pattern.finditer(evidence.text)):
            return f"the text contains {what}"
    is_clean = scrub(evidence.text) == evidence.text
    return True if is_clean else "the text holds something that looks like a secret"


def _says_next_step(evidence: Evidence) -> Verdict:
    """Judge whether the text holds a next step: an instruction, a delay, or the wrong field and what it should be.

    The form does not count: a structured text without a next step has none.
    """
    failure = evidence.from_text
    if failure is None:
        return _NO_FAILURE
    fitting = {step for type_ in evidence.probe.types for step in _STEPS.get(type_, ())}
    action = decide(failure).action
    if evidence.text_is_structured and fitting and action not in fitting and not failure.suggestion:
        return f"an agent that reads it would {action.replace('_', ' ')} instead of fixing the call"
    if failure.suggestion or failure.actions or failure.retry_after is not None:
        return True
    corrections = [problem for problem in failure.fields if problem.expected or problem.options or problem.did_you_mean]
    names = _names_field(evidence) is True and _says_expected(evidence) in (True, None)
    if corrections or names or _INSTRUCTION.search(evidence.text):
        return True
    return "the text does not say what to do next"


def _is_understood(failure: Failure) -> bool:
    """Return whether words are clear enough to know if the same call may succeed later."""
    return failure.retryable is not None and not is_guess(failure)


def _says_retry(evidence: Evidence) -> Verdict:
    """Judge whether a reader of the text learns if the same call may be made again, and whether that is true.

    Clear words are enough. A call that breaks the schema can never succeed: a text that invites to repeat it is wrong.
    """
    failure = evidence.from_text
    if failure is None:
        return _NO_FAILURE
    if evidence.probe.breaks_schema and _invites_repeat(evidence, failure):
        return "the text invites the agent to repeat a call that can never succeed"
    if failure.code in _NEEDS_DELAY and failure.retry_after is None:
        return "the text does not say how long to wait"
    # Another next step tells as much as words do: not to repeat this call.
    says_otherwise = failure.suggestion is not None or _INSTRUCTION.search(evidence.text) is not None
    if _is_understood(failure) or says_otherwise or _RETRY.search(evidence.text):
        return True
    return "the text does not say whether to try again"


def _invites_repeat(evidence: Evidence, failure: Failure) -> bool:
    states = failure.retryable is True and (evidence.text_is_structured or not is_guess(failure))
    return states or _INVITES_REPEAT.search(evidence.text) is not None


def _is_short(evidence: Evidence) -> Verdict:
    if evidence.failure is None:
        return None
    length = len(evidence.text)
    return True if length <= MOST_CHARACTERS else f"{length:,} characters, more than {MOST_CHARACTERS:,}"


# What programs read: `_meta`, structured content, or a text that is structured itself.


def _is_typed(evidence: Evidence) -> Verdict:
    """Judge whether a program learns the type and the code of the failure, and whether they fit."""
    failure = evidence.failure
    if failure is None:
        return _NO_FAILURE
    if not evidence.is_structured:
        return _ONLY_WORDS
    if failure.code is None:
        return "no code"
    if evidence.probe.types and failure.type not in evidence.probe.types:
        return f"the type is {failure.type}, not {' or '.join(evidence.probe.types)}"
    if evidence.probe.code is not None and failure.code != evidence.probe.code:
        return f"the code is {failure.code}, not {evidence.probe.code}"
    return True


def _points_to_field(evidence: Evidence) -> Verdict:
    if not evidence.probe.breaks_schema or not evidence.probe.named:
        return None
    if evidence.failure is None or not evidence.is_structured:
        return _NO_FAILURE if evidence.failure is None else _ONLY_WORDS
    fields = evidence.failure.fields
    known = {last_key(problem.path) for problem in fields}
    known |= {key for problem in fields for key in path_keys(problem.path) if isinstance(key, str)}
    absent = [name for name in evidence.probe.named if name not in known]
    return True if not absent else f"no field problem for {', '.join(absent)}"


def _has_retry_flag(evidence: Evidence) -> Verdict:
    if evidence.failure is None:
        return _NO_FAILURE
    if not evidence.is_structured:
        return _ONLY_WORDS
    return True if evidence.failure.retryable is not None else "nothing says whether the same call may succeed later"


def _has_stable_code(evidence: Evidence) -> Verdict:
    if evidence.failure is None or evidence.again is None or not evidence.is_structured:
        return None
    before, after = _code_or_type(evidence.failure), _code_or_type(evidence.again)
    return True if before == after else f"the same call failed first with {before}, then with {after}"


def _code_or_type(failure: Failure) -> str:
    return failure.code or failure.type


class Grade(NamedTuple):
    """A grade: its name, where it looks, how much it counts, what holds if it is reached, and what judges it."""

    name: str
    channel: Channel
    weight: int
    title: str
    judge: Callable[[Evidence], Verdict]


GRADES: tuple[Grade, ...] = (
    Grade("flagged", "call", 15, "the failure is flagged as an error", _is_flagged),
    Grade("tool_error", "call", 5, "a tool error, which models see, not a protocol error", _is_tool_error),
    Grade("alive", "call", 6, "the server still answers", _is_alive),
    Grade("speed", "call", 3, f"refused within {SLOWEST:g} s", _is_quick),
    Grade("repairable", "call", 14, "an agent that knows only the error can fix the call", _is_repairable),
    Grade("names_field", "text", 10, "the text names what is wrong", _names_field),
    Grade("says_expected", "text", 8, "the text says what was expected", _says_expected),
    Grade("lists_options", "text", 6, "the text lists what can be chosen", _lists_options),
    Grade("safe", "text", 12, "no traceback, path, secret or library address in the text", _is_safe),
    Grade("next_step", "text", 8, "the text says what to do next", _says_next_step),
    Grade("says_retry", "text", 5, "the text says correctly whether to try again", _says_retry),
    Grade("size", "text", 3, f"at most {MOST_CHARACTERS:,} characters", _is_short),
    Grade("typed", "machine", 10, "type and code can be read by a program", _is_typed),
    Grade("field_path", "machine", 4, "the wrong field can be read by a program", _points_to_field),
    Grade("retry_flag", "machine", 4, "whether to try again can be read by a program", _has_retry_flag),
    Grade("stable_code", "machine", 4, "the same call fails with the same code", _has_stable_code),
)
"""The text that a model sees and what programs read are graded apart."""


def grade_call(evidence: Evidence) -> tuple[GradeResult, ...]:
    """Return the grades of one call; none for a call that many servers tolerate, or that an absent backend answered."""
    if evidence.is_tolerated or evidence.is_backend_away:
        return ()
    results: list[GradeResult] = []
    for grade in GRADES:
        verdict = grade.judge(evidence)
        if verdict is not None:
            passed = verdict is True
            reason = grade.title if passed else str(verdict)
            results.append(
                GradeResult(grade=grade.name, channel=grade.channel, passed=passed, weight=grade.weight, reason=reason)
            )
    return tuple(results)
