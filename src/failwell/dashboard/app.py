"""`Answering`: from one request to its answer, which is a file of ours, or data as JSON or CSV."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib.resources import files
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

import msgspec

from failwell._log import log
from failwell.dashboard.access import Access, AccessRefused
from failwell.dashboard.export import TYPES
from failwell.dashboard.source import Source
from failwell.dashboard.views import BadView, View, read_view

try:
    from aiohttp import web
except ImportError as missing:
    raise ImportError("this needs aiohttp: pip install 'failwell[dashboard]'") from missing


FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    **{
        f"/{name}.js": (f"{name}.js", "text/javascript; charset=utf-8")
        for name in ("address", "charts", "dashboard", "elements", "feed", "figures", "filters", "story", "words")
    },
}
"""All files that there are, by path: nothing else is looked up anywhere."""

SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
    "Server": "failwell",
}
_LONGEST_QUERY = 4096
_MOST_AT_ONCE = 32
_THREADS = 4
_JSON = "application/json"
_Answer = TypeVar("_Answer")


class App:
    """Answers requests from a source, with all work on the store in threads of its own."""

    def __init__(self, source: Source, door: Access) -> None:
        self._source = source
        self._door = door
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="failwell-dashboard")
        self._asked = 0
        self._data: dict[str, Callable[[View], Any]] = {
            "/api/overview": source.overview,
            "/api/feed": source.feed,
            "/api/story": source.story,
        }

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        try:
            response = await self._answer(request)
        except AccessRefused as refused:
            response = _sentence(refused.status, str(refused))
            if refused.status == 401:
                response.headers["WWW-Authenticate"] = "Bearer"
        except BadView as bad:
            response = _sentence(400, str(bad))
        except Exception as failed:  # whatever it is, the page is told, and nobody sees a traceback
            log.warning("the store of records does not answer: %s", type(failed).__name__)
            response = _sentence(503, "the store does not answer; it is asked again in a moment")
        response.headers.update(SECURITY)
        return response

    def close(self) -> None:
        """Wait for the work on the store to end."""
        self._threads.shutdown()

    async def count(self) -> int:
        """Count the next records, and return how many are left."""
        return await self._in_thread(self._source.count)

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        path, _, query = request.raw_path.partition("?")
        self._door.check(path, request.headers)
        if request.method not in ("GET", "HEAD"):
            response = _sentence(405, "this can only be looked at")
            response.headers["Allow"] = "GET, HEAD"
            return response
        if request.can_read_body:
            raise AccessRefused(413, "a request has no body here")
        if len(query) > _LONGEST_QUERY:
            raise AccessRefused(414, "the address is too long")
        pairs = _pairs(query)
        if path == "/" and (given := dict(pairs).get("token")) is not None:
            return self._let_in(given, pairs)
        self._door.check_token(request.headers)
        if path in FILES:
            return web.Response(body=_file(path), headers={"Content-Type": FILES[path][1]})
        if path in self._data:
            return await self._told(path, read_view(pairs))
        if path in EXPORTS:
            return await self._exported(path, read_view(pairs))
        raise AccessRefused(404, "there is nothing here")

    def _let_in(self, given: str, pairs: list[tuple[str, str]]) -> web.Response:
        """Give a browser that has shown the token something to keep, and an address without it."""
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        headers = {"Location": f"/?{rest}" if rest else "/"}
        if self._door.knows(given):
            return web.Response(status=303, headers={**headers, "Set-Cookie": self._door.cookie})
        raise AccessRefused(401, "this is not the token of this dashboard")

    async def _told(self, path: str, view: View) -> web.Response:
        found = await self._in_thread(partial(self._data[path], view))
        if found is None:
            raise AccessRefused(404, "there is no such record: it may have been pruned")
        return web.Response(body=msgspec.json.encode(found), headers={"Content-Type": _JSON})

    async def _exported(self, path: str, view: View) -> web.Response:
        what, form = EXPORTS[path]
        body = await self._in_thread(partial(self._source.export, what, form, view))
        disposition = f'attachment; filename="failwell-{what}.{form}"'
        return web.Response(body=body, headers={"Content-Type": TYPES[form], "Content-Disposition": disposition})

    async def _in_thread(self, work: Callable[[], _Answer]) -> _Answer:
        if self._asked >= _MOST_AT_ONCE:
            raise AccessRefused(503, "too many ask at once; try again in a moment")
        self._asked += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._asked -= 1


EXPORTS = {f"/export/{what}.{form}": (what, form) for what in ("groups", "hours", "records") for form in TYPES}


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=32)
    except ValueError:
        raise BadView("nobody can read this address") from None


@cache
def _file(path: str) -> bytes:
    return (files("failwell.dashboard.page") / FILES[path][0]).read_bytes()


def _sentence(status: int, text: str) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode({"error": text}), headers={"Content-Type": _JSON})
