"""Plain text: what an unstructured error text says, by which rule, and how certain that is."""

import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from failwell import codes
from failwell._lazy import lazy_pattern
from failwell.advice import stated_by
from failwell.dialects._meta import ADVICE_MARKS, split_advice
from failwell.failure import Failure, FieldProblem
from failwell.phrases import results, texts
from failwell.phrases.effects import find_some, tells_of_effect
from failwell.phrases.http_codes import BEFORE_STATUS, REASONS, VAGUE_STATUSES, meaning_of_status
from failwell.phrases.language import Match, plain
from failwell.phrases.meanings import fields_of
from failwell.phrases.rpc_codes import GRPC, INVALID_PARAMS, RECEIVED, relays_lost_session
from failwell.phrases.system_codes import code_of_smtp_reply
from failwell.phrases.vendor_codes import known_code
from failwell.reading import validators
from failwell.reading.blame import ADDRESS, complete_finding, find_blamed_arguments, is_final, written_names
from failwell.reading.bodies import Body, find_body
from failwell.reading.classifier import classify
from failwell.reading.context import Context, Finding
from failwell.reading.validators import add_schema_facts
from failwell.redact.canonical import CleanMessage, clean_message

CERTAIN = 0.7
"""Below this confidence nothing is claimed."""

# pydantic repeats the address of its manual under each problem.
_ADVERT = "For further information visit https://"
_ADVERTS = lazy_pattern(rf"\n? {{0,8}}{_ADVERT}\S{{1,200}}")
# The frames of a traceback tell about the inside of a server; its last line says what happened.
_TRACEBACK = "Traceback (most recent call last):"
_FRAMES = lazy_pattern(re.escape(_TRACEBACK) + r"(?:\n[ \t][^\n]*+)*+\n?")
_NOTHING_SAID = "The tool reported an error without saying which."


class Reading(Struct, frozen=True):
    """A failure, and the rule that found it; the rule is None where the failure carried structure.

    `cleaned` is the text that it was read from, if that was cleaned: mostly its message. `attempts` says how often
    whoever sent it has tried the call, 0 if it does not say. `words` are what the rule knows it by: words, a code, a
    status. `place` is the part of the payload that holds the whole failure, if one does.
    """

    failure: Failure
    rule: str | None = None
    sign: Any = None
    cleaned: CleanMessage | None = None
    attempts: int = 0
    words: str | None = None
    place: str | None = None


def read_error_text(text: str, context: Context, found: Finding | None = None) -> Reading:
    """Return the failure that an error text tells of, and the rule that says so; *found* is what is known of it."""
    context.safe_text = cleaned = safe_message(text)
    if found is not None or not any(map(text.__contains__, ADVICE_MARKS)):
        return _reading(context, found or find_cause(text, context), cleaned)
    context.safe_text, said = split_advice(context.safe_text)
    reading = _reading(context, find_cause(split_advice(text)[0], context))
    # Whoever gets nothing but the text is not to make a call again that the text says not to repeat.
    failure = reading.failure.replace(**said, **stated_by(said.get("suggestion", "")))
    return Reading(failure, reading.rule, words=reading.words)


def safe_message(text: str) -> CleanMessage:
    """Return a text as a message: cleaned, and without what only fills it."""
    return clean_message(without_filling(text))


def without_filling(text: str, *, keeps_frames: Callable[[], bool] = lambda: False) -> str:
    """Return an error text without the addresses of manuals, and without the frames of tracebacks."""
    if _ADVERT in text:
        text = _ADVERTS.sub("", text)
    if _TRACEBACK in text and not keeps_frames():
        text = _FRAMES.sub("", text)
    return text


def _reading(context: Context, found: Finding | None, cleaned: CleanMessage | None = None) -> Reading:
    message = context.safe_text or _NOTHING_SAID
    if found is None or found.confidence < CERTAIN:
        return _doubtful(message, context, found, cleaned)
    return Reading(_failure(message, context, found), found.rule, cleaned=cleaned, words=found.words)


