"""Whole programs in the docs: a block that is titled with a file of the repository holds that file.

`python -m tools.included_code` writes them anew.
"""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(
    r'^```(?P<language>\w+) title="(?P<file>[^"\n]+/[^"\n]+)"\n(?P<code>.*?)^```$', re.MULTILINE | re.DOTALL
)


def pages() -> Iterator[tuple[Path, str, str]]:
    """Yield each page with its text as it is and as it should be."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        yield page, text, _BLOCK.sub(_current, text)


def _current(block: re.Match[str]) -> str:
    code = (ROOT / block["file"]).read_text(encoding="utf-8")
    return f'```{block["language"]} title="{block["file"]}"\n{code}```'


if __name__ == "__main__":
    for path, is_now, should_be in pages():
        if is_now != should_be:
            path.write_text(should_be, encoding="utf-8")
