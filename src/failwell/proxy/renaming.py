"""`renamed`: a message under another id, with all else in it as it was written."""

import msgspec

from failwell.proxy.glances import Id, encode

_parts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def renamed(data: bytes, id: Id) -> bytes:
    """Return a message with this id; numbers and texts that only lenient programs read stay what they are.

    Raises:
        ValueError: it is not a message with an id.
        RecursionError: it is too deep to be read here.
    """
    try:
        return encode({**_parts(data), "id": id})
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = data.decode("utf-8", "surrogateescape")
    start, end = _place_of_id(text)
    return text[:start].encode("utf-8", "surrogateescape") + encode(id) + text[end:].encode("utf-8", "surrogateescape")


def _place_of_id(text: str) -> tuple[int, int]:
    import json  # only now: it is seldom needed

    read = json.JSONDecoder(strict=False).raw_decode
    found: tuple[int, int] | None = None
    at = text.index("{")
    while text[at : at + 1] not in ("}", ""):
        name, at = read(text, _behind_space(text, at + 1))
        start = _behind_space(text, text.index(":", at) + 1)
        _, at = read(text, start)
        if name == "id":
            found = start, at
        at = _behind_space(text, at)
    if found is None:
        raise ValueError("the message has no id")
    return found


def _behind_space(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at