def _doubtful(message: str, context: Context, found: Finding | None, cleaned: CleanMessage | None) -> Reading:
    """Return a failure that was not understood: at most, it has a likely type.

    Whether another call is worth making is unknown; to deny it would be a claim.
    """
    failure = Failure(
        message=message,
        type=(found.type if found else None) or "INTERNAL",
        outcome="unknown",
        recoverable=True,
        retryable=False if is_final(message) else None,
        tool=context.tool,
        origin="inferred",
        confidence=found.confidence if found else 0.0,
    )
    return Reading(failure, found.rule if found else None, cleaned=cleaned, words=found.words if found else None)


def _failure(message: str, context: Context, found: Finding) -> Failure:
    derived = codes.derive(found.code, found.type)
    return Failure(
        message=message,
        code=found.code,
        type=derived.type,
        outcome=found.outcome or derived.outcome,  # advice: an automatic retry trusts it only if the policy does
        retryable=derived.retryable if found.retryable is UNSET else found.retryable,
        fields=found.fields,
        retry_after=found.retry_after,
        http_status=found.http_status,
        suggestion=_hint(message, found),
        tool=context.tool,
        origin="inferred",
        confidence=found.confidence,
    )


_HINT = lazy_pattern(
    r"(?:^|(?<=[\n.;!?]))[ \t]{0,8}(?:(?i:hint|tip):[ \t]{0,8}([^\n]{3,300})"
    r"|((?:(?:Perhaps|Maybe) you meant|Did you mean:?) [^\n]{2,200}))"
)
_HINT_WORDS = ("hint:", "tip:", "you mean")


def _hint(message: str, found: Finding) -> str | None:
    """Return the correction that a text itself proposes: `HINT: Perhaps you meant …`. A hint to repeat is none."""
    if found.confidence < CERTAIN or _type_of(found) not in ("VALIDATION", "NOT_FOUND"):
        return None
    low = message.lower()
    hint = _HINT.search(message) if any(map(low.__contains__, _HINT_WORDS)) else None
    return None if hint is None or tells_of_effect(message) else (hint[1] or hint[2]).strip()


_HEAD, _TAIL = 3000, 1000
_MASK = "<>"
_VALIDATOR_CONFIDENCE = 0.95
_WORDED_CONFIDENCE = 0.9  # hand-written checks use the words that others use for something else
_SCHEMA_CONFIDENCE = 0.85
_SOME_CONFIDENCE = 0.8
_CLEAR = 0.88
_TELLING = 0.85  # enough beside a 400, which many services send for everything
BY_SCHEMA, SOME_OF_MANY = "arguments against schema", "some of many items"
"""Rules that say nothing of whether a text is an error: the schema does not read it, and a success may count, too."""
_RPC = lazy_pattern(rf"MCP error {INVALID_PARAMS}\b")
_CODE_OF_KIND = {"missing": "MISSING_REQUIRED_FIELD", "type": "INVALID_FIELD_TYPE"}


def find_cause(text: str, context: Context, *, learned: bool = True) -> Finding | None:
    """Return what a text says, by the rule that is surest of it; None if no rule fits.

    Without *learned*, only rules count: the classifier has learned from failures alone, and knows no other text.
    """
    text = _bounded(text)
    if "ession" in text and relays_lost_session(text):
        return Finding(
            rule="lost session", code="SESSION_LOST", confidence=_STATUS_CONFIDENCE, outcome="unknown",
            words=without_prefixes(text).strip(),
        )  # fmt: skip
    found = about_result(text, context) or by_validator(text, context)
    if found is not None:
        return found
    if " of " in text and (counted := find_some(text)) is not None:
        # Whether those that were done stayed so, words do not say.
        return Finding(
            rule=SOME_OF_MANY, code="PARTIAL_FAILURE", confidence=_SOME_CONFIDENCE, outcome="unknown", words=counted
        )
    body = find_body(text) if "{" in text or "[" in text else None
    said = without_prefixes(body.text if body and body.text else text)
    found = _by_words(said, text, body, context, learned=learned)
    if found is not None and found.rule in _OF_ARGUMENTS and context.names and not found.fields:
        found = None
    if found is None:
        return _by_schema(context) or _by_name(said, context)
    is_of_input = _type_of(found) == "VALIDATION"
    if (is_of_input or found.rule == TOGETHER) and tells_of_effect(said):
        # A call that did something was not refused for its input, and what failed of it is not what is likely.
        return _by_schema(context) or _by_name(said, context)
    if found.confidence >= CERTAIN and found.code not in _OPAQUE:
        return found
    return _by_schema(context) or found


