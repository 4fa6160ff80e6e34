"""How a page is followed; that the pages are followed from a wheel is `nox -s stranger`."""

import os
from pathlib import Path

import pytest

from tests.stranger.pages import Command, SavedFile, agrees, follow, installing, steps

START = Path(__file__).parents[2] / "docs" / "start"
WHEEL = Path("/dist/failwell-1-py3-none-any.whl")
PAGE = """
```python title="hello.py"
print("hello", 17)
```

```sh
python3 hello.py
```

```text
hello ...
```

Or, which prints something that nobody compares:

```sh
echo unseen
```

In words:

```text
not an output
```
"""


def test_a_page_is_taken_apart_in_its_order() -> None:
    assert list(steps(PAGE)) == [
        SavedFile("hello.py", 'print("hello", 17)\n'),
        Command("python3 hello.py\n", "hello ...\n"),
        Command("echo unseen\n", None),
    ]


def test_a_page_that_is_right_is_followed_to_its_end(tmp_path: Path) -> None:
    assert follow(PAGE, tmp_path, WHEEL, os.environ) == 1


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("hello ...", "goodbye ..."), ("echo unseen", "exit 1"), ('("hello", 17)', '("Traceback")'), ("hello.py", "b.py")],
)
def test_a_page_that_is_wrong_is_found_out(right: str, wrong: str, tmp_path: Path) -> None:
    page = PAGE.replace(right, wrong, 1)
    assert page != PAGE

    with pytest.raises(AssertionError):
        follow(page, tmp_path, WHEEL, os.environ)


@pytest.mark.parametrize(
    ("printed", "expected", "is_right"),
    [
        ("a\nb\nc\n", "a\n...\nc\n", True),
        ("a\nc\n", "a\n...\nc\n", True),
        ("a 1 b  \n", "a ... b\n", True),
        ("a\nb\n", "a ... b\n", False),
        ("a\nb\n", "a\n", False),
        ("a.b\n", "a?b\n", False),
        ("", "a\n", False),
    ],
)
def test_what_is_printed_is_compared_line_by_line(printed: str, expected: str, is_right: bool) -> None:
    assert agrees(printed, expected) is is_right


@pytest.mark.parametrize(
    ("typed", "done"),
    [
        ("pip install 'failwell[mcp,cli]'", f"pip install 'failwell[mcp,cli] @ {WHEEL.as_uri()}'"),
        ("pip install 'failwell'", f"pip install 'failwell @ {WHEEL.as_uri()}'"),
        ("pip install 'httpx'", "pip install 'httpx'"),
    ],
)
def test_failwell_is_installed_from_the_wheel_with_its_extras(typed: str, done: str) -> None:
    assert installing(typed, WHEEL) == done


@pytest.mark.parametrize("page", ["agent", "check", "proxy", "server"])
def test_a_page_to_start_with_installs_saves_and_shows(page: str) -> None:
    told = list(steps((START / f"{page}.md").read_text(encoding="utf-8")))

    assert isinstance(told[0], Command)
    assert installing(told[0].text, WHEEL) != told[0].text
    assert any(isinstance(step, SavedFile) for step in told)
    assert sum(isinstance(step, Command) and step.expected is not None for step in told) >= 2
