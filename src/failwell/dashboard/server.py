"""`serve`: the dashboard, from an address to the signal that ends it."""

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from failwell.dashboard.access import Access
from failwell.dashboard.app import SECURITY, App
from failwell.dashboard.source import Source

try:
    from aiohttp import web
    from aiohttp.http_exceptions import LineTooLong
except ImportError as missing:
    raise ImportError("this needs aiohttp: pip install 'failwell[dashboard]'") from missing

_LONGEST_LINE = 8190
_LAST_ANSWERS = 2.0
_PAUSE = 5.0
_KEPT_OPEN = 75.0
"""How many seconds a connection that nobody uses is kept."""


class CannotListen(Exception):
    """Nothing can listen there; the text says why."""


@asynccontextmanager
async def listening(source: Source, door: Access, host: str, port: int) -> AsyncGenerator[int]:
    """Answer requests inside the block, and give the port.

    Raises:
        CannotListen: the address is not free.
    """
    answering = App(source, door)
    server = _Server(
        answering,
        access_log=None,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
        keepalive_timeout=_KEPT_OPEN,
        lingering_time=0,
    )
    try:
        try:
            listener = await asyncio.get_running_loop().create_server(server, host, port)
        except OSError as failed:
            raise CannotListen(f"cannot listen on {host}:{port}: {failed.strerror or failed}") from None
        counting = asyncio.create_task(_count_on(answering))
        try:
            yield listener.sockets[0].getsockname()[1]
        finally:
            counting.cancel()
            with suppress(asyncio.CancelledError):
                await counting
            listener.close()
            await server.shutdown(_LAST_ANSWERS)
    finally:
        answering.close()


async def serve(source: Source, door: Access, host: str, port: int, *, say: Callable[[str], object]) -> None:
    """Listen until a signal ends it.

    Raises:
        CannotListen: the address is not free.
    """
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with listening(source, door, host, port) as taken:
        shown = f"[{host}]" if ":" in host else host
        say(f"the dashboard of {source.name} is at http://{shown}:{taken}/ (ctrl-c ends it)")
        await ended.wait()


async def _count_on(answering: App) -> None:
    """Count what is left of a store that nobody looked at for a while, and go on while the page is closed."""
    while True:
        try:
            left = await answering.count()
        except Exception:
            left = 0  # the page tells that the store is away, once somebody looks at it
        if not left:
            await asyncio.sleep(_PAUSE)


class _PageHandler(web.RequestHandler):
    """Answers what is no sound request as all others are: in one line, with the same headers, and nothing in a log."""

    def handle_error(
        self,
        request: web.BaseRequest,  # noqa: ARG002  # as aiohttp calls it
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002  # it may hold what was sent
    ) -> web.StreamResponse:
        is_too_long = isinstance(exc, LineTooLong)
        text = "the request is too long" if is_too_long else "this is no sound request"
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
