"""Write the pages of docs/ that follow from the code: `python -m tools.generate_docs [FOLDER]`."""

import sys
from pathlib import Path

from tools import (
    advice_page,
    api_pages,
    check_page,
    cli_page,
    code_page,
    dialect_pages,
    mapping_page,
    reading_page,
    servers_page,
    stacks_page,
)

DOCS = Path(__file__).parent.parent / "docs"


def pages() -> dict[str, str]:
    """Return every generated page by its path below docs/."""
    return {
        "reference/advice.md": advice_page.page(),
        "reference/check_servers.md": check_page.page(),
        "reference/cli.md": cli_page.page(),
        "reference/codes.md": code_page.page(),
        "reference/mapping.md": mapping_page.page(),
        "integrations/frameworks.md": stacks_page.page(),
        "reference/what_clients_get.md": servers_page.page(),
        "reference/what_read_understands.md": reading_page.page(),
        **api_pages.pages(),
        **dialect_pages.pages(),
    }


def write(folder: Path = DOCS) -> None:
    """Write every generated page below a folder."""
    for name, text in pages().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(*map(Path, sys.argv[1:2]))