def deciding_phrase(text: str, context: Context) -> str | None:
    """Return the phrase by which the wording of a text is known, if it is; for measuring the rules."""
    match = texts.table().first(plain_words(text, context))
    return match.phrase if match else None


def plain_words(text: str, context: Context) -> str:
    """Return the server's own words in a text, as rules and the classifier compare them; for measuring them."""
    text = _bounded(text)
    body = find_body(text)
    return plain(_masked(without_prefixes(body.text if body and body.text else text), context))


def _bounded(text: str) -> str:
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


# What is the tool's own fault, unless the schema proves that it was called wrongly.
_OPAQUE = frozenset(("INTERNAL_ERROR", "BAD_UPSTREAM_RESPONSE"))
# What they say may be said of anything, unless it is of an argument.
_OF_ARGUMENTS = frozenset(("something is missing",))
_ABOUT_RESULTS = frozenset(rule.name for rule in results.RULES)
_RESULT_RULES = frozenset(rule.name for rule in results.RULES if not rule.blames)
_RESULT_WORDS = ("utput", "tructured", "eturn", "espon", "eply", "/call result")


def about_result(text: str, context: Context) -> Finding | None:
    """Return what a text says about the result of a call; its words are often those of a validator of arguments."""
    if "validation error" in text and (found := validators.about_another_model(text, context)) is not None:
        return found
    if not any(map(text.__contains__, _RESULT_WORDS)):
        return None
    masked = _masked(without_prefixes(text), context)
    said = plain(masked)
    match = texts.table().first(said)
    if match is None or match.rule.name not in _RESULT_RULES:
        return None
    is_certain = match.rule.outcome == "executed"
    return _finding_of(match, said) if is_certain or find_status(masked, context) is None else None


# What SDKs put before the text of an error. It says nothing about the error itself.
SDK_PREFIXES: tuple[tuple[str, str], ...] = (
    # A name may hold blanks if a payload follows; otherwise such words are the server's own.
    (
        "mcp, fastmcp",
        r"Error (?:executing|calling|running) (?:the )?tool (?:[^\s:]{1,200}: |[^\n:]{1,200}: (?=\s*[{<]))",
    ),
    ("mcp, low level", r"Input validation error: "),
    ("TypeScript SDK", r"MCP error -?\d{1,6}: "),
    ("strands", r"Tool execution failed: "),
    ("agent frameworks", r"(?:Tool)?Error: "),
)
_SDK_PREFIX = lazy_pattern("|".join(pattern for _, pattern in SDK_PREFIXES))
_MOST_PREFIXES = 3


def without_prefixes(text: str) -> str:
    """Return an error text without what SDKs put before it; one that has nothing else stays as it is."""
    at = 0
    for _ in range(_MOST_PREFIXES):
        prefix = _SDK_PREFIX.match(text, at)
        if prefix is None or prefix.end() == len(text):
            break
        at = prefix.end()
    return text[at:]


def by_validator(text: str, context: Context) -> Finding | None:
    """Return what a validator's text says about fields, or None if it is none."""
    for family in validators.FAMILIES:
        for gate in family.gates:
            if gate in text:
                break
        else:
            continue
        problems = family.parse(text, context)
        if problems is None:
            continue
        fields = tuple(add_schema_facts(problem, context) for problem in problems) or context.problems
        if fields or family.is_certain:
            rule = f"{family.name} text"
            code = _code_of(fields)
            sure = _VALIDATOR_CONFIDENCE if family.is_certain else _WORDED_CONFIDENCE
            return Finding(rule=rule, code=code, confidence=sure, fields=fields, words=gate.strip())
    return None


def _code_of(fields: tuple[FieldProblem, ...]) -> str:
    kinds = {problem.kind for problem in fields}
    return _CODE_OF_KIND.get(str(next(iter(kinds))), "VALIDATION_FAILED") if len(kinds) == 1 else "VALIDATION_FAILED"


