"""Write the pictures of docs/: `python -m tools.pictures [NAME...]`, all of them unless told which."""

import sys
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"

PICTURES = {
    "check_report": "check_report.png",
    "dashboard-dark": "dashboard-dark.png",
    "dashboard-light": "dashboard-light.png",
    "dashboard-details": "dashboard-details.png",
    "demo": "demo.svg",
    "fleet": "fleet.svg",
}
"""The files below docs/pictures, by the module of this package whose `draw(path)` writes them, and a word behind it."""


def main(names: list[str]) -> int:
    """Write the pictures that are named and return the exit code."""
    if unknown := [name for name in names if name not in PICTURES]:
        sys.stderr.write(f"there is no picture {unknown[0]}: choose from {', '.join(PICTURES)}\n")
        return 2
    FOLDER.mkdir(exist_ok=True)
    for name in names or PICTURES:
        path = FOLDER / PICTURES[name]
        import_module(f"tools.pictures.{name.partition('-')[0]}").draw(path)
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
