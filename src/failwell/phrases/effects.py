"""Wordings that say that a failed call did something, or may have.

`Created issue 42, but could not add the label: label not found` is a refused label and a created issue. The words after
the "but" decide the code; these decide that nobody may call it rejected.
"""

import re
from typing import NamedTuple

from failwell._lazy import lazy_pattern

# What is done to the world, not to a request: "was found" and "was called" change nothing.
_DONE = (
    r"(?:accepted|added|applied|approved|archived|assigned|booked|cancell?ed|captured|charged|closed|committed|copied"
    r"|created|credited|debited|deleted|delivered|deployed|dispatched|enqueued|executed|exported|forwarded|imported"
    r"|inserted|installed|invited|issued|launched|merged|modified|moved|ordered|overwritten|paid|placed|posted|processed"
    r"|published|purchased|pushed|queued|recorded|refunded|registered|removed|renamed|saved|scheduled|sent|shipped"
    r"|started|stored|submitted|synced|transferred|triggered|updated|uploaded|withdrawn|written)"
)
_DOING = (
    r"(?:adding|applying|approving|booking|cancell?ing|capturing|charging|closing|committing|creating|debiting|deleting"
    r"|delivering|deploying|inserting|merging|moving|ordering|paying|placing|posting|publishing|purchasing|pushing"
    r"|refunding|registering|removing|renaming|saving|scheduling|sending|shipping|storing|submitting|transferring|updating"
    r"|uploading|withdrawing|writing)"
)
_WENT_WELL = r"(?:succeeded|completed|complete|successful|finished|went through|went out|went live)"
_NO = r"\bnot|n't|\bbe|\bnever|\bnothing|\bnothing was|\bnot been|\bno|\b0|\bnone"
_NEGATED = "".join(rf"(?<!{before} )" for before in _NO.split("|"))
_WRONG = (
    r"(?:fail(?:ed|s|ure)|could not|couldn't|cannot|can't|unable|not|n't|errors?|rejected|denied|timed out|lost|invalid"
    r"|missing|refused)\b"
)
_WITHIN = r"[^\n]{0,80}?"

# What a call was to do to things, not what became of them: an order that was cancelled is one that others cancelled.
_REPORTED = (
    r"(?:added|booked|charged|copied|created|deleted|delivered|deployed|exported|imported|inserted|invited|merged|moved"
    r"|paid|placed|posted|processed|published|purchased|pushed|recorded|refunded|registered|removed|renamed|saved"
    r"|scheduled|sent|shipped|stored|submitted|synced|transferred|updated|uploaded|written)\b"
)
_TOLD_FIRST = ("created", "placed", "posted", "published", "saved", "scheduled", "sent", "submitted", "uploaded")
_BROKE_OFF = r"(?:failed|timed out|lost|crashed|interrupted|aborted|disconnected|died|stopped)"
# Who misses something is often told that it may have been moved or deleted by somebody else.
_GONE = r"(?:archived|closed|deleted|modified|moved|removed|renamed|updated)"

# Before a verb, seen from behind its first letter.
_UNSURE = r"(?:(?<=not .)|(?<=n't .)|(?<=\bunable to .)|(?<=\bfailed to .)|(?<=\bimpossible to .))"
_OF_IT = r"(?:of [^\n.]{1,60} )?"


class _Sign(NamedTuple):
    """A wording: what a text must hold some of, so that most texts need no closer look, and how the wording goes."""

    parts: tuple[str, ...]
    pattern: re.Pattern[str]
    earlier: re.Pattern[str] | None = None  # what must stand before it in the same line


