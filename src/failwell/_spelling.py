"""Find the name that was probably meant."""

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

from failwell._lazy import lazy_pattern

F = TypeVar("F", bound=Callable[..., Any])

_MOST_CANDIDATES = 750
_LONGEST_NAME = 40
_CUTOFF = 0.6
_CAMEL_BORDER = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS = lazy_pattern(r"[\W_]+")


def closest(name: str, choices: Iterable[str], *, most: int = 3) -> list[str]:
    """Return up to *most* choices that *name* may be a slip of, best first.

    Case, dashes, dots and camelCase do not count, nor does the order of words: `listProjects` finds `projects.list`.
    """
    import difflib  # costs several ms: only when something was misspelt

    if len(name) > _LONGEST_NAME:
        return []
    wanted = in_snake_case(name)
    candidates: dict[str, str] = {}
    for choice in choices:
        if len(candidates) == _MOST_CANDIDATES:
            break
        if len(choice) <= _LONGEST_NAME:
            candidates.setdefault(normalised(choice), choice)
    words = set(wanted.split("_"))
    same_words = [choice for normal, choice in candidates.items() if set(normal.split("_")) == words]
    alike = [candidates[normal] for normal in difflib.get_close_matches(wanted, candidates, most, _CUTOFF)]
    return list(dict.fromkeys(same_words + alike))[:most]


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` to end an error message with, or nothing."""
    found = closest(name, choices, most=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def refuse_misspelt(what: str, given: Iterable[str], taken: Collection[str]) -> None:
    """Do nothing if all the keywords are among those *taken*.

    Raises:
        TypeError: *what* takes no such keyword; the message names the one that was probably meant.
    """
    for name in given:
        if name not in taken:
            raise TypeError(f"{what} has no setting {name!r}{did_you_mean(name, taken)}") from None


def names_slips(function: F) -> F:
    """Make a function or an `__init__` answer a misspelt keyword with the one that was probably meant."""

    @wraps(function)
    def called(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except TypeError:
            if keywords:
                from inspect import signature

                what = type(args[0]).__name__ if function.__name__ == "__init__" else function.__name__
                refuse_misspelt(what, keywords, signature(function).parameters)
            raise

    return cast(F, called)


def normalised(name: str) -> str:
    """Return a name in snake_case, whatever case and separators it came with; one that comes back is remembered."""
    return _remembered(name) if len(name) <= _LONGEST_NAME else in_snake_case(name)


def in_snake_case(name: str) -> str:
    """Return what `normalised` does, and remember nothing: a slip is rarely made twice, and callers make many."""
    return _SEPARATORS.sub("_", _CAMEL_BORDER.sub("_", name)).strip("_").lower()


_remembered = lru_cache(maxsize=2048)(in_snake_case)  # names of tools and arguments come back from call to call
