"""Follow a page as a stranger would: save its files, type its commands, compare what they print.

A block of `python title="server.py"` is saved as that file, a block of `sh` is run, and a block of `text` directly
behind it is what must be printed: `...` in a line stands for anything, and a line of its own for any lines.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_FENCE = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```$', re.MULTILINE | re.DOTALL
)
_OURS = re.compile(r"(pip install .*)'failwell(\[[\w,-]+\])?'")
_ELLIPSIS = re.escape("...")
_LONGEST_COMMAND = 300


class SavedFile(NamedTuple):
    """A file that the page tells to save."""

    name: str
    text: str


class Command(NamedTuple):
    """Commands to type, and what they must print if the page says so."""

    text: str
    expected: str | None


Step = SavedFile | Command


def steps(page: str) -> Iterator[Step]:
    """Yield what a page tells to do, in its order."""
    blocks = list(_FENCE.finditer(page))
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block["language"] == "python" and block["title"]:
            yield SavedFile(block["title"], block["body"])
        elif block["language"] == "sh":
            is_output = (
                following is not None
                and following["language"] == "text"
                and not page[block.end() : following.start()].strip()
            )
            yield Command(block["body"], following["body"] if following and is_output else None)


def installing(command: str, wheel: Path) -> str:
    """Return a command that installs failwell from a wheel, with the same extras."""
    return _OURS.sub(lambda found: f"{found[1]}'failwell{found[2] or ''} @ {wheel.as_uri()}'", command)


def agrees(printed: str, expected: str) -> bool:
    """Return whether a command printed what the page says."""
    pattern = "".join(
        r"(?:[^\n]*\n)*" if line == "..." else re.escape(line).replace(_ELLIPSIS, r"[^\n]*") + r"\n"
        for line in expected.splitlines()
    )
    shown = "".join(f"{line.rstrip()}\n" for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, shown) is not None


def follow(page: str, folder: Path, wheel: Path, env: Mapping[str, str]) -> int:
    """Do what a page says in a folder, and return how many commands have printed what it says.

    A command must end with 0, or with 1 where the page shows what it found.
    """
    compared = 0
    for step in steps(page):
        if isinstance(step, SavedFile):
            (folder / step.name).write_text(step.text, encoding="utf-8")
            continue
        done = subprocess.run(
            ["sh", "-e", "-c", installing(step.text, wheel)],
            cwd=folder,
            env=dict(env),
            capture_output=True,
            text=True,
            timeout=_LONGEST_COMMAND,
            check=False,
        )
        said = f"{step.text}\nended with {done.returncode} and printed\n{done.stdout}\n{done.stderr[-2000:]}"
        assert done.returncode in ((0,) if step.expected is None else (0, 1)), said
        assert "Traceback" not in done.stdout + done.stderr, said
        if step.expected is not None:
            assert agrees(done.stdout, step.expected), f"{said}\nwhere the page says\n{step.expected}"
            compared += 1
    return compared
