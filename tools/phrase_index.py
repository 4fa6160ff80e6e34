"""Write the index of the phrases, so that no process has to make it: `python -m tools.phrase_index`."""

from pathlib import Path

import msgspec

from failwell.phrases import names, texts
from failwell.phrases.index import PATH
from failwell.phrases.language import make_index


def content() -> bytes:
    """Return what the file with the index is to hold."""
    found = {"names": make_index(names.RULES), "texts": make_index(texts.RULES)}
    return msgspec.json.format(msgspec.json.encode(found, order="sorted"), indent=1) + b"\n"


if __name__ == "__main__":
    Path(PATH).write_bytes(content())