def _by_words(said: str, text: str, body: Body | None, context: Context, *, learned: bool) -> Finding | None:
    masked = _masked(said, context)
    words = plain(masked)
    match = texts.table().first(words)
    if match is not None and codes.derive(match.rule.code, None).type in _OF_OTHERS:
        match = _unless_quoted(match, words)
    worded = match and _finding_of(match, words)
    stated = _with_numbers(worded, masked if body is None else _masked(text, context), body, context)
    stated = stated or _by_number(text)
    if "rpc error: code = " in said:
        stated = _by_rpc_status(stated, said) or stated
    found = stated and complete_finding(stated, said, context)
    if not learned or stated is not worded:
        return found
    if match is not None and worded is not None and (worded.rule in _ABOUT_RESULTS or _says_it_itself(match, worded)):
        return found
    if found is not None and worded is not None and _type_of(found) != _type_of(worded):
        return found  # what was sent decides it
    guessed = _weighed(found, words)
    return complete_finding(guessed, said, context) if guessed is not None and guessed.rule == TOGETHER else guessed


def _with_numbers(worded: Finding | None, masked: str, body: Body | None, context: Context) -> Finding | None:
    """Return what is stated: the words, the status or a code, whichever says more."""
    status = find_status(masked, context)
    if body is None:
        return worded if status is None else _words_or_status(worded, status)
    if status is None and body.status:
        status = finding_of_status(body.status)
    coded = _by_code(body.codes)
    if coded is not None and (status is None or status.http_status in VAGUE_STATUSES):
        return worded if worded is not None and worded.confidence >= 0.9 else coded
    if coded is not None and status is not None and coded.code in (status.code, "QUOTA_EXHAUSTED"):
        return msgspec.structs.replace(status, code=coded.code)
    return worded if status is None else _words_or_status(worded, status)


TOGETHER = "all words together"
"""The rule by which the classifier speaks."""

_SUREST = 0.99
_BLAMING = ("VALIDATION", "NOT_FOUND", "CONFLICT")
_MAY_PASS = ("TRANSIENT", "INTERNAL")
# From here on, a phrase is one that only systems use, such as ECONNREFUSED: however many words stand around it in the
# dump of a command, they say less. At the beginning of a text, a sure phrase is its subject.
_VERBATIM, _SURE = 0.95, 0.9


def _says_it_itself(match: Match, worded: Finding) -> bool:
    return worded.confidence >= (_VERBATIM if match.start else _SURE)


def _type_of(found: Finding) -> codes.Type:
    return codes.derive(found.code, found.type).type


def _weighed(found: Finding | None, words: str) -> Finding | None:
    """Return what a rule found, unless all the words together speak against it; else what these say, if it is clear."""
    type_ = _type_of(found) if found else None
    guess = classify(words, type_, found.confidence if found else 0.0)
    if guess is None or (guess.type == type_ and guess.confidence >= CERTAIN):
        return found
    confidence = min(_SUREST, int(100 * guess.confidence) / 100)  # never rounded up to what counts as certain
    if found is not None and guess.type == type_:
        return Finding(
            rule=found.rule, code=None, type=type_, confidence=confidence, words=found.words
        )  # a likely type
    if guess.type is None or guess.confidence < CERTAIN:
        return None
    return Finding(
        rule=TOGETHER,
        code=None,
        type=guess.type,
        confidence=confidence,
        # That waiting helps does not follow from a likeness, nor that the call had no effect.
        retryable=None if guess.type in _MAY_PASS else False,
        outcome="unknown",
        blames=guess.type in _BLAMING,
    )


_QUOTED = lazy_pattern(r"(?<!\w)[\"'`\u2018“«「]([^\"'`\u2018\u2019“”«»「」\n]{2,80})[\"'`\u2019”»」](?!\w)")
_OF_OTHERS = ("TRANSIENT", "PERMISSION")
_OF_WHAT_WAS_SENT = ("NOT_FOUND", "VALIDATION", "CONFLICT")


def _unless_quoted(match: Match, said: str) -> Match:
    """Return the rule that decides. Quoted words are not the server's own if the rest says what is wrong with them."""
    quoted = (found.span(1) for found in _QUOTED.finditer(said))
    if not any(start <= match.start and match.end <= end for start, end in quoted):
        return match
    other = texts.table().first(_QUOTED.sub(lambda found: found[0][0] + " " * len(found[1]) + found[0][-1], said))
    return other if other is not None and codes.type_of(other.rule.code) in _OF_WHAT_WAS_SENT else match


