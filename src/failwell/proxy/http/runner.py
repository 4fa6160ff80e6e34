"""`run`: the proxy in front of a URL, as a gateway or on standard input and output, as the options say."""

import asyncio
import gc
import logging
from collections.abc import Coroutine
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from failwell.proxy.options import BadOption, ProxyOptions, fill_variables, tell_operator

if TYPE_CHECKING:
    from failwell.proxy.recorder import ProxyMetrics

_MISUSE = 2


def run(options: ProxyOptions, events: int | str | None, *, metrics: "ProxyMetrics | None" = None) -> int:
    """Run the proxy until the client or the operator ends it, and return the exit code."""
    logging.disable(logging.CRITICAL)  # no library writes a traceback between the lines of the proxy
    try:
        options.header = (
            *((name, fill_variables(value, option="--header")) for name, value in options.header),
            *((name, fill_variables(value, option="--header-variable")) for name, value in options.header_variable),
        )
        from failwell.proxy.http.upstream import ServerUrl

        ServerUrl(options.url or "")
        if options.restart and options.listen is not None:
            raise BadOption("--restart can't be combined with --listen: HTTP clients begin new sessions themselves")
        if options.workers > 1:
            from failwell.proxy.http.workers import serve_with_workers

            return serve_with_workers(options, events, run=_run_loop)
        if options.listen is not None:
            from failwell.proxy.http.server import serve

            return _run_loop(serve(options, events, metrics))
        from failwell.proxy.http.remote import run_stdio

        return _run_loop(run_stdio(options, events, metrics=metrics))
    except KeyboardInterrupt:
        return 130
    except ValueError as wrong:
        return _refuse(f"--url {wrong}")
    except (ImportError, BadOption) as wrong:
        return _refuse(str(wrong))


def _run_loop(work: Coroutine[Any, Any, int]) -> int:
    """Run on uvloop where it is installed: it takes a fifth off what a call costs."""
    gc.freeze()  # what is loaded lives as long as the process: no collection stops all calls to look at it
    loop = None if find_spec("uvloop") is None else import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(work)


def _refuse(sentence: str) -> int:
    tell_operator(sentence)
    return _MISUSE
