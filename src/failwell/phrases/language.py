"""The phrase language: rules that know a failure by its words, in an error text or in the name of a class or code.

A phrase is written in words, whatever the language. Between two words may stand blanks and punctuation; `word*` is a
beginning, `(a|b)` a choice, `(a|b)?` one that may be absent, `~` anything up to a few words on the same line. Words of
scripts that put no blanks between them, such as Chinese and Japanese, may stand anywhere.

Texts, names and phrases are compared in one form, `plain` and `plain_name`: case and the way accents are encoded make
no difference. A phrase is looked for only in texts that hold all its words, so that time hardly grows with the number
of rules.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize
from zlib import crc32

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from failwell._lazy import lazy_pattern
from failwell._spelling import normalised
from failwell.codes import Outcome

# Letters and digits of words with blanks between them: Latin, Greek, Cyrillic and Armenian, in lower case.
_ACCENTED = "ß-öø-\u058f\u1e00-\u1fff"
_LETTERS = f"a-z0-9{_ACCENTED}"
_WORD = lazy_pattern(f"[{_LETTERS}]+")
_HAS_ACCENTS = lazy_pattern(f"[{_ACCENTED}]")
_UNSPACED = lazy_pattern(rf"(?![{_LETTERS}_])\w")
_SPACED = bytes(byte if chr(byte) in "abcdefghijklmnopqrstuvwxyz0123456789" else 32 for byte in range(256))
# Capitals are rare, so to begin with one is fast.
_CAMEL_HUMP = lazy_pattern(r"[A-Z](?<=[a-z][A-Z])")
_ANY_CAMEL_HUMP = lazy_pattern(r"[A-ZÀ-ÖØ-ÞЀ-Я](?<=[a-zß-öø-ÿа-џ][A-ZÀ-ÖØ-ÞЀ-Я])")
_ACRONYM_BORDER = lazy_pattern(r"(?<=[A-Z])(?=[A-Z][a-z])")

_PHRASE_END = lazy_pattern(r"\n|, ")
_TOKEN = lazy_pattern(r"\([^)]*\)\??|\S+")
_BETWEEN = rf"[^{_LETTERS}\n]{{1,6}}"
_BETWEEN_UNSPACED = r"[^\w\n]{0,6}"
_START, _END = f"(?<![{_LETTERS}])", f"(?![{_LETTERS}])"
_GAP = r"[^\n]{0,80}?"
_COMMON = frozenset(
    (
        "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "cannot", "could", "error", "failed",
        "for", "from", "in", "is", "it", "must", "no", "not", "of", "on", "or", "the", "to", "with",
    )
)  # fmt: skip


class Rule(Struct, frozen=True, kw_only=True):
    """One row: what is said, what it means, and which software says so.

    Phrases stand on lines of their own or between commas. An empty code ends the search: these words take back what
    others seem to say. `retryable` is left out where it follows from the code; None says that wording alone cannot
    tell. So is `outcome`: it is given where the words say more or less about the effect than the code does. `unless`
    holds phrases beside which these words mean something else. `blames` says whether an argument can be at fault.
    """

    name: str
    code: str
    phrases: str
    evidence: str
    confidence: float = 0.9
    retryable: bool | UnsetType | None = UNSET
    outcome: Outcome | None = None
    unless: str = ""
    blames: bool = True


class Match(NamedTuple):
    """A rule that fits, and where its phrase stands in the plain text."""

    rule: Rule
    start: int
    end: int
    phrase: str


class _Token(NamedTuple):
    """A word of a phrase, or a choice of words."""

    choices: tuple[str, ...]
    is_optional: bool
    is_gap: bool
    is_spaced: bool  # whether blanks set it off from other words


class Index(Struct, frozen=True):
    """Where to look for the phrases of a table: made once, kept in a file, so that first use costs nothing.

    `words` has a line for each phrase that a word leads to: another word that must be there, the number of the rule
    and of the phrase in it, and sets of further words. It is taken apart when a text holds that word. `parts` leads to
    phrases that need no whole word, by the same numbers.
    """

    fingerprint: int
    words: dict[str, str]
    parts: dict[str, str]


class _Entry(NamedTuple):
    rule: int
    phrase: int
    needs: tuple[frozenset[str], ...]


def plain(text: str) -> str:
    """Return a text as phrases are matched against it: lower case, compound names taken apart, negations spelt out."""
    if text.isascii():
        text = (_CAMEL_HUMP.sub(r" \g<0>", text) if _CAMEL_HUMP.search(text) else text).lower()
    else:
        text = _ANY_CAMEL_HUMP.sub(r" \g<0>", normalize("NFC", text)).casefold()
    if "'" in text or "’" in text:
        text = text.replace("’", "'").replace("can't", "cannot").replace("won't", "will not").replace("n't", " not")
    return text


def plain_name(name: str) -> str:
    """Return a name as phrases are matched against it, its words apart: `HTTPNotFound` is `http not found`."""
    return plain(snake(normalize("NFC", name)).replace("_", " "))


def snake(name: str) -> str:
    """Return a name in snake_case, acronyms taken apart: `HTTPNotFound` is `http_not_found`."""
    return normalised(_ACRONYM_BORDER.sub("_", name))


def words_of(text: str) -> set[str]:
    """Return the words in a text of lower case, whatever stands between them."""
    if not text.isascii() and _HAS_ACCENTS.search(text):
        return set(_WORD.findall(text))
    return set(text.encode("ascii", "replace").translate(_SPACED).decode().split())


def fingerprint(rules: Iterable[Rule]) -> int:
    """Return a number that tells whether an index was made of these phrases."""
    return crc32("\0".join(rule.phrases for rule in rules).encode())


def make_index(rules: Collection[Rule]) -> Index:
    """Return the index of some rules."""
    words: dict[str, list[str]] = {}
    parts: dict[str, list[str]] = {}
    for number, rule in enumerate(rules):
        for place, phrase in enumerate(_phrases(rule)):
            tokens = _tokens(phrase)
            anchor, *needs = _words_needed(tokens) or [frozenset[str]()]
            rest = " ".join(",".join(sorted(group)) for group in needs[1:])
            for word in sorted(anchor):
                for second in sorted(needs[0] if needs else (word,)):
                    words.setdefault(word, []).append(f"{second} {number} {place} {rest}".rstrip())
            for part in () if anchor else _parts_needed(phrase, tokens):
                parts.setdefault(part, []).append(f"{number} {place}")
    joined = [{key: "\n".join(lines) for key, lines in found.items()} for found in (words, parts)]
    return Index(fingerprint(rules), *joined)


class Table:
    """Rules in order: where several fit a text, the first decides."""

    def __init__(self, rules: Iterable[Rule], index: Index | None = None) -> None:
        self.rules = tuple(rules)
        if index is None or index.fingerprint != fingerprint(self.rules):
            index = make_index(self.rules)
        self._words = index.words
        self._plain_parts = {part: places for part, places in index.parts.items() if part.isascii()}
        self._other_parts = {part: places for part, places in index.parts.items() if not part.isascii()}
        # To meet a set with another one is faster than with the keys of a dict.
        self._anchors = frozenset(self._words)
        self._entries: dict[str, tuple[frozenset[str], dict[str, list[_Entry]]]] = {}
        self._phrases: dict[int, list[str]] = {}

    def without(self, phrases: Collection[str]) -> "Table":
        """Return the table without some phrases, to see how much depends on them."""
        kept: list[Rule] = []
        for rule in self.rules:
            kept_phrases = [phrase for phrase in _phrases(rule) if phrase not in phrases]
            kept += [replace(rule, phrases="\n".join(kept_phrases))] if kept_phrases else []
        return Table(kept)

    def first(self, text: str) -> Match | None:
        """Return the first rule that fits a plain text, or None."""
        for number, place in self._candidates(text):
            if (match := self._match(number, place, text)) is not None:
                return match
        return None

    def all(self, text: str) -> Iterator[Match]:
        """Yield every rule that fits a plain text, the first first."""
        matches = (self._match(number, place, text) for number, place in self._candidates(text))
        return (match for match in matches if match is not None)

    def _candidates(self, text: str) -> list[tuple[int, int]]:
        """Return the numbers of the rules and phrases whose words a text holds, in the order in which they count."""
        words = words_of(text)
        entries = self._entries
        candidates: set[tuple[int, int]] = set()
        for word in words & self._anchors:
            seconds, by_second = entries.get(word) or self._take_apart(word)
            for second in words & seconds:
                for rule, phrase, needs in by_second[second]:
                    for group in needs:
                        if words.isdisjoint(group):
                            break
                    else:
                        candidates.add((rule, phrase))
        parts = (self._plain_parts,) if text.isascii() else (self._plain_parts, self._other_parts)
        for places_by_part in parts:
            for part, places in places_by_part.items():
                if part in text:
                    candidates.update(_places(places))
        return sorted(candidates)

    def _match(self, number: int, place: int, text: str) -> Match | None:
        phrases = self._phrases.get(number)
        if phrases is None:
            phrases = self._phrases[number] = _phrases(self.rules[number])
        found = _compiled(phrases[place]).search(text)
        if found is None or _is_taken_back(self.rules[number], text):
            return None
        return Match(self.rules[number], found.start(), found.end(), phrases[place])

    def _take_apart(self, word: str) -> tuple[frozenset[str], dict[str, list[_Entry]]]:
        by_second: dict[str, list[_Entry]] = {}
        for line in self._words[word].split("\n"):
            second, rule, phrase, *groups = line.split(" ")
            needs = tuple(frozenset(group.split(",")) for group in groups)
            by_second.setdefault(second, []).append(_Entry(int(rule), int(phrase), needs))
        found = self._entries[word] = frozenset(by_second), by_second
        return found


@lru_cache(maxsize=1024)
def _places(lines: str) -> tuple[tuple[int, int], ...]:
    places = (line.split(" ") for line in lines.split("\n"))
    return tuple((int(rule), int(phrase)) for rule, phrase in places)


def _is_taken_back(rule: Rule, text: str) -> bool:
    return bool(rule.unless) and any(_compiled(phrase).search(text) for phrase in _split(rule.unless))


def _phrases(rule: Rule) -> list[str]:
    return sorted(_split(rule.phrases))


@lru_cache(maxsize=1024)
def _split(phrases: str) -> list[str]:
    return [phrase.strip() for phrase in _PHRASE_END.split(phrases.strip())]


def _tokens(phrase: str) -> list[_Token]:
    found: list[_Token] = []
    for token in _TOKEN.findall(normalize("NFC", phrase).casefold()):
        is_optional = token.endswith("?")
        choices = token.removesuffix("?").removeprefix("(").removesuffix(")").split("|")
        found.append(_Token(tuple(choices), is_optional, token == "~", not _UNSPACED.search(token)))
    return found


def _words_needed(tokens: list[_Token]) -> list[frozenset[str]]:
    """Return sets of words of which a text must hold one each for the phrase to fit, the most telling first."""
    groups: list[frozenset[str]] = []
    for token in tokens:
        words = [_WORD.findall(choice) for choice in token.choices]
        if token.is_spaced and not token.is_optional and all(words) and not _has_stem(token):
            groups.append(frozenset(max(found, key=_telling) for found in words))
    return sorted(groups, key=lambda group: -min(map(_telling, group)))


def _parts_needed(phrase: str, tokens: list[_Token]) -> list[str]:
    """Return parts of which a text must hold one for the phrase to fit, where no whole word is certain to be there."""
    certain = [token for token in tokens if not token.is_optional and not token.is_gap]
    parts = [[choice.partition("*")[0] for choice in token.choices] for token in certain]
    usable = [choices for choices in parts if all(choices)]
    if not usable:
        raise ValueError(f"the phrase {phrase!r} needs a word that is always there")
    return max(usable, key=lambda choices: min(map(len, choices)))


def _has_stem(token: _Token) -> bool:
    return any("*" in choice for choice in token.choices)


def _telling(word: str) -> int:
    return 0 if word in _COMMON else len(word)


@lru_cache(maxsize=4096)
def _compiled(phrase: str) -> re.Pattern[str]:
    first, *rest = _tokens(phrase)
    pattern, has_gap = _first_piece(first), False
    previous: _Token | None = first
    if not pattern:
        pattern, previous, rest = _START if first.is_spaced else "", None, [first, *rest]
    for token in rest:
        if token.is_gap:
            has_gap = True
            continue
        joint = _gap(previous, token) if has_gap else _joint(previous, token)
        piece = _either(_choices(token))
        if not token.is_optional:
            pattern, previous = pattern + joint + piece, token
        elif has_gap or previous is None:  # what follows comes at once if this word is absent
            pattern, previous = f"{pattern}{joint}(?:{piece}{_BETWEEN})?", None
        else:
            pattern, previous = f"{pattern}(?:{joint}{piece})?", token
        has_gap = False
    return re.compile(pattern + (_END if previous is None or previous.is_spaced else ""))


def _gap(before: _Token | None, after: _Token) -> str:
    """Return what stands for a few words between two others, which begin and end where words do."""
    return (_END if before is None or before.is_spaced else "") + _GAP + (_START if after.is_spaced else "")


def _joint(before: _Token | None, after: _Token) -> str:
    """Return what may stand between two words; nothing before the first one."""
    if before is None:
        return ""
    return _BETWEEN if before.is_spaced and after.is_spaced else _BETWEEN_UNSPACED


def _first_piece(token: _Token) -> str:
    """Return a piece that looks behind its first letter, not before it: to search for letters is fast. Or nothing."""
    choices = _choices(token)
    if token.is_optional or token.is_gap or not all(choice[:1].isalnum() for choice in choices):
        return ""
    if not token.is_spaced:
        return _either(choices)
    return _either(f"{choice[0]}(?<![{_LETTERS}]{choice[0]}){choice[1:]}" for choice in choices)


def _choices(token: _Token) -> list[str]:
    return [re.escape(choice).replace(r"\ ", _BETWEEN).replace(r"\*", f"[{_LETTERS}]*") for choice in token.choices]


def _either(choices: Iterable[str]) -> str:
    return f"(?:{'|'.join(choices)})"
