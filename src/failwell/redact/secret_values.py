"""Whether a value looks like a secret, judged by its characters: random, unusual or harmless."""

import re
from functools import cache
from typing import Final

# Words that begin a statement about a field where its value would stand ("password: must be …", "token: expired"), or
# make up the code of one ("string_too_short").
_PROSE: Final = """
a absent accepted access account actual added admin alg algorithm all allowed already also although always ambiguous
an and another any apparently are argument arguments array as assigned at attribute audience authentication
authorization await bad basic be bearer because been before between blank blocked body boolean both but by bytes call
can can't cannot case changed character characters check claim claims client column common compact compared
configuration configured confirm confirmation confirmed constraint contain contained contains corrupt could couldn't
count create credential credentials data decode decoding deleted denied deprecated dict did differ differs digit
digits disabled disallowed discriminator do does doesn't each either email empty encoded encoding encrypted end enough
ensure enter entirely environment error errors exactly exceeded exceeds exhausted exist exists expected expecting
expects expiration expired expires expiry extra failed failure false field fields file first five flag for forbidden
format found four from get give given got grant greater guessable had has have header headers hidden identical if
illegal in inactive include included including incorrect input insert insufficient int integer invalid is isn't issuer
it item items json key keys kind last least leave length less letter letters limit line list load loading login long
longer lowercase malformed mandatory mapping match matched matches max maximum may maybe min minimum mismatch missing
more most must name need needed needs neither never new no nonce none nonetype nor not null number numeric object of
off ok old omitted on one only option optional or other otherwise out outside padding parameter parse parsing part
parts pass passed passphrase password passwords path pattern payload permission permitted please position present
prohibited property provide provided pydantic query range read reading received refresh refused regex reject rejected
replace request require required requires reserved reset resolve resolved revoked rotated same schema scheme scope
second section see segment segments sequence serialization server set short shorter should show signature similar
simple since size smaller some source special stale state store stored str string supplied support supported symbol
symbols syntax system than that the then there they this three to token tokens too true tuple two type types unable
unauthorized undefined unexpected uniq unique unknown unmatched unparseable unrecognised unrecognized unset
unsupported until unverified uppercase url usage use used user username using valid validation value values variable
verification verify version wait want was we weak were what when where whether which while will with within without
write wrong yes yet you your
"""
PROSE: Final = frozenset(_PROSE.split())

# Words that names of secrets consist of: what is made of nothing else is a name, not a value.
_NAME_WORDS: Final = """
access account admin amz anthropic api apikey app application auth authorization aws azure base basic bearer bot
client code connection consumer cookie credential credentials creds csrf csrftoken database db default deploy docker
env gcp gemini gh github gitlab google groq hash header huggingface id install jwt key keys login mail master mistral
mongo mysql name npm oauth openai passphrase passwd password personal pg postgres private proxy public pwd redis
refresh registry root secret secrets security service session shared sid signing slack smtp ssh stripe subscription
token tokens twilio url user username value vault webhook x xsrf
"""
NAME_WORDS: Final = frozenset(_NAME_WORDS.split())

# Authorization schemes followed by exactly one word. After any other scheme the whole rest of the line is secret.
SIMPLE_SCHEMES: Final = "bearer|basic|token|api-?key|key|negotiate|ntlm|jwt|ssws|geniekey|splunk|bot"

# Values that are none: already redacted or cut, masked, left to be filled in, nothing, a type, a parameter, code.
_INNOCENT: Final = (
    rf"(?:(?i:{SIMPLE_SCHEMES})[ \t]+)?(?:\[redacted(?::\w+)?\][)\]}}.,:;!?…]*"
    r"|(?:…|\*{3,}|\.{3}|<[^<>]*>|\$\{?[A-Za-z_][A-Za-z0-9_.]*\}?|\{\w*\}|\{\{[^{}]*\}\}|%\(\w+\)s|%s|\?|\$\d{1,2}"
    r"|[:@]\w*(?i:pass|pw|token|secret|key|param|value)\w*|@p\d{1,3}"
    r"|[^\s*]{0,16}(?:\*{3,}|•{3,}|[xX]{6,})[^\s*]{0,16}"
    r"|(?i:your|my|the|some|enter|insert)[-_ ](?i:[a-z]{1,20}[-_ ]){0,6}(?i:here|key|token|secret|password)"
    r"|(?i:true|false|null|none|nil|undefined|empty|yes|no|on|off|nan|unset|n/a)"
    r"|(?:str|string|int|integer|bytes|bool|dict|list|object|number|NoneType|SecretStr|Optional|undefined)(?:[ \[|].*)?"
    r"|await|new|async|lambda|function|return"
    r"|\$\(.*|(?:[A-Za-z_]{2,}\.)*[A-Za-z_]{2,}\((?:[\"'A-Za-z_)].*)?"
    r"|(?:os|process|self|this|config|settings|env|environ|args|options|opts|req|request|params|props|state|ctx|context"
    r"|secrets|vars|var|local|data|module|github|inputs|steps|app|user|creds|credentials|response|session|auth)"
    r"(?:(?:\.[A-Za-z_]\w*)+|(?=\[))(?:[\[(].*)?)[)\]}.,:;!?…]*)"
)

