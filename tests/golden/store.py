"""The recordings on disk: a digest of every case, and the whole value of every twentieth."""

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from tests.golden.case import Case, canonical, digest

DATA = Path(__file__).with_name("data")
ENVIRONMENT = "environment.json"
PYTHON = "python"
_EVERY = 20
_LONGEST_SAMPLE = 12_000


class Difference(NamedTuple):
    """A case that is not as it was recorded. What it was is known of samples only; `now` is None if it is gone."""

    name: str
    before: str | None
    now: str | None


def recorded(section: str) -> dict[str, tuple[str, str | None]]:
    """Return the digest of every recorded case, and the value of those that are kept as samples."""
    path = DATA / f"{section}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    found: dict[str, tuple[str, str | None]] = {}
    for line in lines:
        name, digest_, *value = json.loads(line)
        found[name] = digest_, pretty(value[0]) if value else None
    return found


def made(cases: Iterable[Case]) -> Iterator[tuple[Case, Any]]:
    """Yield every case with its value. A case that breaks has its error for a value: that is a difference too."""
    for case in cases:
        try:
            value = case.make()
        except Exception as exc:  # recorded like any other value
            value = f"{type(exc).__name__}: {exc}"
        yield case, value


def write(section: str, cases: Iterable[Case]) -> int:
    """Record a section anew; return how many cases it has."""
    lines: dict[str, str] = {}
    needs = {PYTHON}
    for case in cases:
        if case.name in lines:
            raise ValueError(f"two cases of {section} are called {case.name}")
        value = case.make()  # what breaks is no recording
        needs.add(case.needs or PYTHON)
        sample = _is_sample(case.name) and len(canonical(value)) <= _LONGEST_SAMPLE
        lines[case.name] = canonical([case.name, digest(value), *([value] if sample else [])])
    DATA.mkdir(exist_ok=True)
    (DATA / f"{section}.jsonl").write_text("".join(f"{line}\n" for line in lines.values()))
    versions = environment() | {need: installed(need) for need in needs}
    (DATA / ENVIRONMENT).write_text(json.dumps(versions, indent=1, sort_keys=True) + "\n")
    return len(lines)


def differences(section: str, cases: Iterable[Case], *, heavy: bool = True) -> list[Difference]:
    """Return the cases of a section that are not as recorded; without heavy ones if those are not wanted.

    Those that depend on a library of another version than the recorded one cannot be compared, and are left out.
    """
    before, found, skipped, wanted = recorded(section), [], _other_libraries(), []
    for case in cases:
        if case.needs in skipped or (case.is_heavy and not heavy):
            before.pop(case.name, None)
        else:
            wanted.append(case)
    for case, value in made(wanted):
        was, sample = before.pop(case.name, (None, None))
        if was != digest(value):
            found.append(Difference(case.name, sample, pretty(value)))
    gone = [name for name in before if not any(name.startswith(f"{library}/") for library in skipped)]
    return found + [Difference(name, before[name][1], None) for name in gone]


def pretty(value: Any) -> str:
    """Return a value for a person to read and for `diff` to compare."""
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)


def environment() -> dict[str, str]:
    """Return the versions that were recorded with."""
    path = DATA / ENVIRONMENT
    found: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    return found


@cache
def installed(need: str) -> str:
    """Return the version of a distribution, or of Python itself; empty if it is not installed."""
    if need == PYTHON:
        return ".".join(platform.python_version_tuple()[:2])
    try:
        return version(need)
    except PackageNotFoundError:
        return ""


def _other_libraries() -> set[str]:
    return {need for need, was in environment().items() if installed(need) != was}


def _is_sample(name: str) -> bool:
    return hashlib.sha256(name.encode()).digest()[0] % _EVERY == 0
