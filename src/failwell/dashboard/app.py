"""`App`: serves the files of the page, and its data as JSON or CSV."""

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
from failwell.dashboard.data import DashboardData
from failwell.dashboard.export import TYPES
from failwell.dashboard.views import BadView, View, parse_view

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
        for name in ("address", "charts", "dashboard", "details", "elements", "feed", "figures", "filters", "words")
    },
}
"""All files of the page, by path: no other file is ever opened."""

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
_MOST_RUNNING = 32
_THREADS = 4
_JSON = "application/json"
_MARK = "/api/mark"
_METRICS = "/metrics"
_PROBES = frozenset(("/healthz", "/readyz"))
"""What supervisors ask, by whatever name of the host: the answers say nothing of any call."""
_LONGEST_BODY = 2048
_Result = TypeVar("_Result")


class _PostedMark(msgspec.Struct):
    text: str


class App:
    """Answers requests, with all work on the store in threads of its own."""

    def __init__(self, data: DashboardData, access: Access) -> None:
        self._data = data
        self._access = access
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="failwell-dashboard")
        self._running = 0
        self._queries: dict[str, Callable[[View], Any]] = {
            "/api/overview": data.overview,
            "/api/feed": data.feed,
            "/api/details": data.failure_details,
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
        except Exception as failed:  # the page shows a sentence, and nobody sees a traceback
            log.warning("the store of events is not responding: %s", type(failed).__name__)
            response = _sentence(503, "the store is not responding; trying again in a moment")
        response.headers.update(SECURITY)
        return response

    def close(self) -> None:
        """Wait for the work on the store to end."""
        self._threads.shutdown()

    async def count(self) -> int:
        """Count the next records, and return how many are left."""
        return await self._in_thread(self._data.count)

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        path, _, query = request.raw_path.partition("?")
        if path in _PROBES and request.method in ("GET", "HEAD"):
            return await self._probe(path)
        self._access.check(path, request.headers)
        if request.method == "POST" and path == _MARK:
            return await self._mark(request)
        if request.method not in ("GET", "HEAD") or path == _MARK:
            response = _sentence(405, "marks must be posted" if path == _MARK else "only GET and HEAD are allowed here")
            response.headers["Allow"] = "POST" if path == _MARK else "GET, HEAD"
            return response
        if request.can_read_body:
            raise AccessRefused(413, "requests must not have a body")
        if len(query) > _LONGEST_QUERY:
            raise AccessRefused(414, "the address is too long")
        pairs = _pairs(query)
        if path == "/" and (given := dict(pairs).get("token")) is not None:
            return self._exchange_token(given, pairs)
        self._access.check_token(request.headers)
        if path == _METRICS:
            return await self._metrics()
        if path in FILES:
            return web.Response(body=_file(path), headers={"Content-Type": FILES[path][1]})
        if path in self._queries:
            return await self._data_response(path, parse_view(pairs))
        if path in EXPORTS:
            return await self._export_response(path, parse_view(pairs))
        raise AccessRefused(404, "not found")

    async def _probe(self, path: str) -> web.Response:
        """Tell a supervisor that the process runs or, at `/readyz`, that the store answers. It needs no token."""
        if path == "/readyz":
            await self._in_thread(self._data.count)
        return web.Response(text="ok\n")

    async def _metrics(self) -> web.Response:
        """Show Prometheus what the store has recorded. It needs the token: names of tools and servers stand there."""
        try:
            kind, body = await self._in_thread(self._data.metrics)
        except ImportError as missing:
            raise AccessRefused(501, str(missing)) from None
        return web.Response(body=body, headers={"Content-Type": kind})

    async def _mark(self, request: web.BaseRequest) -> web.Response:
        """Write a mark. Its type keeps forms of other sites out, which can't send it."""
        self._access.check_token(request.headers)
        if request.content_type != _JSON:
            raise AccessRefused(415, 'post a mark as application/json: {"text": "billing 2.3 deployed"}')
        if request.content_length is None or request.content_length > _LONGEST_BODY:
            raise AccessRefused(413, f"a mark needs a Content-Length of at most {_LONGEST_BODY} bytes")
        try:
            text = msgspec.json.decode(await request.read(), type=_PostedMark).text.strip()
        except (msgspec.MsgspecError, UnicodeDecodeError):
            text = ""
        if not text:
            raise AccessRefused(400, 'a mark needs a text: {"text": "billing 2.3 deployed"}')
        made = await self._in_thread(partial(self._data.mark, text))
        return web.Response(status=201, body=msgspec.json.encode(made), headers={"Content-Type": _JSON})

    def _exchange_token(self, given: str, pairs: list[tuple[str, str]]) -> web.Response:
        """Give a browser a cookie for the token, and redirect it to an address without the token."""
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        headers = {"Location": f"/?{rest}" if rest else "/"}
        if self._access.is_token(given):
            return web.Response(status=303, headers={**headers, "Set-Cookie": self._access.cookie})
        raise AccessRefused(401, "this is not the token of this dashboard")

    async def _data_response(self, path: str, view: View) -> web.Response:
        found = await self._in_thread(partial(self._queries[path], view))
        if found is None:
            raise AccessRefused(404, "there is no such event: it may have been pruned")
        return web.Response(body=msgspec.json.encode(found), headers={"Content-Type": _JSON})

    async def _export_response(self, path: str, view: View) -> web.Response:
        what, form = EXPORTS[path]
        body = await self._in_thread(partial(self._data.export, what, form, view))
        disposition = f'attachment; filename="failwell-{what}.{form}"'
        return web.Response(body=body, headers={"Content-Type": TYPES[form], "Content-Disposition": disposition})

    async def _in_thread(self, work: Callable[[], _Result]) -> _Result:
        if self._running >= _MOST_RUNNING:
            raise AccessRefused(503, "too many requests at once; try again in a moment")
        self._running += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._running -= 1


EXPORTS = {f"/export/{what}.{form}": (what, form) for what in ("groups", "hours", "records") for form in TYPES}


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=32)
    except ValueError:
        raise BadView("this address can't be parsed") from None


@cache
def _file(path: str) -> bytes:
    return (files("failwell.dashboard.page") / FILES[path][0]).read_bytes()


def _sentence(status: int, text: str) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode({"error": text}), headers={"Content-Type": _JSON})
