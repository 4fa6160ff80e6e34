"""`Access`: which requests the dashboard answers: none from other sites, and none without the token beyond loopback."""

import hashlib
import hmac
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from failwell._net import hostname_in, is_loopback

COOKIE = "failwell_dashboard"
SHORTEST_TOKEN = 16
_NEEDS_TOKEN = (
    "this dashboard needs its token: open its address with ?token=… once, or send the header Authorization: Bearer …; "
    "if you followed a link from another site, open the address directly"
)
_OWN_SITES = ("same-origin", "none")


class AccessRefused(Exception):
    """A request is refused; `status` says why to programs, the text to people."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Access:
    """Checks where requests come from, and their token.

    Args:
        host: the address to listen on. Host names are only checked on loopback: elsewhere they are unknown.
        token: what requests must know; None accepts all requests from this machine.

    Raises:
        ValueError: other machines could connect without a token, or the token can be guessed.
    """

    def __init__(self, host: str, token: str | None) -> None:
        self._is_local = is_loopback(host)
        if token is None and not self._is_local:
            raise ValueError(
                f"other machines can reach {host}: set --token or FAILWELL_DASHBOARD_TOKEN, or listen on 127.0.0.1"
            )
        if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
            raise ValueError(f"the token must have at least {SHORTEST_TOKEN} characters of ASCII")
        self._token = None if token is None else token.encode()
        # The cookie does not hold the token itself: browsers send cookies to every port of a host.
        self._cookie_value = (
            None if token is None else hmac.new(token.encode(), b"dashboard", hashlib.sha256).hexdigest()
        )

    def check(self, path: str, headers: Mapping[str, str]) -> None:
        """Check the origin of a request.

        Raises:
            AccessRefused: it comes from a page of another site, or is meant for another host.
        """
        host = headers.get("Host", "")
        name = hostname_in(f"//{host}")
        if name is None or (self._is_local and not is_loopback(name)):
            raise AccessRefused(421, "this host is not served here")
        origin = headers.get("Origin")
        if origin is not None and _host_of(origin) != host.lower():
            raise AccessRefused(403, "requests from other sites are refused")
        site = headers.get("Sec-Fetch-Site", "none")
        follows_link = path == "/" and headers.get("Sec-Fetch-Mode") == "navigate"
        if site not in _OWN_SITES and not (follows_link and headers.get("Sec-Fetch-Dest") == "document"):
            raise AccessRefused(403, "requests from other sites are refused")

    def check_token(self, headers: Mapping[str, str]) -> None:
        """Check the token of a request, if there is one.

        Raises:
            AccessRefused: the request does not have it.
        """
        if self._token is None or self._cookie_value is None:
            return
        scheme, _, given = headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.is_token(given.strip()):
            return
        if hmac.compare_digest(_cookie_in(headers).encode("utf-8", "replace"), self._cookie_value.encode()):
            return
        raise AccessRefused(401, _NEEDS_TOKEN)

    def is_token(self, given: str) -> bool:
        """Return whether this is the token, in constant time."""
        return self._token is not None and hmac.compare_digest(given.encode("utf-8", "replace"), self._token)

    @property
    def cookie(self) -> str:
        """The cookie that a browser gets for the token."""
        return f"{COOKIE}={self._cookie_value}; HttpOnly; SameSite=Strict; Path=/"


def _cookie_in(headers: Mapping[str, str]) -> str:
    try:
        found = SimpleCookie(headers.get("Cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _host_of(origin: str) -> str | None:
    """Return host and port of an origin. Its scheme is not ours where a proxy in front of us speaks TLS."""
    try:
        return urlsplit(origin.lower()).netloc or None
    except ValueError:
        return None
