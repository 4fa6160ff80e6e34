"""`Pump`: lines from one end to the other, each looked at and otherwise passed as it is."""

import os

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 1 << 16
_LARGE_CHUNK = 1 << 20


class Pump:
    """Passes lines on until their source ends.

    Lines that come together and stay as they are leave together. A line may have any length.

    Args:
        source: where lines are read.
        look: returns what to write in place of a line; None: the line as it is. Empty: nothing.
        write: takes what goes on.
    """

    def __init__(
        self, source: int, look: "Callable[[bytes], bytes | None]", write: "Callable[[bytes], object]"
    ) -> None:
        self.is_reading = False
        self._source = source
        self.look = look
        self._write = write

    def run(self) -> bytes:
        """Pass lines on, and return what came behind the last newline."""
        held: list[bytes] = []
        read, source, write = os.read, self._source, self._write
        while True:
            self.is_reading = True
            try:
                chunk = read(source, _LARGE_CHUNK if held else _CHUNK)
            except OSError:
                break
            self.is_reading = False
            end = chunk.rfind(b"\n") + 1
            if not end:
                if not chunk:
                    break
                held.append(chunk)
                continue
            if held:
                held.append(chunk[:end])
                lines = b"".join(held)
                held.clear()
            else:
                lines = chunk if end == len(chunk) else chunk[:end]
            if end < len(chunk):
                held.append(chunk[end:])
            if lines.find(b"\n") + 1 == len(lines):
                found = self.look(lines)
                if found is None:
                    write(lines)
                elif found:
                    write(found)
            elif passed := _looked_at(lines, self.look):
                write(passed)
        return b"".join(held)


def _looked_at(lines: bytes, look: "Callable[[bytes], bytes | None]") -> bytes:
    each = lines.splitlines(keepends=True)
    found = [look(line) for line in each]
    if found.count(None) == len(found):
        return lines
    return b"".join([line if one is None else one for line, one in zip(each, found, strict=True)])


def taken_of(data: bytes, target: int) -> int:
    """Write and return how many bytes were taken: all, unless nobody reads any more."""
    total = 0
    try:
        total = os.write(target, data)
        while total < len(data):
            total += os.write(target, data[total:])
    except OSError:
        pass  # the caller sees it by the number
    return total
