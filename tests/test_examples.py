"""The programs in examples/ run, and print what they are meant to show."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
SHOWN = {
    "agent_session.py": [
        "send, try 1: retry",
        "sent to ann",
        "Next: Use list_mails.",
        "summary failed (UNAUTHORIZED). This is a fallback value, not a result:\n3 mails",
    ],
    "own_code.py": ["CONFLICT SEAT_TAKEN Call list_seats and choose a free one.", "CONFLICT SEAT_TAKEN use"],
    "raise_and_encode.py": ["Task 't-9' does not exist.", '"path":"owner"', "ALREADY_CLAIMED", "CONNECTION_REFUSED"],
    "read_and_decide.py": ["retry in 30 s", "verify:", "fix_input:", "retry in 0.05 s", "carry on"],
}


def test_every_example_is_run() -> None:
    assert {path.name for path in FOLDER.glob("*.py")} == set(SHOWN)


def test_every_example_is_listed() -> None:
    listed = set(re.findall(r"^\| \[`([\w./]+)`\]", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    folders = {f"{path.name}/" for path in FOLDER.iterdir() if path.is_dir() and path.name not in ("__pycache__", "ci")}

    assert listed == {*SHOWN, *folders, "ci/check.yml"}


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_prints_what_it_shows(name: str) -> None:
    done = subprocess.run([sys.executable, FOLDER / name], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    for expected in SHOWN[name]:
        assert expected in done.stdout
    assert "s3cret" not in done.stdout