def _finding_of(match: Match, said: str) -> Finding:
    rule = match.rule
    return Finding(
        rule=rule.name,
        code=rule.code,
        confidence=rule.confidence,
        retryable=rule.retryable,
        outcome=rule.outcome,
        span=(match.start, match.end),
        blames=rule.blames,
        words=said[match.start : match.end],
    )


def _words_or_status(worded: Finding | None, status: Finding) -> Finding:
    """Return what the words say where they are clearer than the status; else what the status says."""
    if worded is None or worded.confidence < (_TELLING if status.http_status == 400 else _CLEAR):
        return status
    type_ = codes.type_of(worded.code)
    is_finer = worded.code == "QUOTA_EXHAUSTED" or type_ == codes.type_of(status.code)
    if type_ != "INTERNAL" and (is_finer or status.http_status in VAGUE_STATUSES):
        return msgspec.structs.replace(worded, http_status=status.http_status)
    return status


def _by_code(stated: tuple[str, ...]) -> Finding | None:
    for code in stated:
        row = codes.get(codes.screaming(code))
        meant = row.code if row else known_code(code)
        if meant:
            return Finding(rule=f"code {code[:40]}", code=meant, confidence=0.9, words=code)
    return None


def _by_number(text: str) -> Finding | None:
    found = _RPC.search(text)
    if found is None:
        return None
    return Finding(rule=f"JSON-RPC {INVALID_PARAMS}", code=RECEIVED[INVALID_PARAMS], confidence=0.8, words=found[0])


_RPC_STATUS = lazy_pattern(r"rpc error: code = (\w{2,30})")


def _by_rpc_status(found: Finding | None, said: str) -> Finding | None:
    """Return what the status of gRPC says that Go puts before its errors, unless the words say more of the same."""
    stated = _RPC_STATUS.search(said)
    code = stated and GRPC.get(codes.screaming(stated[1]))
    if stated is None or not isinstance(code, str):  # of an internal error, the words say more
        return None
    if found is not None and _type_of(found) == codes.type_of(code):
        return None
    return Finding(rule=f"gRPC status {stated[1]}", code=code, confidence=_STATUS_CONFIDENCE, words=stated[0])


def _by_schema(context: Context) -> Finding | None:
    """Return that the arguments do not fit the schema, where the text says nothing clear; how far it got, it hides."""
    wrong = context.proven
    if not wrong:
        return None
    return Finding(rule=BY_SCHEMA, code=_code_of(wrong), confidence=_SCHEMA_CONFIDENCE, fields=wrong, outcome="unknown")


_KEY_ERROR = lazy_pattern(r"(?:KeyError: ?)?'([^'\n]{1,200})'")


def _by_name(said: str, context: Context) -> Finding | None:
    """Return that an argument is refused which the text names, in whatever words; a bare key is Python's KeyError."""
    blank = Finding(rule="an argument by its name", code="INVALID_ARGUMENT", confidence=0.75)
    key = _KEY_ERROR.fullmatch(said.strip())
    named: list[list[str | int]]
    if key is None:
        named = find_blamed_arguments(said, context, blank) if written_names(said, context) else []
    else:
        named = [list(keys) for keys, value in context.values if value == key[1]]
        named.extend([key[1]] for name in context.names if name == key[1])
    if not named or (key and len(named) > 1):
        return None
    return msgspec.structs.replace(blank, fields=tuple(context.problem(keys, "It was refused") for keys in named))


def _masked(text: str, context: Context) -> str:
    """Return a text without addresses and without what the caller sent, whose words are not the server's."""
    if "://" in text:
        text = ADDRESS.sub(_MASK, text)
    if ("Error" in text or "Exception" in text) and any(map(text.__contains__, _HEADS)):
        text = _COMPOUND_NAME.sub(r"\1 ", text)
    if context.tool and len(context.tool) > 3:
        text = text.replace(context.tool, _MASK)
    for _, value in context.values:
        if isinstance(value, str) and len(value) > 3 and value in text:
            text = text.replace(value, _MASK)
    return text


# The last words of a name say what it is: a TimeoutConfigError is about a configuration.
_HEADS = (
    "Config", "Configuration", "Settings", "Parse", "Parser", "Parsing", "Format", "Syntax", "Schema", "Validation",
    "Value", "Type", "Argument", "X",
)  # fmt: skip
_COMPOUND_NAME = lazy_pattern(
    r"\b(?:Timeout|Network|Connection|RateLimit|Retry|Quota|Lock|Session|Throttl(?:e|ing)|Duplicate|Conflict|Permission"
    r"|Auth|Transient|Unavailable)[A-Za-z0-9]{0,60}?"
    rf"({'|'.join(_HEADS)})(?=Error|Exception)"
)

