"""Rules that know a failure by its wording, and the search for the first one that fits a text.

A phrase is written in words. Between two words may stand blanks and punctuation; `word*` is a beginning, `(a|b)` a
choice, `(a|b)?` one that may be absent, `~` anything up to a few words on the same line. A phrase is looked for only
in texts that hold all its words, so that time hardly grows with the number of rules.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

_TOKEN = re.compile(r"\([^)]*\)\??|\S+")
_WORD = re.compile(r"[a-z0-9]+")
_SPACED = bytes(byte if chr(byte) in "abcdefghijklmnopqrstuvwxyz0123456789" else 32 for byte in range(256))
_CAMEL_HUMP = re.compile(r"[A-Z](?<=[a-z][A-Z])")  # capitals are rare, so to begin with one is fast
_BETWEEN = r"[^a-z0-9\n]{1,6}"
_GAP = r"[^\n]{0,80}?(?<![a-z0-9])"
_COMMON = frozenset(
    (
        "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "cannot", "could", "error", "failed",
        "for", "from", "in", "is", "it", "must", "no", "not", "of", "on", "or", "the", "to", "with",
    )
)  # fmt: skip


class Rule(Struct, frozen=True, kw_only=True):
    """One row: what is said, what it means, and which software says so.

    `retryable` is left out where it follows from the code; None says that wording alone cannot tell.
    """

    name: str
    code: str
    phrases: str
    evidence: str
    confidence: float = 0.9
    retryable: bool | UnsetType | None = UNSET


class Match(NamedTuple):
    """A rule that fits, and where its phrase stands in the plain text."""

    rule: Rule
    start: int
    end: int
    phrase: str


class _Entry(NamedTuple):
    order: int
    rule: Rule
    phrase: str
    needs: tuple[frozenset[str], ...]


def plain(text: str) -> str:
    """Return a text as phrases are matched against it: lower case, compound names taken apart, negations spelt out."""
    text = (_CAMEL_HUMP.sub(r" \g<0>", text) if _CAMEL_HUMP.search(text) else text).lower()
    if "'" in text or "’" in text:
        text = text.replace("’", "'").replace("can't", "cannot").replace("won't", "will not").replace("n't", " not")
    return text


def words_of(text: str) -> set[str]:
    """Return the words in a text of lower case, whatever stands between them."""
    return set(text.encode("ascii", "replace").translate(_SPACED).decode().split())


class Table:
    """Rules in order: where several fit a text, the first decides."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._by_words: dict[str, dict[str, list[_Entry]]] = {}
        self._unspaced: list[_Entry] = []
        phrases = [(rule, phrase) for rule in self.rules for phrase in sorted(_lines(rule))]
        for order, (rule, phrase) in enumerate(phrases):
            if not phrase.isascii():
                self._unspaced.append(_Entry(order, rule, phrase, ()))
                continue
            anchor, *needs = _needs(phrase)
            entry = _Entry(order, rule, phrase, tuple(needs[1:]))
            for word in anchor:
                by_second = self._by_words.setdefault(word, {})
                for second in needs[0] if needs else (word,):
                    by_second.setdefault(second, []).append(entry)
        # To meet a set with another one is faster than with the keys of a dict.
        self._anchors = frozenset(self._by_words)
        self._seconds = {word: frozenset(by_second) for word, by_second in self._by_words.items()}

    def without(self, phrases: Collection[str]) -> "Table":
        """Return the table without some phrases, to see how much depends on them."""
        kept: list[Rule] = []
        for rule in self.rules:
            lines = [line for line in _lines(rule) if line not in phrases]
            kept += [replace(rule, phrases="\n".join(lines))] if lines else []
        return Table(kept)

    def first(self, text: str) -> Match | None:
        """Return the first rule that fits a plain text, or None."""
        return next(self.all(text), None)

    def all(self, text: str) -> Iterator[Match]:
        """Yield every rule that fits a plain text, the first first."""
        words = words_of(text)
        candidates: list[_Entry] = []
        for word in words & self._anchors:
            by_second = self._by_words[word]
            for second in words & self._seconds[word]:
                for entry in by_second[second]:
                    for group in entry.needs:
                        if words.isdisjoint(group):
                            break
                    else:
                        candidates.append(entry)
        if not text.isascii():
            candidates += [entry for entry in self._unspaced if entry.phrase in text]
        candidates.sort()
        for _, rule, phrase, _ in candidates:
            if found := _compiled(phrase).search(text):
                yield Match(rule, found.start(), found.end(), phrase)


def _lines(rule: Rule) -> list[str]:
    return [line.strip() for line in rule.phrases.strip().splitlines()]


def _needs(phrase: str) -> list[frozenset[str]]:
    """Return sets of words of which a text must hold one each for the phrase to fit, the most telling first."""
    groups: list[frozenset[str]] = []
    for token in _TOKEN.findall(phrase):
        if token.endswith("?") or "*" in token:
            continue
        choices = [_WORD.findall(choice) for choice in token.strip("()").split("|")]
        if all(choices):
            groups.append(frozenset(max(words, key=_telling) for words in choices))
    if not groups:
        raise ValueError(f"the phrase {phrase!r} needs a word that is always there")
    return sorted(groups, key=lambda group: -min(map(_telling, group)))


def _telling(word: str) -> int:
    return 0 if word in _COMMON else len(word)


@lru_cache(maxsize=4096)
def _compiled(phrase: str) -> re.Pattern[str]:
    if not phrase.isascii():
        return re.compile(re.escape(phrase))
    first, *rest = _TOKEN.findall(phrase)
    pattern, joint = _first_piece(first), _BETWEEN
    if not pattern:
        pattern, joint, rest = r"(?<![a-z0-9])", "", [first, *rest]
    for token in rest:
        if token == "~":
            joint = _GAP
        elif not token.endswith("?"):
            pattern += joint + _piece(token)
            joint = _BETWEEN
        elif joint == _BETWEEN:
            pattern += f"(?:{_BETWEEN}{_piece(token[:-1])})?"
        else:
            pattern += f"{joint}(?:{_piece(token[:-1])}{_BETWEEN})?"
            joint = ""
    return re.compile(rf"{pattern}(?![a-z0-9])")


def _first_piece(token: str) -> str:
    """Return a piece that looks behind its first letter, not before it: to search for letters is fast. Or nothing."""
    choices = _choices(token)
    if token.endswith("?") or not all(choice[:1].isalnum() for choice in choices):
        return ""
    return _either(f"{choice[0]}(?<![a-z0-9]{choice[0]}){choice[1:]}" for choice in choices)


def _piece(token: str) -> str:
    return _either(_choices(token))


def _choices(token: str) -> list[str]:
    return [
        re.escape(choice).replace(r"\ ", _BETWEEN).replace(r"\*", "[a-z0-9]*")
        for choice in token.removeprefix("(").removesuffix(")").split("|")
    ]


def _either(choices: Iterable[str]) -> str:
    return f"(?:{'|'.join(choices)})"
