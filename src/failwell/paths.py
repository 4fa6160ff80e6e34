"""Where in the arguments a problem is: paths such as `items[0].sku`.

Keys are joined by dots, indices stand in brackets, a key that is no plain name is written `["a.b"]`, and the
arguments as a whole are `(root)`.
"""

import json
import re
from collections.abc import Iterable

from failwell.failure import ROOT

_PLAIN_KEY = re.compile(r'[^\s.\[\]()"\\]+')
_STEP = re.compile(r'\[(0|[1-9]\d*)\]|\[("(?:[^"\\]|\\.)*")\]|(\.?)([^\s.\[\]()"\\]+)')


def join(keys: Iterable[str | int]) -> str:
    """Return the path that leads along these keys and indices."""
    path = "".join(map(_written, keys)).removeprefix(".")
    return path or ROOT


def split(path: str) -> tuple[str | int, ...]:
    """Return the keys and indices that a path leads along.

    Raises:
        ValueError: the text is not written as a path.
    """
    if path == ROOT:
        return ()
    keys: list[str | int] = []
    at = 0
    while at < len(path) or not path:
        step = _STEP.match(path, at)
        if step is None or (step[4] and bool(step[3]) is not bool(keys)):
            raise ValueError(f"{path!r} is not a path such as 'items[0].sku': look at character {at}")
        keys.append(int(step[1]) if step[1] else json.loads(step[2]) if step[2] else step[4])
        at = step.end()
    return tuple(keys)


def child(path: str, key: str | int) -> str:
    """Return the path of a member of what is at *path*."""
    return _written(key).removeprefix(".") if path == ROOT else path + _written(key)


def keys(path: str) -> tuple[str | int, ...]:
    """Return the keys and indices of a path; a text that is not written as a path is taken for one key."""
    return _lenient(path)


def parent(path: str) -> str:
    """Return the path of what holds the value at *path*; a text that is not written as a path is taken for one key."""
    return join(_lenient(path)[:-1])


def last_key(path: str) -> str:
    """Return the key or index that *path* ends in, as text."""
    keys = _lenient(path)
    return str(keys[-1]) if keys else ROOT


def _written(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    if _PLAIN_KEY.fullmatch(key) and key.isprintable():
        return f".{key}"
    return f"[{json.dumps(key, ensure_ascii=not key.isprintable())}]"


def _lenient(path: str) -> tuple[str | int, ...]:
    try:
        return split(path)
    except ValueError:
        return (path,)
