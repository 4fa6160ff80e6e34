"""`Upstream`: the server behind the proxy, as an HTTP client reaches it."""

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
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
from failwell.proxy.http.addresses import ServerUrl

BROKEN = (ClientError, OSError, TimeoutError, asyncio.IncompleteReadError)
"""What is raised when the server cannot be reached or breaks off."""

_KEPT_METHOD = (307, 308)
_MOST_REDIRECTS = 5
_LONGEST_HEADER = 1 << 16
_CONNECT_SECONDS = 30.0
# Servers close idle connections after five seconds (uvicorn, Node): a call must not meet that moment.
_IDLE_SECONDS = 4.0
_CHUNK = 1 << 18


class Upstream:
    """A pool of connections to one server.

    Redirects are followed only where they stay on the server's origin and keep the method, so that no credential
    reaches anybody else. Cookies are kept for one client only: a gateway has many.

    Args:
        place: where the server is.
        keeps_cookies: there is only one client.
    """

    def __init__(self, place: ServerUrl, *, keeps_cookies: bool = False) -> None:
        self.place = place
        self._proxy = None if is_loopback(place.host) else _proxy_for(place)
        self._session = ClientSession(
            connector=TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
            cookie_jar=CookieJar(unsafe=True) if keeps_cookies else DummyCookieJar(),
            timeout=ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            skip_auto_headers=("User-Agent", "Content-Type", "Accept"),
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
            read_bufsize=_CHUNK,
        )

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: Any = None) -> ClientResponse:
        """Return the head of the server's answer.

        Raises:
            ClientError: the server cannot be reached or breaks off; also `OSError` and `TimeoutError`.
        """
        history: list[ClientResponse] = []
        while len(history) < _MOST_REDIRECTS:
            response = await self._session.request(
                method, _parsed(url), headers=headers, data=body, allow_redirects=False, proxy=self._proxy
            )
            location = response.headers.get("Location")
            if response.status not in _KEPT_METHOD or not location or not isinstance(body, bytes | None):
                return response
            own = self.place.followed(url, location)
            if own is None:
                return response
            url = own
            response.close()
            history.append(response)
        raise TooManyRedirects(history[0].request_info, tuple(history))

    async def reach(self, seconds: float) -> None:
        """Do nothing if something listens where the server should be.

        Raises:
            OSError: nothing does.
            TimeoutError: nothing answers.
        """
        host, port = self.place.host, self.place.port
        if self._proxy is not None:
            through = ServerUrl(self._proxy)
            host, port = through.host, through.port
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(host, port)
        writer.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


@lru_cache(maxsize=256)
def _parsed(url: str) -> URL:
    return URL(url, encoded=True)


def _proxy_for(place: ServerUrl) -> str | None:
    found = getproxies().get(place.origin[0])
    return None if found is None or proxy_bypass(place.host) else found
