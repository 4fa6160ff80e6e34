"""Wording by which a failure says that the call did something, or may have: whatever failed, it is not "no effect".

`Created issue 42, but could not add the label: label not found` is a refused label and a created issue. The words after
the "but" decide the code; these decide that nobody may call it rejected.
"""

import re

from failwell._lazy import lazy_pattern

# What is done to the world, not to a request: "was found" and "was called" change nothing.
_DONE = (
    r"(?:accepted|added|applied|approved|archived|assigned|booked|cancell?ed|captured|charged|closed|committed|copied"
    r"|created|credited|debited|deleted|delivered|deployed|dispatched|enqueued|executed|inserted|installed|issued"
    r"|launched|merged|modified|moved|ordered|overwritten|paid|placed|posted|processed|published|purchased|pushed"
    r"|queued|recorded|refunded|registered|removed|renamed|saved|scheduled|sent|shipped|started|stored|submitted"
    r"|transferred|triggered|updated|uploaded|withdrawn|written)"
)
_WENT_WELL = r"(?:succeeded|completed|complete|successful|finished|went through)"
_NO = r"\bnot|n't|\bbe|\bnever|\bnothing|\bnothing was|\bnot been|\bno|\b0|\bnone"
_NEGATED = "".join(rf"(?<!{before} )" for before in _NO.split("|"))
_WRONG = (
    r"(?:fail(?:ed|s|ure)|could not|couldn't|cannot|can't|unable|not|n't|errors?|rejected|denied|timed out|lost|invalid"
    r"|missing|refused)\b"
)
_WITHIN = r"[^\n]{0,80}?"

_BROKE_OFF = r"(?:failed|timed out|lost|crashed|interrupted|aborted|disconnected|died|stopped)"
# Who misses something is often told that it may have been moved or deleted by somebody else.
_GONE = r"(?:archived|closed|deleted|modified|moved|removed|renamed|updated)"

# The call may have worked: nobody knows.
_UNCERTAIN = (
    r"\b(?:may|might)(?: or (?:may|might) not)?(?: already| also| still)? have "
    r"(?:already |also |still |partially |partly )?"
    rf"(?:been (?:already |partially |partly )?(?!{_GONE}){_DONE}|{_WENT_WELL}|gone through|taken effect|happened)\b"
    r"|\b(?:can(?:no|')t|could(?: not|n't)|unable to|do(?: not|n't)|failed to|impossible to|not) "
    rf"(?:tell|confirm|determine|establish|know|say) (?:if|whether) {_WITHIN}\b(?:{_DONE}|{_WENT_WELL})\b"
    r"|\b(?:status|outcome|result|state|fate) (?:of [^\n.]{1,60} )?(?:is|remains) (?:unknown|uncertain|unclear)\b"
    r"|\b(?:status|outcome|state) (?:of [^\n.]{1,60} )?could(?: not|n't) be (?:determined|confirmed)\b"
)
# One part worked, then another failed.
_PARTLY = (
    rf"{_NEGATED}\b(?:{_DONE}|{_WENT_WELL})\b(?!['\"`])"
    rf"(?:{_WITHIN}\b(?:but|however|although|yet)\b{_WITHIN}{_WRONG}|{_WITHIN}\bbefore\b{_WITHIN}\b{_BROKE_OFF}\b)"
    rf"|{_NEGATED}\b{_WENT_WELL}[,;] {_WITHIN}\b{_WRONG}"
    rf"|\bsuccessfully {_DONE}\b{_WITHIN}[,;.] {_WITHIN}\b{_WRONG}"
    rf"|\bpartially (?:{_DONE}|{_WENT_WELL})\b"
    rf"|\b{_BROKE_OFF} (?:after|once) {_WITHIN}\b(?:was|were|had been|has been|have been) (?:already )?{_DONE}\b"
)
_EFFECT = lazy_pattern(f"{_UNCERTAIN}|{_PARTLY}", re.IGNORECASE)
# Most texts have none of these words, and need not be looked at closely.
_SIGNS = (
    "may", "might", "whether", "if", "but", "however", "although", "yet", "after", "once", "before", "partially",
    "partly", "unknown", "uncertain", "unclear", "determined", "confirmed", "succe", "complete", "finished", "through",
)  # fmt: skip
_SIGN = lazy_pattern(
    r"\b(?:may|might|whether|if|but|however|although|yet|after|once|before|partially|partly|unknown|uncertain"
    r"|unclear|determined|confirmed|successfully|succeeded|completed?|successful|finished|through)\b",
    re.IGNORECASE,
)
_LONGEST = 4000


def tells_of_effect(text: str) -> bool:
    """Return whether an error text says that the call had an effect, or may have had one."""
    text = text[:_LONGEST]
    low = text.lower()
    for sign in _SIGNS:
        if sign in low:  # as a part of a word, perhaps
            return _SIGN.search(text) is not None and _EFFECT.search(text) is not None
    return False