# A number is a status if a word before it says so, or if its own reason stands behind it. Other words before it,
# such as "Order" or "#", make it the number of something.
_PERHAPS = (
    r"(?<!exit )\b(?:returned|responded with|failed with|answered|answered with|replied with|got|received|code|error)"
    r":? [(\[]?|[(\[]"
)
_UNITS = "ms|s|seconds|bytes|kb|mb|px|characters|chars|items|rows|lines|tokens|results|records|files|times|days|points"
_ENDS = r"(?=\s{0,2}(?:$|[.:;)\]}\"'\n–—]|- |(?:from|for|on|when|while|response|errors?|status|because|at|http)\b))"
_STATED = lazy_pattern(
    rf"{BEFORE_STATUS}([45]\d\d)\b(?![\d.,%-]?\d| ?(?:{_UNITS})\b)"
    rf"|(?:{_PERHAPS})([45]\d\d)\b(?:(?=,)|{_ENDS})|^\(?([45]\d\d)\b{_ENDS}"
    r"|^(?:failed|unable|could not|cannot|error) [^\n]{1,200}: ([45]\d\d)\.?$",
    re.IGNORECASE,
)
_REASON = lazy_pattern(
    rf"[45]\d\d[\s:,\"'\]}})-]{{1,4}}(?:{'|'.join(dict.fromkeys(words for _, words in REASONS))})", re.IGNORECASE
)
_WITH_REASON = lazy_pattern(
    r"(?:^|[^\w\s#] {0,2}|\b(?:status|code|http|errors?|got|received|returned|returns|responded|response|with|failed"
    r"|an?|the|api|server|upstream|answered|replied|request|is|was|by) |[a-z] (?=\d\d\d[:)\]]))[(\[]?"
    rf"([45]\d\d)[\s:,\"'\]}})-]{{1,4}}({'|'.join(dict.fromkeys(words for _, words in REASONS))})",
    re.IGNORECASE,
)
_REASONS = frozenset(REASONS)
_COMPARED = lazy_pattern(r"\b[Ee]xpected\b")
_NUMBER = lazy_pattern(r"[45](?<!\d\d)\d\d(?!\d)")
# Mail servers number their replies as HTTP does, and mean something else: 451 is a local problem, and no law.
_MAIL = lazy_pattern(r"\b(?:smtp|e-?mail|mail|mailbox|recipients?|sender|mx)\b", re.IGNORECASE)
_STATUS_CONFIDENCE = 0.9


def find_status(text: str, context: Context) -> Finding | None:
    """Return what the HTTP status in a text means, or None if there is none."""
    if not _NUMBER.search(text):
        return None
    for match in _WITH_REASON.finditer(text) if _REASON.search(text) else ():
        if (int(match[1]), match[2].lower()) in _REASONS:
            return finding_of_status(int(match[1]), match)
    stated = _STATED.search(text)
    if stated is None:
        return None
    status = int(next(filter(None, stated.groups())))
    is_compared = "200" not in text and _COMPARED.search(text)  # expected 3 columns, got 404
    if not stated[1] and (is_compared or any(value in (status, str(status)) for _, value in context.values)):
        return None
    if not stated[1] and _MAIL.search(text) and (code := code_of_smtp_reply(status)):
        rule, words = f"SMTP reply {status}", stated[0].strip()
        return Finding(rule=rule, code=code, confidence=0.85, outcome="rejected", span=stated.span(), words=words)
    return finding_of_status(status, stated)


def finding_of_status(status: int, stated: re.Match[str] | None = None) -> Finding:
    """Return what an HTTP status means, and where a text states it."""
    meaning = fields_of(meaning_of_status(status))
    return Finding(
        rule=f"HTTP status {status}",
        code=meaning["code"],
        confidence=_STATUS_CONFIDENCE,
        outcome=meaning.get("outcome"),
        retryable=None if status == 500 or status > 511 else UNSET,
        http_status=status,
        span=stated and stated.span(),
        words=stated[0].strip() if stated else str(status),
    )
