"""Which version of an SDK is installed, and whether it is one we know."""

import re
from importlib import metadata

Version = tuple[int, ...]

# Distributions that bring the same package; frameworks depend on the small one.
_ALSO_CALLED = {"fastmcp": "fastmcp-slim"}


def installed(package: str) -> str:
    """Return the version of a package that is installed, under whichever name.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        if package not in _ALSO_CALLED:
            raise
        return metadata.version(_ALSO_CALLED[package])


def supported(package: str, least: Version, below: Version, *, who: str = "protect") -> Version:
    """Return the installed version of a package; *who* supports it says so if it is another.

    Raises:
        ValueError: it is not one we know.
    """
    text = installed(package)
    found = tuple(int(number) for number in re.findall(r"\d+", text)[:3])
    if not least <= found < below:
        raise ValueError(f"{who} supports {package} from {_dotted(least)} to below {_dotted(below)}, not {text}")
    return found


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
