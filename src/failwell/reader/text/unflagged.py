"""Tell an error that nobody flagged from a result that speaks of errors."""

import re

from failwell.dialects import json_text
from failwell.reader.text import bodies, evidence
from failwell.reader.text.context import Context
from failwell.reader.text.finding import Finding

_LONGEST = 2000
_MOST_LINES = 15
_LONGEST_HEADLINE = 600
_LONGEST_SENTENCE = 300
_SURE = 0.8

# How a program begins when all it has to say is that it failed; a sentence that goes on like prose is none.
_START = r"[^\w\[\](){}\"'`<|]{0,8}"
_OPENING = re.compile(
    _START + r"(?:\[?(?:[A-Za-z][\w.-]{0,40} ){0,3}(?:[Ee]rror|ERROR|Exception|Failure|Failed)(?:\]|\*\*|\))? ?[:\-–—]"
    r"|\w{0,40}(?:Error|Exception): "
    r"|Error (?:[a-z]+ing|in|from|while|during|occurred|\d{3})\b[^\n]{0,200}?:"
    r"|An? (?:[a-z]+ ){0,2}(?:error|exception) (?:occurred|has occurred|happened)"
    r"|(?:Failed|Unable) to [a-z]|Could ?n[o']t [a-z]|Could not [a-z]|Cannot [a-z]|Can't [a-z]|Can not [a-z]"
    r"|(?:Invalid|Unknown|Unsupported|Unrecognized|Missing|Illegal)(?: [\w'\"`/-]{2,40}){1,3}(?:[:.!(]|$)"
    r"|(?:Access|Permission|Authentication|Authorization|Request|Query|Command|Connection|Operation|Validation|Tool)"
    r" (?:is |was |has |execution |call )?(?:denied|failed|refused|required|timed out|not allowed|error)"
    r"(?: ?[:.,!(–—-]| for | to | by |$)"
    r"|No such |Not found(?:[:.]|$)|Traceback \(most recent call last\)|(?:fatal|error|panic): )"
)
_EMPTY_ANSWER = re.compile(
    r"\W{0,6}(?:no|0|zero)\b(?! such)[^\n]{0,80}\b(?:found|match|matches|matched|results?|available|yet)\b", re.I
)
# Lines of a log or a document: a time stamp, a level, a bullet, a heading, code.
_LISTED = re.compile(
    r"\s{0,8}(?:\[?\d{4}-\d\d-\d\d|\[?\d\d:\d\d:\d\d|\[?(?:INFO|DEBUG|WARN|WARNING|TRACE|NOTICE)\b"
    r"|#{1,6} |[-*•] |\d{1,4}[.:)|] |[|>])"
)
_DONT_KNOW = Finding(rule="begins like an error", code="TOOL_ERROR", confidence=0.75, retryable=None)


def find(text: str, context: Context) -> Finding | None:
    """Return what a text that nobody flagged fails with; None unless it is surely an error and nothing else."""
    text = text.strip()
    if not text or len(text) > _LONGEST:
        return None
    if text[0] in "{[":
        payload = json_text.parse(text)
        if payload is not None:
            if bodies.declares_error(payload):
                return evidence.weigh(text, context) or _DONT_KNOW
            text = (bodies.only_text(payload) or "").strip()
            if not text:
                return None
    headline, _, rest = text.partition("\n")
    if len(headline) > _LONGEST_HEADLINE or _LISTED.match(headline) or _EMPTY_ANSWER.match(headline):
        return None
    if _is_echo(text, context):
        return None
    is_opening = _OPENING.match(headline) is not None
    if is_opening and (found := evidence.by_validator(text, context)) and found.fields:
        return found
    lines = [line for line in rest.split("\n") if line.strip()]
    if len(lines) > _MOST_LINES or any(_LISTED.match(line) or _OPENING.match(line) for line in lines):
        return None
    if is_opening:
        return evidence.weigh(text, context) or _DONT_KNOW
    if lines or len(text) > _LONGEST_SENTENCE or not context.is_known:
        return None
    found = evidence.weigh(text, context)
    return found if found and found.confidence >= _SURE and _speaks_of(text, context) else None


def _speaks_of(text: str, context: Context) -> bool:
    """Tell whether a sentence is about what the caller sent, and not what was found there."""
    return any(isinstance(value, str) and len(value) > 3 and value in text for _, value in context.values)


def _is_echo(text: str, context: Context) -> bool:
    """Tell whether a text is little else than a sentence that the caller sent."""
    values = (value.strip() for _, value in context.values if isinstance(value, str) and " " in value)
    return any(2 * len(value) > len(text) and value in text for value in values)
