"""`ServerUrl`: the server's URL, and which URL of it a request to the proxy means; `AllowedHosts`: who may come in."""

from base64 import b64encode
from urllib.parse import SplitResult, urljoin, urlsplit

from failwell._net import hostname_in, is_loopback

_PORTS = {"http": 80, "https": 443}
_ANY = "*"
_MOST_KNOWN = 64


class ServerUrl:
    """The URL of a server. A request for `/`, or for the URL's own path, means that URL; another path, the same path.

    Raises:
        ValueError: it is not the URL of a server.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("must be the address of a server, such as https://example.com/mcp")
        self.origin = _origin(parts)
        self.host, self.port = parts.hostname, self.origin[2]
        self.root = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self.path = parts.path or "/"
        self.query = parts.query
        self.url = self.url_for("/")
        self.authorization = _basic(parts)

    def url_for(self, target: str) -> str:
        """Return the URL that a request target (a path with its query) means."""
        if not target.startswith("/"):  # a whole URL, or a trick: `@evil.example` behind the host names another host
            target = "/" + (target.partition("://")[2].partition("/")[2] if "://" in target else "")
        path, _, query = target.partition("?")
        if path in ("/", self.path):
            path, query = self.path, query or self.query
        return f"{self.root}{path}?{query}" if query else f"{self.root}{path}"

    def followed(self, url: str, reference: str) -> str | None:
        """Return the URL that the server refers to from another; None if it is not on the server's origin."""
        try:
            found = urljoin(url, reference)
            return found if _origin(urlsplit(found)) == self.origin else None
        except ValueError:
            return None

    def target_of(self, reference: str) -> str | None:
        """Return the path by which a client reaches, through the proxy, what the server refers to; None: elsewhere."""
        url = self.followed(self.url, reference)
        if url is None:
            return None
        parts = urlsplit(url)
        return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


class AllowedHosts:
    """Says who may come in: pages of strangers may not, even if their host's name suddenly means this machine.

    Args:
        host: the address that is listened on. Names of hosts are only checked on loopback.
        origins: origins of pages that may come in beside local ones; `*` for all.
    """

    def __init__(self, host: str, *, origins: tuple[str, ...] = ()) -> None:
        self._is_local = is_loopback(host)
        self._host = host.lower()
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        self._known: dict[tuple[str | None, str | None], str | None] = {}

    def objection(self, host: str | None, origin: str | None) -> str | None:
        """Return why a request with these headers may not come in, or None."""
        asked = (host, origin)
        if asked not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[asked] = self._objection(host, origin)
        return self._known[asked]

    def _objection(self, host: str | None, origin: str | None) -> str | None:
        name = hostname_in(f"//{host}") if host else None
        if self._is_local and (name is None or not (is_loopback(name) or name == self._host)):
            return "this host is not served here"
        if origin is None or _ANY in self._origins or origin.lower() in self._origins:
            return None
        page = hostname_in(origin)
        if page is not None and (page == name or is_loopback(page)):
            return None
        return "this origin may not come in; failwell proxy --allow-origin lets it"


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)


def _basic(parts: SplitResult) -> str | None:
    if parts.username is None:
        return None
    return "Basic " + b64encode(f"{parts.username}:{parts.password or ''}".encode()).decode()
