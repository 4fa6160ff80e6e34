"""What the result of a failed call may say: to a model, which sees its text alone, and to a program that reads it."""

import re
from functools import cache
from typing import Any

import failwell as fw
from failwell.advice import advised
from tests.agreement.cases import ATTEMPTS, HINTS, POLICIES, Disagreements, crossed

ADVICE = fw.Policy(trust_inferred=True)
_POLICIES = [policy for _ in ATTEMPTS for policy in POLICIES.values()]
MAY_CALL = ("retry", "wait", "fix_input", "use")
MAY_REPEAT = ("retry", "wait")

# Warnings, and a delay that the server states: when, not whether.
_NO_INVITATION = re.compile(
    r"(do not repeat|check before|before deciding whether to|before calling)[^.]*",
    re.IGNORECASE | re.MULTILINE,
)
_REPEAT = re.compile(r"same call again|\brepeat\b|try again|\bretry\b", re.IGNORECASE)
_CALL = re.compile(r"call (again|the tool|one)|calling (it|again)|to your request", re.IGNORECASE)


@cache
def our_sentences() -> tuple[str, ...]:
    """Return every sentence that `decide` words or the catalog holds, those that contain others first."""
    found = {row.suggestion for row in fw.codes.rows() if row.suggestion}
    for tool, failure in crossed():
        for attempt in ATTEMPTS[::2]:
            suggestion = fw.decide(failure, HINTS[tool], attempt=attempt, policy=ADVICE).suggestion
            assert suggestion is not None
            found.add(suggestion)
    assert all(re.fullmatch(r"[\w .,:']+", sentence) for sentence in found), "dialects would escape them"
    return tuple(sorted(found, key=len, reverse=True))


def sentences_in(text: str) -> list[str]:
    found: list[str] = []
    for sentence in our_sentences():
        if sentence in text:
            found.append(sentence)
            text = text.replace(sentence, "")
    return found


def text_of(result: dict[str, Any]) -> str:
    texts = [block["text"] for block in result["content"]]
    assert len(texts) == 1
    return str(texts[0])


def without_meta(result: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != "_meta"}


_DECISIVE = (
    "type",
    "code",
    "recoverable",
    "retryable",
    "outcome",
    "retry_after",
    "severity",
    "actions",
    "fields",
    "origin",
)


def verdicts(failure: fw.Failure, tool: str) -> tuple[str, ...]:
    """Return the actions that are decided for each attempt and policy."""
    return _verdicts(tool, tuple(getattr(failure, name) for name in _DECISIVE))


@cache
def _verdicts(tool: str, values: tuple[Any, ...]) -> tuple[str, ...]:
    failure = fw.Failure(message="m", **dict(zip(_DECISIVE, values, strict=True)))
    return tuple(
        fw.decide(failure, HINTS[tool], attempt=attempt, policy=policy).action
        for attempt in ATTEMPTS
        for policy in POLICIES.values()
    )


def check_wire(found: Disagreements, result: dict[str, Any], failure: fw.Failure, tool: str, *where: Any) -> None:
    """Check a result that tells of a failure of this tool.

    Args:
        found: gets what does not agree.
        result: as it arrives on the wire.
        failure: as it was known to whoever wrote the result.
        tool: its name says what is known of it.
        where: tells which case it is.
    """
    hints = HINTS[tool]
    text = text_of(result)
    where = (tool, *where, failure, text)
    worded = advised(failure, hints)
    said = sentences_in(text)
    due = [] if worded.suggestion is None else [worded.suggestion]
    if text.startswith("<validation_error"):  # its recovery is the contract's, which says what its row says
        due = [sentence for sentence in due if sentence != fw.codes.explain("VALIDATION_FAILED").suggestion]
    whole = fw.read(result)
    assert whole is not None
    # As the contract promises, it says how to sign in again; what another server wrote is passed on as it is.
    if text.startswith('{"error":"auth_required"') and whole.origin in ("declared", "mapped"):
        due = due or [fw.codes.explain("UNAUTHORIZED").suggestion]
    found.check(said == due, "sentences", *where, said, due)

    verdict = fw.decide(failure, hints, policy=ADVICE)
    words = _NO_INVITATION.sub("", text.replace(failure.message, ""))
    repeats = _REPEAT.search(words)
    found.check(not repeats or verdict.action in MAY_REPEAT, "an invitation to repeat", *where, verdict.action)
    calls = _CALL.search(words)
    found.check(not calls or verdict.action in MAY_CALL, "an invitation to call", *where, verdict.action)

    found.check(verdicts(whole, tool) == verdicts(failure, tool), "verdict of a reader", *where, whole)
    stripped = fw.read(without_meta(result))
    if stripped is None:
        found.check(result["isError"] is False, "a failure that is not read", *where)
        return
    # What nothing is known of may be tried again on a tool that is safe to run twice, and what was read from the
    # server's words by who trusts them, unless ours are below.
    is_guess = stripped.origin == "inferred"
    pairs = zip(_POLICIES, verdicts(failure, tool), verdicts(stripped, tool), strict=True)
    unsafe = [
        policy
        for policy, ours, theirs in pairs
        if theirs == "retry" != ours
        and not (is_guess and (hints.repeatable or policy.repeatable or (policy.trust_inferred and not said)))
    ]
    found.check(not unsafe, "a retry by a reader without _meta", *where, unsafe, stripped)
