"""The address of this package's documentation."""

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata


@cache
def docs_address() -> str:
    """Return where the docs are, as the package says; empty if it does not."""
    try:
        listed = metadata("failwell").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named = {name: address for name, _, address in (str(line).partition(", ") for line in listed)}
    return named.get("Documentation", "").removesuffix("/index.md")
