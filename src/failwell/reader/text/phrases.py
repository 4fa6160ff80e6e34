"""Rules that know a failure by its wording, and the search for the first one that fits a text.

A phrase is written in words. Between two words may stand blanks and punctuation; `word*` is a beginning, `(a|b)` a
choice, `(a|b)?` one that may be absent, `~` anything up to a few words on the same line. Each phrase is looked for
only in texts that hold its longest fixed word, so time does not grow with the number of rules.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType

_TOKEN = re.compile(r"\([^)]*\)\??|\S+")
_WORD = re.compile(r"[a-z0-9]+")
_CAMEL_BORDER = re.compile(r"(?<=[a-z])(?=[A-Z])")
_BETWEEN = r"[^a-z0-9\n]{1,6}"
_GAP = r"[^\n]{0,80}?(?<![a-z0-9])"
_COMMON = frozenset("a an and any are as at be by cannot could error failed for from in is it must no not of on or the to with".split())
_LONGEST_WORD_TEXT = 3000


class Rule(Struct, frozen=True, kw_only=True):
    """One row: what is said, what it means, and which software says so.

    `retryable` is left out where it follows from the code; None says that wording alone cannot tell.
    """

    name: str
    code: str
    phrases: str
    evidence: str
    confidence: float = 0.9
    retryable: bool | None | UnsetType = UNSET


class Match(NamedTuple):
    """A rule that fits, and where its phrase stands in the plain text."""

    rule: Rule
    start: int
    end: int


def plain(text: str) -> str:
    """Return a text as phrases are matched against it: lower case, compound names taken apart, negations spelt out."""
    text = _CAMEL_BORDER.sub(" ", text[:_LONGEST_WORD_TEXT]).lower()
    if "'" in text or "’" in text:
        text = text.replace("’", "'").replace("can't", "cannot").replace("won't", "will not").replace("n't", " not")
    return text


class Table:
    """Rules in order: where several fit a text, the first decides."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._by_word: dict[str, list[tuple[int, str]]] = {}
        self._unspaced: list[tuple[int, str]] = []
        for rank, rule in enumerate(self.rules):
            for phrase in _phrases(rule.phrases):
                if phrase.isascii():
                    for word in _anchors(phrase):
                        self._by_word.setdefault(word, []).append((rank, phrase))
                else:
                    self._unspaced.append((rank, phrase))

    def first(self, text: str) -> Match | None:
        """Return the first rule that fits a plain text, or None."""
        return next(self.all(text), None)

    def all(self, text: str) -> Iterator[Match]:
        """Yield every rule that fits a plain text, the first first."""
        candidates: list[tuple[int, str]] = []
        for word in set(_WORD.findall(text)) & self._by_word.keys():
            candidates += self._by_word[word]
        if not text.isascii():
            candidates += self._unspaced
        for rank, phrase in sorted(set(candidates)):
            found = _compiled(phrase).search(text)
            if found:
                yield Match(self.rules[rank], found.start(), found.end())


def _phrases(lines: str) -> list[str]:
    return [phrase for line in lines.splitlines() if (phrase := " ".join(line.split()))]


@cache
def _anchors(phrase: str) -> tuple[str, ...]:
    """Return words of which a text must hold one for the phrase to fit."""
    groups: list[list[str]] = []
    for token in _TOKEN.findall(phrase):
        if token.endswith("?") or "*" in token:
            continue
        choices = [_WORD.findall(choice) for choice in token.strip("()").split("|")]
        if all(choices):
            groups.append([max(words, key=_telling) for words in choices])
    if not groups:
        raise ValueError(f"the phrase {phrase!r} needs a word that is always there")
    return tuple(dict.fromkeys(max(groups, key=lambda group: min(map(_telling, group)))))


def _telling(word: str) -> int:
    return 0 if word in _COMMON else len(word)


@lru_cache(maxsize=4096)
def _compiled(phrase: str) -> re.Pattern[str]:
    if not phrase.isascii():
        return re.compile(re.escape(phrase).replace(r"\ ", " "))
    pattern = ""
    joint = ""
    for token in _TOKEN.findall(phrase):
        if token == "~":
            joint = _GAP
        elif token.endswith("?"):
            pattern += (
                f"{joint}(?:{_piece(token[:-1])}{_BETWEEN})?"
                if joint != _BETWEEN
                else f"(?:{_BETWEEN}{_piece(token[:-1])})?"
            )
            joint = "" if joint != _BETWEEN else _BETWEEN
        else:
            pattern += joint + _piece(token)
            joint = _BETWEEN
    return re.compile(rf"(?<![a-z0-9]){pattern}(?![a-z0-9])")


def _piece(token: str) -> str:
    if token.startswith("("):
        choices = (
            re.escape(choice).replace(r"\ ", _BETWEEN).replace(r"\*", "[a-z0-9]*") for choice in token[1:-1].split("|")
        )
        return f"(?:{'|'.join(choices)})"
    return re.escape(token).replace(r"\*", "[a-z0-9]*")
