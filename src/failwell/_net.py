"""Which host names mean this machine."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Return whether a name or address means this machine and no other."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def hostname_in(url: str) -> str | None:
    """Return the host of a URL, or None."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
