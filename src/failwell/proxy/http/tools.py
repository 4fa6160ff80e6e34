"""`Learner`: asks a server for its tools where the client's own question did not come this way."""

import asyncio
from itertools import count
from typing import Any

from aiohttp import ClientResponse
from multidict import CIMultiDict

from failwell._json import is_object
from failwell.proxy.http.event_stream import Events, data_of
from failwell.proxy.http.sessions import Ask
from failwell.proxy.http.upstream import BROKEN, Upstream
from failwell.proxy.messages import decoded, encode
from failwell.proxy.rewriter import Message

_MOST_PAGES = 20
_SECONDS = 30.0
LONGEST_WAIT = 2.0
"""How long a call waits where the list decides what becomes of it: whether it is made at all, or made again."""
_SHORTEST_WAIT = 0.25
_OF_ONE_CALL = ("mcp-name", "mcp-param-")


def patience(took: float) -> float:
    """Return how long a failure waits for a list that only makes it clearer, given how long the call took."""
    return min(max(took, _SHORTEST_WAIT), LONGEST_WAIT)


class ToolLister:
    """Asks once for each session, unless its tools are known already: another process may have seen them listed.

    A server that does not answer soon delays few calls and none for long: once one has waited in vain, the others of
    its session do not wait, and what the server lists late is known from then on.

    Args:
        upstream: the server.
    """

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._numbers = count(1)

    async def learn(self, ask: Ask, seconds: float) -> None:
        """Learn the tools of the session that a call is made in, with the rights of its client, or go on without."""
        session = ask.session
        if session.asking is None:
            if session.upgrader.tools.names():
                return
            session.asking = asyncio.ensure_future(self._learnt(ask))
            session.is_slow = False
        if not session.is_slow:
            done, _ = await asyncio.wait((session.asking,), timeout=seconds)
            session.is_slow = not done

    async def _learnt(self, ask: Ask) -> None:
        try:
            async with asyncio.timeout(_SECONDS):
                await self._ask_for_all(ask)
        except (*BROKEN, RuntimeError):  # the latter is aiohttp's: the proxy has ended meanwhile
            return  # the call itself finds out what is wrong

    async def _ask_for_all(self, ask: Ask) -> None:
        headers = _headers(ask)
        params = _params(ask)
        for _ in range(_MOST_PAGES):
            id = f"failwell-tools-{next(self._numbers)}"  # no client uses it
            body = encode({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params})
            response = await self._upstream.send("POST", ask.url, headers, body)
            try:
                message = await answer_in(response) if response.status == 200 else None
            finally:
                response.release()
            ask.session.learn(message, is_page=True)
            result = message.get("result") if is_object(message) else None
            cursor = result.get("nextCursor") if is_object(result) else None
            if not isinstance(cursor, str):
                return
            params = {**params, "cursor": cursor}


def _headers(ask: Ask) -> CIMultiDict[str]:
    kept = [(name, value) for name, value in ask.headers.items() if not name.lower().startswith(_OF_ONE_CALL)]
    headers = CIMultiDict(kept)
    if "Mcp-Method" in headers:
        headers["Mcp-Method"] = "tools/list"
    return headers


def _params(ask: Ask) -> dict[str, Any]:
    """Return what a client that says who it is with each request says."""
    message = decoded(ask.posted.calls[0].body)
    params = message.get("params") if is_object(message) else None
    meta = params.get("_meta") if is_object(params) else None
    kept = {key: value for key, value in meta.items() if key != "progressToken"} if is_object(meta) else {}
    return {"_meta": kept} if kept else {}


async def answer_in(response: ClientResponse) -> Message | None:
    """Return the answer, in whichever form it comes."""
    if response.content_type != "text/event-stream":
        message = decoded(await response.read())
        return message if is_object(message) else None
    events = Events()
    async for chunk in response.content.iter_any():
        for event in events.feed(chunk):
            message = decoded(data_of(event))
            if is_object(message) and "id" in message and "method" not in message:
                return message
    return None