_LONGEST_STANDIN: Final = 500

# Words with digits that are no secrets: algorithms, versions, sizes, times, models.
_TERM: Final = (
    r"(?i:(?:oauth|sha|sha3-|hs|rs|es|ps|aes|md|utf|base|ed|x|http|ipv|s|ec|k|h|v|p|secp|curve|rc|tls|ssl|sslv|gpt|py|python"
    r"|java|es|web|win|id|eth|log|row|line|page|part|level|step|test|user|item|node|pod|app|db|host|server|port|field"
    r"|col|column|arg|param|type|phase|version|int|uint|float|char|u|i|f)-?\d[\d.]*[a-z]?"
    r"|\d[\d.,:]*-?(?i:s|ms|us|ns|m|min|h|d|w|y|b|kb|mb|gb|k|x|st|nd|rd|th|px|pt|%|am|pm|fa|d|chars?|characters?|bytes?"
    r"|bits?|days?|hours?|minutes?|seconds?|months?|years?|times?|digits?)"
    r"|k8s|e2e|i18n|l10n|n8n|2fa|mp[34]|0x[0-9a-f]+|\d{4}-\d\d-\d\d(?:t[\d:.]+z?)?|t?[\d:.]+z?|v?\d+(?:\.\w+)*)"
)
_WORD_PART: Final = r"\d+|[A-Z]?[a-z]+\d{0,4}|[A-Z]+\d{0,4}|[a-z]+(?:[A-Z][a-z]{2,})+\d{0,3}|(?:[A-Z][a-z]{2,})+\d{0,3}"
_EMAIL: Final = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def is_harmless(body: str) -> bool:
    """Tell whether a value stands for one: a placeholder, a mask, a parameter, a piece of code."""
    if len(body) >= _LONGEST_STANDIN:
        return False
    if body.isalnum() and not body.isalpha() and "xxxxxx" not in body.lower():
        return False  # one word with a digit is none of them, unless it is masked
    if body.startswith("[redacted:") and body[10:-1].isidentifier() and body.endswith("]"):
        return True
    return bool(_compiled(_INNOCENT).fullmatch(body))


def is_wording(body: str) -> bool:
    """Tell whether a value is a statement in one word (string_too_short), or the name of a secret (client_secret)."""
    if not _compiled(r"[A-Za-z]+(?:[-_. ][A-Za-z]+)+(?:=\d+)?[.,;:!?)\]]*").fullmatch(body):
        return False
    low = {word.lower() for word in _compiled(r"[A-Za-z]+").findall(body)}
    return low <= PROSE or low <= NAME_WORDS


def is_random(value: str) -> bool:
    """Tell whether a value has a part that nobody would write: long without a break, or letters and digits in turns."""
    for part in _compiled(r"[A-Za-z0-9]{8,}+").findall(value):
        if len(part) >= 16 and len(set(part)) > 5 and not _compiled(r"[A-Z]?[a-z]+(?:[A-Z][a-z]+)+").fullmatch(part):
            return True
        turns = len(_compiled(r"\d(?=[A-Za-z])|[A-Za-z](?=\d)").findall(part))
        if turns >= 3 or (turns and turns + len(_compiled(r"[a-z](?=[A-Z])").findall(part)) >= 4):
            return True
    return False


