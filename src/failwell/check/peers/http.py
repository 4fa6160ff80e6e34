"""A connection to a server by its URL, over streamable HTTP."""

import asyncio
import json
from base64 import b64encode
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, unquote_to_bytes, urlsplit
from urllib.request import Request, urlopen

from failwell._json import is_object
from failwell.check.peers.peer import PROTOCOL_VERSION, BadServer, PeerGone, one_line

_GRACE = 1.0
_AT_START = ("initialize", "tools/list")


class HttpPeer:
    """A URL that takes JSON-RPC by POST. Each request has a connection of its own.

    *start* and *wait* are how long the first answer and later ones may take; callers give up a little earlier.
    """

    def __init__(self, url: str, *, start: float = 30.0, wait: float = 10.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise BadServer(f"not an address of a server: {one_line(url)!r}")
        self._url, self._credentials = _without_credentials(parts)
        self._start, self._wait = start + _GRACE, wait + _GRACE
        self._session: str | None = None
        self._last = 0
        self._noise = ""

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the whole JSON-RPC answer to a request."""
        self._last += 1
        number = self._last
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        answer = await asyncio.to_thread(self._post, message, number)
        if answer is None:
            raise PeerGone("the server closed the connection without an answer")
        return answer

    async def notify(self, method: str) -> None:
        """Send a notification."""
        await asyncio.to_thread(self._post, {"jsonrpc": "2.0", "method": method}, None)

    async def close(self) -> None:
        """End the session."""
        if self._session is not None:
            await asyncio.to_thread(self._delete)

    def complaint(self) -> str:
        """Return what the server sent that is no answer."""
        return one_line(self._noise)

    def _headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": PROTOCOL_VERSION,
        }
        if self._credentials is not None:
            headers["Authorization"] = self._credentials
        return headers if self._session is None else {**headers, "Mcp-Session-Id": self._session}

    def _post(self, message: dict[str, Any], number: int | None) -> dict[str, Any] | None:
        body = json.dumps(message).encode()
        request = Request(self._url, body, self._headers(), method="POST")
        try:
            with urlopen(request, timeout=self._start if message["method"] in _AT_START else self._wait) as response:
                self._session = response.headers.get("Mcp-Session-Id") or self._session
                if number is None:
                    return None
                if response.headers.get_content_type() == "text/event-stream":
                    return self._from_events(response, number)
                return self._answer(response.read(), number)
        except HTTPError as refused:
            with refused:
                found = self._answer(refused.read(), number)
            if found is None:
                raise PeerGone(f"the server answered with HTTP status {refused.code}") from None
            return found
        except URLError as failed:
            raise PeerGone(
                f"cannot reach {one_line(self._url)}: {getattr(failed.reason, 'strerror', None) or failed.reason}"
            ) from None
        except (OSError, HTTPException) as failed:
            raise PeerGone(f"the connection broke: {one_line(str(failed)) or type(failed).__name__}") from None

    def _answer(self, body: bytes, number: int | None) -> dict[str, Any] | None:
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            self._noise = body[:1000].decode("utf-8", "replace")
            return None
        is_ours = is_object(found) and "method" not in found and found.get("id") in (number, None)
        return found if is_ours and ("result" in found or "error" in found) else None

    def _from_events(self, response: Any, number: int) -> dict[str, Any] | None:
        held: list[bytes] = []
        for line in response:
            line = line.rstrip(b"\r\n")
            if line.startswith(b"data:"):
                held.append(line[5:].lstrip())
            elif not line and held:
                found = self._answer(b"\n".join(held), number)
                if found is not None:
                    return found
                held.clear()
        return self._answer(b"\n".join(held), number) if held else None

    def _delete(self) -> None:
        request = Request(self._url, headers=self._headers(), method="DELETE")
        try:
            with urlopen(request, timeout=self._wait):
                pass
        except (OSError, HTTPException):
            pass  # a server need not offer it


def _without_credentials(url: SplitResult) -> tuple[str, str | None]:
    """Return a URL without user and password, and both as a header."""
    user, at, host = url.netloc.rpartition("@")
    if not at:
        return url.geturl(), None
    return url._replace(netloc=host).geturl(), f"Basic {b64encode(unquote_to_bytes(user)).decode()}"
