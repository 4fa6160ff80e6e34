"""Write the files for readers, or score their answers: `python -m bench.trial forms|score FOLDER`."""

import argparse
import shutil
import sys
from pathlib import Path

from bench.trial import scoring
from bench.trial.cases import HERE, cases
from bench.trial.forms import FORMS, page, ratio


def main(arguments: list[str]) -> int:
    """Run a command: 0 if it went well, 1 if answers cannot be scored."""
    parser = argparse.ArgumentParser(prog="python -m bench.trial")
    commands = parser.add_subparsers(dest="command", required=True)
    forms = commands.add_parser("forms", help="write a file of all cases for each form")
    forms.add_argument("folder", type=Path)
    forms.add_argument("--form", action="append", choices=list(FORMS), help="only this form; may be given repeatedly")
    score = commands.add_parser("score", help="score answers-<form>-<reader>.json")
    score.add_argument("folder", type=Path)
    given = parser.parse_args(arguments)
    return _write(given.folder, given.form or list(FORMS)) if given.command == "forms" else _score(given.folder)


def _write(folder: Path, names: list[str]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(HERE / "READERS.md", folder / "READERS.md")
    originals = FORMS["original"]()
    for name in names:
        texts = originals if name == "original" else FORMS[name]()
        path = folder / f"form-{name}.md"
        path.write_text(page(texts), encoding="utf-8")
        print(f"{path}: {len(cases())} cases, median length {ratio(texts, originals):.2f} × the original")
    return 0


def _score(folder: Path) -> int:
    try:
        found = scoring.scores(folder)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    if not found:
        print(f"there are no answers in {folder}: answers-<form>-<reader>.json", file=sys.stderr)
        return 1
    for line in scoring.report(found):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
