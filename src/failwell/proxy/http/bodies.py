"""Bounded bodies: what clients post, what the server answers, and all of them together."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager

from aiohttp import StreamReader

from failwell.proxy.bounds import MAX_HELD, MAX_RATIO, MAX_SMALL_BODY

_PIECE = 1 << 16
_MAX_UNSUSPICIOUS = 4 * _PIECE
_ZLIB_OR_GZIP, _RAW = 47, -15
_ENCODINGS = ("gzip", "x-gzip", "deflate")


class BodyTooLong(Exception):
    """A body, a batch, or an event of a stream goes beyond its bound; the text says which bound."""

    def __init__(self, most: int, unit: str = "bytes") -> None:
        is_large = unit == "bytes" and most >= 1 << 20
        super().__init__(f"longer than {most >> 20} MiB" if is_large else f"longer than {most} {unit}")


class TooManyBodies(Exception):
    """The bodies that are held at the same time go beyond their bound."""


class UnknownEncoding(Exception):
    """A body is packed in a way that is not known here, or not packed as it says."""


class BodyMemory:
    """Counts the bytes of all bodies that are held. Small ones are not counted: their number is bounded already."""

    def __init__(self) -> None:
        self._held = 0

    @contextmanager
    def share(self) -> "Generator[BodyShare]":
        """Give a share that is given back after the block."""
        share = BodyShare(self)
        try:
            yield share
        finally:
            share.resize(0)

    def change(self, count: int) -> None:
        """Take more bytes, or give some back.

        Raises:
            TooManyBodies: there are none left.
        """
        if count > 0 and self._held + count > MAX_HELD:
            raise TooManyBodies
        self._held += count


class BodyShare:
    """The bytes that one exchange holds."""

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self._counted = 0

    def resize(self, length: int) -> None:
        """Note how many bytes are held now.

        Raises:
            TooManyBodies: all exchanges together hold too many.
        """
        counted = length if length > MAX_SMALL_BODY else 0
        if counted != self._counted:
            self._memory.change(counted - self._counted)
            self._counted = counted


class Pieces:
    """Bytes that are taken in piece by piece, and not copied again with each: a long body has many."""

    def __init__(self) -> None:
        self._long: list[bytes] = []
        self._short = bytearray()
        self._length = 0

    def __len__(self) -> int:
        return self._length + len(self._short)

    def add(self, piece: bytes | bytearray) -> None:
        """Take in a piece; small ones are kept together."""
        self._short += piece
        if len(self._short) >= _PIECE:
            self._long.append(bytes(self._short))
            self._length += len(self._short)
            self._short.clear()

    def joined(self) -> bytes:
        """Return all of them as one."""
        return b"".join((*self._long, self._short))


async def read_body(
    content: StreamReader, share: BodyShare, *, most: int, encoding: str | None = None, begun: bytes = b""
) -> bytes:
    """Return a whole body, unpacked, given what of it was read already.

    Raises:
        BodyTooLong: it goes beyond *most* bytes.
        TooManyBodies: all bodies together hold too many.
        UnknownEncoding: it cannot be unpacked.
    """
    if encoding is None:
        begun = begun or await content.readany()
        if len(begun) > most:
            raise BodyTooLong(most)
        share.resize(len(begun))
        if content.at_eof():
            return begun  # most bodies are short, and come at once
    body = Pieces()
    body.add(begun)
    async for piece in _pieces(content, encoding):
        body.add(piece)
        if len(body) > most:
            raise BodyTooLong(most)
        share.resize(len(body))
    return body.joined()


async def read_head(content: StreamReader, *, least: int) -> bytes:
    """Return the beginning of a body, of so many bytes or a little more, or all of it."""
    body = Pieces()
    while len(body) < least and (chunk := await content.readany()):
        body.add(chunk)
    return body.joined()


async def read_start(content: StreamReader, *, most: int) -> bytes:
    """Return a body, or as much of it as is read at most."""
    body = bytearray()
    while len(body) < most and (chunk := await content.readany()):
        body += chunk
    return bytes(body[:most])


async def _pieces(content: StreamReader, encoding: str | None) -> AsyncIterator[bytes]:
    packed = (encoding or "identity").strip().lower()
    if packed == "identity":
        while chunk := await content.readany():
            yield chunk
        return
    if packed not in _ENCODINGS:
        raise UnknownEncoding("a body may be packed with gzip or deflate")
    unpack, is_begun = zlib.decompressobj(_ZLIB_OR_GZIP), False
    taken, given = 0, 0
    while chunk := await content.readany():
        while chunk:
            try:
                piece = unpack.decompress(chunk, _PIECE)
            except zlib.error:
                if is_begun or packed != "deflate":
                    raise UnknownEncoding(f"the body is not packed with {packed}") from None
                unpack, is_begun = zlib.decompressobj(_RAW), True  # as some clients understand the word
                continue
            yield piece
            await asyncio.sleep(0)  # a little input may be much to unpack: others go on after each piece
            is_begun = True
            taken, given = taken + len(chunk) - len(unpack.unconsumed_tail), given + len(piece)
            if given > max(MAX_RATIO * taken, _MAX_UNSUSPICIOUS):
                raise BodyTooLong(MAX_RATIO, "times its packed length")
            chunk = unpack.unconsumed_tail
            if unpack.eof:
                chunk, unpack, is_begun = unpack.unused_data, zlib.decompressobj(_ZLIB_OR_GZIP), False
    if is_begun:
        raise UnknownEncoding("the body ends before its packing does")
