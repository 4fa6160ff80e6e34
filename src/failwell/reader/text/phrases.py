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
    rank: int
    phrase: str
    needs: tuple[frozenset[str], ...]


def plain(text: str) -> str:
    """Return a text as phrases are matched against it: lower case, compound names taken apart, negations spelt out."""
    text = _CAMEL_HUMP.sub(r" \g<0>", text).lower()
    if "'" in text or "’" in text:
        text = text.replace("’", "'").replace("can't", "cannot").replace("won't", "will not").replace("n't", " not")
    return text


class Table:
    """Rules in order: where several fit a text, the first decides."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._by_word: dict[str, list[_Entry]] = {}
        self._unspaced: list[_Entry] = []
        for rank, rule in enumerate(self.rules):
            for phrase in map(str.strip, rule.phrases.strip().splitlines()):
                if not phrase.isascii():
                    self._unspaced.append(_Entry(rank, phrase, ()))
                    continue
                anchor, *needs = _needs(phrase)
                for word in anchor:
                    self._by_word.setdefault(word, []).append(_Entry(rank, phrase, tuple(needs)))

    def without(self, phrases: Collection[str]) -> "Table":
        """Return the table without some phrases, to see how much depends on them."""
        kept: list[Rule] = []
        for rule in self.rules:
            lines = [line for line in map(str.strip, rule.phrases.strip().splitlines()) if line not in phrases]
            kept += [replace(rule, phrases="\n".join(lines))] if lines else []
        return Table(kept)

    def first(self, text: str) -> Match | None:
        """Return the first rule that fits a plain text, or None."""
        return next(self.all(text), None)

    def all(self, text: str) -> Iterator[Match]:
        """Yield every rule that fits a plain text, the first first."""
        words = set(_WORD.findall(text))
        candidates: list[_Entry] = []
        for word in words:
            for entry in self._by_word.get(word, ()):
                for group in entry.needs:
                    if words.isdisjoint(group):
                        break
                else:
                    candidates.append(entry)
        if not text.isascii():
            candidates += self._unspaced
        candidates.sort()
        for rank, phrase, _ in candidates:
            if found := _compiled(phrase).search(text):
                yield Match(self.rules[rank], found.start(), found.end(), phrase)


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
    pattern = joint = ""
    for token in _TOKEN.findall(phrase):
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
    return re.compile(rf"(?<![a-z0-9]){pattern}(?![a-z0-9])")


def _piece(token: str) -> str:
    choices = (
        re.escape(choice).replace(r"\ ", _BETWEEN).replace(r"\*", "[a-z0-9]*")
        for choice in token.removeprefix("(").removesuffix(")").split("|")
    )
    return f"(?:{'|'.join(choices)})"