# Digits, small letters, capitals and other signs, each as one of them. White space stays.
_CLASSES: Final = bytes(
    48 if 48 <= char < 58 else 97 if 97 <= char < 123 else 65 if 65 <= char < 91 else char if char < 33 else 46
    for char in range(256)
)


SHORTEST_TOKEN: Final = 15
"""No token that is known by its look alone has fewer characters."""

_LONG_WORD: Final = b"." * SHORTEST_TOKEN
_LONG_RUN: Final = b"." * 16
_LETTERS_AND_DIGITS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
# Letters and digits become one sign, all else white space.
_RUNS: Final = bytes(46 if char in _LETTERS_AND_DIGITS else 32 for char in range(256))
# The same with the signs that tokens are written with, and with those of an escape that may stand before one.
_TOKEN_SIGNS: Final = bytes(46 if char in _LETTERS_AND_DIGITS + b"_.+/=~$-\\%" else 32 for char in range(256))
_COLON: Final = ord(":")
_BEFORE_A_COLON: Final = 48  # a few kinds of tokens have a colon, with less than this before it and a long part behind


def long_words(text: bytes) -> set[bytes]:
    """Return every run of signs that is long enough for a token, with what stands before a colon."""
    marks = text.translate(_TOKEN_SIGNS)
    found: set[bytes] = set()
    start = marks.find(_LONG_WORD)
    while start >= 0:
        end = marks.find(b" ", start)
        end = len(text) if end < 0 else end
        if text[start - 1] == _COLON:
            start = max(0, start - _BEFORE_A_COLON)
        found.add(text[start:end])
        start = marks.find(_LONG_WORD, end)
    return found


def has_digits_of_a_card(text: bytes) -> bool:
    """Tell whether two groups of four digits follow one another, as in the number of every card."""
    classes = text.translate(_CLASSES)
    return b"0000" in classes and (b"00000000" in classes or b"0000 0000" in classes or b"0000.0000" in classes)


def may_hold_a_token(text: bytes) -> bool:
    """Tell whether any word of a *text* is odd enough for `is_token`; False is certain."""
    classes = text.translate(_CLASSES)
    return (
        (b"0a" in classes or b"0A" in classes or b"a0000" in classes or b"A0000" in classes)
        or (b"AA" in classes and b"AAa" in classes)
        or _LONG_RUN in text.translate(_RUNS)
        # a capital within a word, but none that begins one of three letters
        or (b"aA" in classes and (b"AaA" in classes or _capital_within().search(classes) is not None))
    )


@cache
def _capital_within() -> re.Pattern[bytes]:
    return re.compile(rb"aA(?!aa)")


def is_token(value: str) -> bool:
    """Tell whether what begins like a token goes on like one, in one part or in several."""
    return any(
        len(part) >= 16 or not _compiled(_WORD_PART).fullmatch(part)
        for part in _compiled(r"[A-Za-z0-9]{5,}+").findall(value)
        if len(set(part)) > 3
    )


def is_generated(value: str) -> bool:
    """Tell whether a value has the look of a generated key: one long word of small letters, capitals and digits."""
    return is_random(value) and bool(
        _compiled(r"(?=[^a-z]{0,512}[a-z])(?=[^A-Z]{0,512}[A-Z])(?=\D{0,512}\d)[\w+/=-]{20,512}").fullmatch(value)
    )


def is_unusual(value: str) -> bool:
    """Tell whether a word is none of a language: digits among its letters or signs between them, and no known term."""
    value = value.strip(".,:;!?()[]{}'\"`…")
    if len(value) < 5 or (value.isascii() and value.isalpha()):
        return False
    if _compiled(_TERM).fullmatch(value) or ("@" in value and _compiled(_EMAIL).fullmatch(value)):
        return False
    if "/" in value or "\\" in value or "=" in value:
        return is_random(value)
    if "." in value and _compiled(r".*\.[a-z]{1,5}(?::\d+)*").fullmatch(value):
        return is_random(value)
    if _compiled(r"[A-Za-z0-9][!@#$%^&*+~][A-Za-z0-9!@#$%^&*+~]").search(value):
        return True
    parts = _compiled(r"[A-Za-z0-9]+").findall(value)
    return any(
        _compiled(r"[A-Za-z]\d|\d[A-Za-z]").search(part) and not _compiled(_TERM).fullmatch(part) for part in parts
    )
