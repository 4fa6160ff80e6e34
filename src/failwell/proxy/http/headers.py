"""Which headers pass the proxy: all but those of one connection, and those that aiohttp writes itself."""

from collections.abc import Iterable

from multidict import CIMultiDict

_OF_ONE_CONNECTION = frozenset(
    (
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
# Bodies are read here: a server is asked for none that must be unpacked first, and aiohttp unpacks those of a client.
_OF_PACKING = frozenset(("accept-encoding", "content-encoding"))
_USUAL = frozenset(("", "keep-alive", "close"))
_NOT_SENT = _OF_ONE_CONNECTION | _OF_PACKING
_NOT_RETURNED = _OF_ONE_CONNECTION | {"content-encoding"}

Pairs = Iterable[tuple[str, str]]


def to_server(headers: Pairs, *, more: Pairs = ()) -> CIMultiDict[str]:
    """Return the headers that the server gets: the client's, and *more* where the client has none of that name."""
    passed = _passed(headers, _NOT_SENT)
    passed["Accept-Encoding"] = "identity"
    for name, value in more:
        passed.setdefault(name, value)
    return passed


def to_client(headers: Pairs) -> CIMultiDict[str]:
    """Return the headers that the client gets."""
    return _passed(headers, _NOT_RETURNED)


def _passed(headers: Pairs, left_out: frozenset[str]) -> CIMultiDict[str]:
    kept: list[tuple[str, str]] = []
    named = ""
    for name, value in headers:
        lower = name.lower()
        if lower not in left_out:
            kept.append((name, value))
        elif lower == "connection":
            named += f",{value.lower()}"
    if named and (others := {part.strip() for part in named.split(",")} - _USUAL):
        kept = [(name, value) for name, value in kept if name.lower() not in others]
    return CIMultiDict(kept)
