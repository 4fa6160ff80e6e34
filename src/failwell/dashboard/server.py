"""`serve`: the dashboard over HTTP, until a signal ends it."""

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from failwell.dashboard.access import Access
from failwell.dashboard.app import SECURITY, App
from failwell.dashboard.data import DashboardData

try:
    from aiohttp import web
    from aiohttp.http_exceptions import LineTooLong
except ImportError as missing:
    raise ImportError("this needs aiohttp: pip install 'failwell[dashboard]'") from missing

_LONGEST_LINE = 8190
_SHUTDOWN_TIMEOUT = 2.0
_COUNT_INTERVAL = 5.0
_KEEPALIVE = 75.0
"""How many seconds an idle connection is kept open."""


class CannotListen(Exception):
    """Nothing can listen there; the text says why."""


@asynccontextmanager
async def listening(data: DashboardData, access: Access, host: str, port: int) -> AsyncGenerator[int]:
    """Answer requests inside the block, and yield the port.

    Raises:
        CannotListen: the address is not free.
    """
    app = App(data, access)
    server = _Server(
        app,
        access_log=None,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
        keepalive_timeout=_KEEPALIVE,
        lingering_time=0,
    )
    try:
        try:
            listener = await asyncio.get_running_loop().create_server(server, host, port)
        except OSError as failed:
            raise CannotListen(f"cannot listen on {host}:{port}: {failed.strerror or failed}") from None
        counting = asyncio.create_task(_keep_counting(app))
        try:
            yield listener.sockets[0].getsockname()[1]
        finally:
            counting.cancel()
            with suppress(asyncio.CancelledError):
                await counting
            listener.close()
            await server.shutdown(_SHUTDOWN_TIMEOUT)
    finally:
        app.close()


async def serve(data: DashboardData, access: Access, host: str, port: int, *, say: Callable[[str], object]) -> None:
    """Listen until a signal ends it.

    Raises:
        CannotListen: the address is not free.
    """
    ended = asyncio.Event()
    with suppress(NotImplementedError):  # Windows has no such handlers; there Ctrl-C ends it
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with listening(data, access, host, port) as taken:
        shown = f"[{host}]" if ":" in host else host
        say(f"the dashboard of {data.name} is at http://{shown}:{taken}/ (press Ctrl-C to stop)")
        await ended.wait()


async def _keep_counting(app: App) -> None:
    """Count new records also while nobody looks at the page, so that the next look is quick."""
    while True:
        try:
            left = await app.count()
        except Exception:
            left = 0  # the page tells that the store is away, once somebody looks at it
        if not left:
            await asyncio.sleep(_COUNT_INTERVAL)


class _PageHandler(web.RequestHandler):
    """Answers malformed requests like all others: in one line, with the same headers, and without a log entry."""

    def handle_error(
        self,
        request: web.BaseRequest,  # noqa: ARG002  # as aiohttp calls it
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002  # it may hold what was sent
    ) -> web.StreamResponse:
        is_too_long = isinstance(exc, LineTooLong)
        text = "the request is too long" if is_too_long else "malformed request"
        response = web.json_response({"error": text}, status=431 if is_too_long else 400 if status < 500 else 500)
        response.headers.update(SECURITY)
        response.force_close()
        return response


class _Server(web.Server):
    def __init__(self, handler: Any, **options: Any) -> None:
        super().__init__(handler, **options)
        self._options = options

    def __call__(self) -> Any:
        loop = asyncio.get_running_loop()
        return _PageHandler(self, loop=loop, logger=_quiet, **self._options)


_quiet = logging.getLogger("failwell.dashboard")