_SOMETHING_DONE = lazy_pattern(rf"{_NEGATED}\b(?:{_DONE}|{_WENT_WELL})\b(?!['\"`]){_WITHIN}\Z")
# What matches begins with a letter, and the pattern looks behind it then: to search for letters is fast.
_SIGNS: tuple[_Sign, ...] = (
    # The call may have worked: nobody knows.
    _Sign(
        (" have ",),
        lazy_pattern(
            r"m(?<!\wm)(?:ay|ight)(?: or (?:may|might) not)?(?: already| also| still)? have "
            r"(?:already |also |still |partially |partly )?"
            rf"(?:been (?:already |partially |partly )?(?!{_GONE}){_DONE}|{_WENT_WELL}|gone through|taken effect"
            r"|happened)\b"
        ),
    ),
    _Sign(
        (" if ", " whether "),
        lazy_pattern(
            rf"[tcdeks]{_UNSURE}(?:ell|onfirm|etermine|stablish|now|ay) (?:if|whether) "
            rf"{_WITHIN}\b(?:{_DONE}|{_WENT_WELL})\b"
        ),
    ),
    _Sign(
        (" unknown", " uncertain", " unclear"),
        lazy_pattern(rf"(?:status|outcome|result|state|fate) {_OF_IT}(?:is|remains) (?:unknown|uncertain|unclear)\b"),
    ),
    _Sign(
        (" be determined", " be confirmed"),
        lazy_pattern(rf"(?:status|outcome|state) {_OF_IT}could(?: not|n't) be (?:determined|confirmed)\b"),
    ),
    # One part worked, then another failed.
    _Sign(
        ("but", "however", "although", "yet"),
        lazy_pattern(rf"[bhay](?<!\w.)(?:ut|owever|lthough|et)\b(?={_WITHIN}{_WRONG})"),
        _SOMETHING_DONE,
    ),
    _Sign(("before",), lazy_pattern(rf"b(?<!\w.)efore\b(?={_WITHIN}\b{_BROKE_OFF}\b)"), _SOMETHING_DONE),
    _Sign(("then ",), lazy_pattern(rf"t(?<!\w.)hen (?={_WITHIN}\b(?:{_WRONG}|hit |rate limit))"), _SOMETHING_DONE),
    _Sign(
        (" after ",),
        lazy_pattern(
            rf"(?:{_WRONG}|\blimit(?:ed)?\b|\breached\b|\bunavailable\b|\bdisconnected\b){_WITHIN} after "
            rf"(?:the |your |it )?(?:payment|purchase|transfer|{_DOING})\b"
        ),
    ),
    _Sign(
        ("regardless", "anyway", "nevertheless", "nonetheless"),
        lazy_pattern(rf"{_NEGATED}\b{_DONE} (?:regardless|anyway|nevertheless|nonetheless)\b"),
    ),
    # Not the call that failed, but what it was to do: it is done.
    _Sign(
        ("succeeded", "successful", "went through"),
        lazy_pattern(
            rf"(?:charge|payment|purchase|transfer|order|transaction|booking)\b[^\n]{{0,40}}? {_NEGATED}{_WENT_WELL}\b"
        ),
    ),
    _Sign(
        ("succeeded", "complete", "successful", "finished", "went through"),
        lazy_pattern(rf"(?=[scfw]){_NEGATED}\b{_WENT_WELL}[,;] {_WITHIN}\b{_WRONG}"),
    ),
    _Sign(("successfully ",), lazy_pattern(rf"successfully {_DONE}\b{_WITHIN}[,;.] {_WITHIN}\b{_WRONG}")),
    # What the call was to do is told first, as done, and then what went wrong.
    _Sign(
        (" was ", " were ", " been "),
        lazy_pattern(
            r"[ty](?<!\w.)(?:he|our) (?:[\w-]{1,30} ){1,4}?(?:was|were|has been|have been) "
            rf"(?!{_GONE}){_REPORTED}[,;.] {_WITHIN}\b{_WRONG}"
        ),
    ),
    _Sign(
        ("ed,", "ed;", "sent,", "sent;"),
        lazy_pattern(
            r"\A(?!(?:no|too many|invalid|duplicate|never|nothing) )(?:[\w-]{1,30} ){1,3}?"
            rf"(?<!not )(?<!be )(?<!are )(?<!yet )(?:{'|'.join(_TOLD_FIRST)})[,;]{_WITHIN}\b{_WRONG}"
        ),
    ),
    # How many were done before it broke off.
    _Sign(
        (*(f" {digit}" for digit in range(1, 10)),),
        lazy_pattern(r" (?:only |just |to |all |the |the first |another ){0,2}[0-9]{1,6} [a-z]"),
        lazy_pattern(rf"(?:\A|[.;:\n] ?){_REPORTED}\Z"),
    ),
    _Sign(
        (" half ", " part ", " rest ", " remaining ", " others "),
        lazy_pattern(
            r"t(?<!\wt)he (?:(?:first|second|other) )?(?:half|part|rest|remaining|others)"
            rf"\b[^\n,;.]{{0,40}}? (?:was|were|has been|have been) {_DONE}\b"
        ),
    ),
    _Sign(("partially ",), lazy_pattern(rf"partially (?:{_DONE}|{_WENT_WELL})\b")),
    _Sign(
        (" after ", " once "),
        lazy_pattern(
            rf"{_BROKE_OFF} (?:after|once) {_WITHIN}\b(?:was|were|had been|has been|have been) (?:already )?{_DONE}\b"
        ),
    ),
)
_COUNT = lazy_pattern(r"(\d{1,6}) (?:out )?of (?:the |all )?(\d{1,6})\b")
_DONE_BEFORE = lazy_pattern(rf"\b{_DONE} (?:only |just )?\Z")
_DONE_BEHIND = lazy_pattern(rf" (?:[\w-]{{1,40}} ){{0,4}}(?:{_DONE}|{_WENT_WELL}|failed|could not be)\b")
# Three of five items, and not the third of five attempts.
_NUMBERED = ("attempt ", "try ", "page ", "step ", "part ", "chunk ", "phase ", "stage ", "line ", "batch ", "#", ".")
_LONGEST = 4000
_REACH = 120  # how far before a sign something done may stand: a word, and what is within


def tells_of_effect(text: str) -> bool:
    """Return whether an error text says that the call had an effect, or may have had one."""
    return find_effect(text) is not None


def find_effect(text: str) -> str | None:
    """Return the words by which an error text says that the call had an effect, or may have had one."""
    low = text[:_LONGEST].lower()
    for sign in _SIGNS:
        for part in sign.parts:
            if part in low:  # as a part of a word, perhaps
                if (words := _matched(sign, low)) is not None:
                    return words
                break
    return find_some(low) if " of " in low else None


def find_some(text: str) -> str | None:
    """Return the words by which an error text says that some of many items were done: `3 of 5` of `Moved 3 of 5`."""
    low = text[:_LONGEST].lower()
    for count in _COUNT.finditer(low):
        start, end = count.span()
        if not 0 < int(count[1]) < int(count[2]) or low[:start].endswith(_NUMBERED):
            continue
        if _DONE_BEFORE.search(low, max(0, start - _REACH), start) or _DONE_BEHIND.match(low, end):
            return count[0]
    return None


def _matched(sign: _Sign, low: str) -> str | None:
    if sign.earlier is None:
        found = sign.pattern.search(low)
        return found and found[0]
    for found in sign.pattern.finditer(low):
        at = found.start()
        if (done := sign.earlier.search(low, max(0, at - _REACH), at)) is not None:
            return low[done.start() : found.end()]
    return None
