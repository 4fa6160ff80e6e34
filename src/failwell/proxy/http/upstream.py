"""`Upstream`: the connections to the server behind the proxy; `ServerUrl`: which of its URLs a path means."""

import asyncio
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

try:
    from aiohttp import (
        ClientError,
        ClientResponse,
        ClientSession,
        ClientTimeout,
        CookieJar,
        DummyCookieJar,
        TCPConnector,
        TooManyRedirects,
    )
except ImportError as missing:
    raise ImportError("the proxy in front of a URL needs aiohttp: pip install 'failwell[http-proxy]'") from missing
from yarl import URL

from failwell._net import is_loopback
from failwell.proxy.bounds import CONNECT_TIMEOUT, MAX_HEADER, MAX_REDIRECTS
from failwell.proxy.http.bodies import BodyMemory
from failwell.proxy.http.event_stream import EventSplitter

BROKEN = (ClientError, OSError, TimeoutError, asyncio.IncompleteReadError)
"""What is raised when the server cannot be reached or the connection breaks."""

_PORTS = {"http": 80, "https": 443}
_REDIRECTS = (307, 308)  # those that keep the method
# Servers close idle connections after five seconds (uvicorn, Node): no call must be sent at that moment.
_IDLE_SECONDS = 4.0
_CHUNK = 1 << 18


# Where clients look for what a server says about itself and its authorization: no dots that lead elsewhere.
_PART = r"/(?!\.\.?(?:/|$))[\w.~-]+"
_METADATA = re.compile(rf"(?:{_PART})*?/\.well-known(?:{_PART})+", re.ASCII)


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

    def is_endpoint(self, target: str) -> bool:
        """Return whether a request target means the URL itself; a slash at the end of its path does not matter."""
        return self._is_own(_split(target)[0])

    def _is_own(self, path: str) -> bool:
        return path.rstrip("/") in ("", self.path.rstrip("/"))

    def is_metadata(self, target: str) -> bool:
        """Return whether a request target means what the server publishes about itself."""
        return _METADATA.fullmatch(_split(target)[0]) is not None

    def url_for(self, target: str) -> str:
        """Return the URL that a request target (a path with its query) means."""
        path, query = _split(target)
        if self._is_own(path):
            path, query = self.path, query or self.query
        return f"{self.root}{path}?{query}" if query else f"{self.root}{path}"

    def resolve(self, url: str, reference: str) -> str | None:
        """Return the URL that the server refers to from another; None if it is not on the server's origin."""
        try:
            found = urljoin(url, reference)
            return found if _origin(urlsplit(found)) == self.origin else None
        except ValueError:
            return None

    def target_of(self, reference: str) -> str | None:
        """Return the path through the proxy to what the server refers to; None if that is on another origin."""
        url = self.resolve(self.url, reference)
        if url is None:
            return None
        parts = urlsplit(url)
        return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


def _split(target: str) -> tuple[str, str]:
    """Return the path and the query of a request target."""
    if not target.startswith("/"):  # a whole URL, or an attack: `@evil.example` after the host names another host
        target = "/" + (target.partition("://")[2].partition("/")[2] if "://" in target else "")
    path, _, query = target.partition("?")
    return path, query


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)


def _basic(parts: SplitResult) -> str | None:
    if parts.username is None:
        return None
    return "Basic " + b64encode(f"{parts.username}:{parts.password or ''}".encode()).decode()


class Upstream:
    """A pool of connections to one server, and the memory of what passes between it and its clients.

    Redirects are followed only where they stay on the server's origin and keep the method, so that no credential
    reaches another server. Cookies are kept for one client only: a gateway has many.

    Args:
        server_url: the URL of the server.
        keeps_cookies: there is only one client.
    """

    def __init__(self, server_url: ServerUrl, *, keeps_cookies: bool = False) -> None:
        self.server_url = server_url
        self.memory = BodyMemory()
        self._proxy = None if is_loopback(server_url.host) else _proxy_for(server_url)
        self._session = ClientSession(
            connector=TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
            cookie_jar=CookieJar(unsafe=True) if keeps_cookies else DummyCookieJar(),
            timeout=ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
            skip_auto_headers=("User-Agent", "Content-Type", "Accept"),
            max_line_size=MAX_HEADER,
            max_field_size=MAX_HEADER,
            read_bufsize=_CHUNK,
        )

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: Any = None) -> ClientResponse:
        """Return the head of the server's response.

        Raises:
            ClientError: the server cannot be reached or the connection breaks; also `OSError` and `TimeoutError`.
        """
        history: list[ClientResponse] = []
        while len(history) < MAX_REDIRECTS:
            response = await self._session.request(
                method, _parse_url(url), headers=headers, data=body, allow_redirects=False, proxy=self._proxy
            )
            location = response.headers.get("Location")
            if response.status not in _REDIRECTS or not location or not isinstance(body, bytes | None):
                return response
            own = self.server_url.resolve(url, location)
            if own is None:
                return response
            url = own
            response.close()
            history.append(response)
        raise TooManyRedirects(history[0].request_info, tuple(history))

    async def reach(self, seconds: float) -> None:
        """Check that something listens where the server should be.

        Raises:
            OSError: nothing does.
            TimeoutError: nothing answers.
        """
        host, port = self.server_url.host, self.server_url.port
        if self._proxy is not None:
            proxy = ServerUrl(self._proxy)
            host, port = proxy.host, proxy.port
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(host, port)
        writer.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


async def read_events(response: ClientResponse, events: EventSplitter) -> AsyncIterator[list[bytes]]:
    """Yield the events of a response as they become complete, those that came together in one list.

    Raises:
        BodyTooLong: an event has no end; also `TooManyBodies`.
    """
    async for chunk in response.content.iter_any():
        if found := events.feed(chunk):
            yield found
    if found := events.finish():
        yield found


@lru_cache(maxsize=256)
def _parse_url(url: str) -> URL:
    return URL(url, encoded=True)


def _proxy_for(server_url: ServerUrl) -> str | None:
    found = getproxies().get(server_url.origin[0])
    return None if found is None or proxy_bypass(server_url.host) else found
