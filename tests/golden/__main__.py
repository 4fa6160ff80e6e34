"""Compare what failwell does with its recordings, or record it again.

python -m tests.golden                       compare; 1 if something is different
python -m tests.golden --diff HEAD           what was and what is, compared with a commit
python -m tests.golden --diff FOLDER         the same, compared with a dump
python -m tests.golden --dump FOLDER         write every value in full, one text file per section
python -m tests.golden --write               record everything again
"""

import argparse
import difflib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.golden import store
from tests.golden.sections import SECTIONS

ROOT = Path(__file__).parents[2]
_HEAD = "=== "
_MOST_LINES = 60


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.golden", description=__doc__.partition("\n")[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", action="store_true", help="record again")
    what.add_argument("--dump", metavar="FOLDER", type=Path, help="write every value in full")
    what.add_argument("--diff", metavar="WHERE", help="show what changed since a commit or a dump")
    parser.add_argument("--all", action="store_true", help="show long differences in full")
    parser.add_argument("sections", nargs="*", help=f"all unless told: {', '.join(SECTIONS)}")
    options = parser.parse_args(words)
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    sections = options.sections or list(SECTIONS)
    most = None if options.all else _MOST_LINES
    if options.write:
        for section in sections:
            _say(f"{section}: {store.write(section, SECTIONS[section]())} cases")
        return 0
    if options.dump:
        _dump(options.dump, sections)
        return 0
    if options.diff:
        return _diff(options.diff, sections, most)
    return _compare(sections, most)


def _compare(sections: list[str], most: int | None) -> int:
    total = 0
    for section in sections:
        found = store.differences(section, SECTIONS[section]())
        total += len(found)
        for difference in found:
            before = difference.before if difference.before is not None else "(only its digest is recorded)"
            _show(f"{section}: {difference.name}", before, difference.now or "(gone)", most)
        _say(f"{section}: {len(found)} differences")
    if total:
        _say("`python -m tests.golden --diff HEAD` shows what all of them were; --write records them again.")
    return 1 if total else 0


def _dump(folder: Path, sections: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for section in sections:
        with (folder / f"{section}.txt").open("w") as file:
            for case, value in store.made(SECTIONS[section]()):
                file.write(f"{_HEAD}{case.name}\n{store.pretty(value)}\n")


def _diff(where: str, sections: list[str], most: int | None) -> int:
    with tempfile.TemporaryDirectory() as folder:
        before = Path(where)
        if not before.is_dir():
            before = Path(folder) / "before"
            _dump_of_commit(where, Path(folder) / "commit", before, sections)
        now = Path(folder) / "now"
        _dump(now, sections)
        total = 0
        for section in sections:
            old, new = (dict(_cases(path / f"{section}.txt")) for path in (before, now))
            changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
            total += len(changed)
            for name in changed:
                _show(f"{section}: {name}", old.get(name, "(not there)"), new.get(name, "(gone)"), most)
            _say(f"{section}: {len(changed)} differences")
    return 1 if total else 0


def _dump_of_commit(commit: str, tree: Path, folder: Path, sections: list[str]) -> None:
    """Dump what a commit does, recorded by its own tests if it has them, else by those of today."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(tree, filter="data")
    tests = tree if (tree / "tests" / "golden").is_dir() else ROOT
    subprocess.run(
        [sys.executable, "-m", "tests.golden", "--dump", str(folder), *sections],
        cwd=tests,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(tree / "src"), str(tests)))},
        check=True,
    )


def _cases(path: Path) -> Iterator[tuple[str, str]]:
    text = path.read_text() if path.exists() else ""
    for part in ("\n" + text).split(f"\n{_HEAD}")[1:]:
        name, _, value = part.partition("\n")
        yield name, value.rstrip("\n")


def _show(title: str, before: str, now: str, most: int | None) -> None:
    lines = list(difflib.unified_diff(before.splitlines(), now.splitlines(), "before", "now", lineterm="", n=2))
    _say(f"\n{title}")
    for line in lines[:most]:
        _say(line)
    if most is not None and len(lines) > most:
        _say(f"… {len(lines) - most} more lines: --all shows them")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
