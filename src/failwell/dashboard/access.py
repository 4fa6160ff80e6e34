"""`Access`: who may open the dashboard: no pages of other sites, and beyond loopback only with the token."""

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
    "who came by a link of another site opens the address once more by hand"
)
_OWN = ("same-origin", "none")


class AccessRefused(Exception):
    """A request may not come in; `status` says why to programs, the text to people."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Access:
    """Says who may come in.

    Args:
        host: the address that is listened on. Names of hosts are only checked on loopback, as we cannot know others.
        token: what others must know; None lets everybody on this machine in.

    Raises:
        ValueError: others could come in, and there is no token, or one that can be guessed.
    """

    def __init__(self, host: str, token: str | None) -> None:
        self._is_local = is_loopback(host)
        if token is None and not self._is_local:
            raise ValueError(
                f"others can reach {host}: give --token or FAILWELL_DASHBOARD_TOKEN, or listen on 127.0.0.1"
            )
        if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
            raise ValueError(f"the token must have at least {SHORTEST_TOKEN} characters of ASCII")
        self._token = None if token is None else token.encode()
        # What a browser keeps is not the token itself: cookies go to every port of a host.
        self._kept = None if token is None else hmac.new(token.encode(), b"dashboard", hashlib.sha256).hexdigest()

    def check(self, path: str, headers: Mapping[str, str]) -> None:
        """Do nothing if a request comes from here.

        Raises:
            AccessRefused: it comes from a stranger's page, or under a stranger's name.
        """
        host = headers.get("Host", "")
        name = hostname_in(f"//{host}")
        if name is None or (self._is_local and not is_loopback(name)):
            raise AccessRefused(421, "this host is not served here")
        origin = headers.get("Origin")
        if origin is not None and _place_of(origin) != host.lower():
            raise AccessRefused(403, "pages from elsewhere may not ask for this")
        site = headers.get("Sec-Fetch-Site", "none")
        follows_link = path == "/" and headers.get("Sec-Fetch-Mode") == "navigate"
        if site not in _OWN and not (follows_link and headers.get("Sec-Fetch-Dest") == "document"):
            raise AccessRefused(403, "pages from elsewhere may not ask for this")

    def check_token(self, headers: Mapping[str, str]) -> None:
        """Do nothing if a request knows the token, or there is none.

        Raises:
            AccessRefused: it does not.
        """
        if self._token is None or self._kept is None:
            return
        scheme, _, given = headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.knows(given.strip()):
            return
        if hmac.compare_digest(_cookie(headers).encode("utf-8", "replace"), self._kept.encode()):
            return
        raise AccessRefused(401, _NEEDS_TOKEN)

    def knows(self, given: str) -> bool:
        """Return whether this is the token; how long it takes tells nothing."""
        return self._token is not None and hmac.compare_digest(given.encode("utf-8", "replace"), self._token)

    @property
    def cookie(self) -> str:
        """What a browser is given to keep, once it has shown the token."""
        return f"{COOKIE}={self._kept}; HttpOnly; SameSite=Strict; Path=/"


def _cookie(headers: Mapping[str, str]) -> str:
    try:
        found = SimpleCookie(headers.get("Cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _place_of(origin: str) -> str | None:
    """Return host and port of an origin. Its scheme is not ours where a proxy in front of us speaks TLS."""
    try:
        return urlsplit(origin.lower()).netloc or None
    except ValueError:
        return None
