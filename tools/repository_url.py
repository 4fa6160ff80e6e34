"""Write the address of the repository into every file that links to it: `python -m tools.repository_url https://…`."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def current(root: Path) -> str:
    """Return the address that stands in pyproject.toml, the one place that others are compared with."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["urls"]["Repository"])


def moved(text: str, old: str, new: str) -> str:
    """Return a text whose links into the old repository lead into the new one."""
    return text.replace(f"{old}/", f"{new}/").replace(f'"{old}"', f'"{new}"')


def main(new: str, root: Path = ROOT) -> None:
    """Change every tracked text that holds the current address, and say which."""
    old, new = current(root), new.rstrip("/")
    tracked = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    for name in tracked.splitlines():
        path = root / name
        if path.suffix not in {".md", ".toml", ".txt", ".yml"}:
            continue
        text = path.read_text(encoding="utf-8")
        if (changed := moved(text, old, new)) != text:
            path.write_text(changed, encoding="utf-8")
            sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    [address] = sys.argv[1:] or sys.exit("usage: python -m tools.repository_url https://HOST/OWNER/failwell")
    main(address)
