"""`Renewing`: a server behind a URL that lost its session, and gets the client's handshake again."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from aiohttp import ClientResponse
from multidict import CIMultiDict

from failwell.json_types import is_object
from failwell.proxy.events import Happening
from failwell.proxy.glances import encode
from failwell.proxy.http.learning import answer_in
from failwell.proxy.http.places import Place
from failwell.proxy.http.replying import Headers
from failwell.proxy.http.stamping import Stamps
from failwell.proxy.http.upstream import Upstream

_OK, _SESSION_IS_GONE = 200, 404
_SESSION = "Mcp-Session-Id"
_INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Renewing(Upstream):
    """A pool of connections to one server, for one client that knows nothing of sessions.

    A server that does not know a session has done nothing with the request, so that it may be made again in a new one.

    Args:
        place: where the server is.
        is_wanted: whether the operator wants it.
    """

    def __init__(self, place: Place, *, is_wanted: bool) -> None:
        super().__init__(place, keeps_cookies=True)
        self.begun: Begun | None = None
        self._is_wanted = is_wanted
        self._lock = asyncio.Lock()

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: Any = None) -> ClientResponse:
        """Return the head of the server's answer, in a new session if the old one is gone."""
        response = await super().send(method, url, headers, body)
        lost = headers.get(_SESSION)
        if response.status != _SESSION_IS_GONE or lost is None or method == "DELETE" or self.begun is None:
            return response
        session = await self._renewed(self.begun, url, lost) if self._is_wanted else None
        if session is None:
            return response
        response.release()
        again = CIMultiDict(headers)
        again[_SESSION] = session
        return await super().send(method, url, again, body)

    async def _renewed(self, begun: "Begun", url: str, lost: str) -> str | None:
        """Return the session that takes the place of one that is lost; None: the server begins none."""
        stamps = begun.stamps
        async with self._lock:
            if stamps.session != lost:  # another request was first to find it gone
                return stamps.session
            response = await super().send("POST", url, begun.head({"method": "initialize"}), begun.handshake)
            try:
                message = await answer_in(response) if response.status == _OK else None
            finally:
                response.release()
            session = response.headers.get(_SESSION)
            result = None if message is None else message.get("result")
            if session is None or not is_object(result):
                return None
            stamps.session, stamps.version = session, result.get("protocolVersion")
            told = await super().send("POST", url, begun.head(_INITIALIZED), encode(_INITIALIZED))
            told.release()
            begun.report(Happening("restarted"))
            return session


class Begun(NamedTuple):
    """How the client began, where its session is kept, what gives the headers of a message, and who is told."""

    handshake: bytes
    stamps: Stamps
    head: Callable[[Any], Headers]
    report: Callable[[Happening], object]
