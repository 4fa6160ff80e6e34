"""`failwell dashboard`: serve the page until a signal ends it."""

import asyncio
import os
from typing import Annotated, Any

import typer

from failwell.cli import install_line
from failwell.cli.streams import Misuse, Streams
from failwell.proxy.options import parse_address

TOKEN = "FAILWELL_DASHBOARD_TOKEN"
_AT = "127.0.0.1:8765"


def dashboard(
    context: typer.Context,
    *,
    store: Annotated[
        str, typer.Option("--store", help="The store: sqlite:///FILE or postgresql://HOST/DATABASE.", metavar="URL")
    ],
    listen: Annotated[
        str, typer.Option("--listen", help="The address to serve the page on.", metavar="HOST:PORT")
    ] = _AT,
    token: Annotated[
        str | None,
        typer.Option(
            "--token", help=f"The token that other machines need; prefer the variable {TOKEN}.", metavar="TOKEN"
        ),
    ] = None,
) -> None:
    """Show in a browser which tools fail and whether agents recover.

    Reads the store that `fw.records.Recorder` and `failwell proxy --events` write to, even while they write. Only this
    machine can reach the page; any other address needs a token.

    Example: failwell dashboard --store sqlite:///calls.db

    Example: failwell dashboard --store postgresql://db/calls --listen 9000
    """
    streams: Streams = context.obj
    host, port = _address(listen)
    try:
        from failwell.dashboard.access import Access
        from failwell.dashboard.data import DashboardData
        from failwell.dashboard.server import CannotListen, serve

        data = DashboardData(store)
        access = Access(host, token or os.environ.get(TOKEN) or None)
    except ImportError:
        raise Misuse(install_line("dashboard")) from None
    except ValueError as wrong:
        raise Misuse(str(wrong)) from None

    def say(sentence: str) -> None:
        streams.stderr.write(f"failwell: {sentence}\n")
        streams.stderr.flush()

    try:
        _open(data)
        asyncio.run(serve(data, access, host, port, say=say))
    except CannotListen as cannot:
        raise Misuse(str(cannot)) from None
    finally:
        data.close()


def _open(data: Any) -> None:
    """Open the store now, to report a wrong one at once. A store without records is fine.

    Raises:
        Misuse: it cannot be reached or written, is no store, or is of a later version.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from failwell.records._tables import WrongVersion

    try:
        data.open()
        data.count()
    except WrongVersion as wrong:
        raise Misuse(f"cannot read the store: {wrong}") from None
    except SQLAlchemyError as failed:
        reason = type(getattr(failed, "orig", None) or failed).__name__
        raise Misuse(f"cannot use the store {data.name}: {_REASONS.get(reason, reason)}") from None
    except OSError as failed:
        raise Misuse(f"cannot use the store {data.name}: {failed.strerror}") from None


_REASONS = {
    "OperationalError": "it cannot be reached, or the dashboard may not keep its counts there",
    "DatabaseError": "it is not a database",
    "InsufficientPrivilege": "the dashboard may not keep its counts there",
}


def _address(text: str) -> tuple[str, int]:
    try:
        return parse_address(text)
    except ValueError as wrong:
        raise Misuse(f"--listen {wrong}") from None
