"""Characters that nobody sees or that change how others are seen: terminal sequences, controls, marks of direction."""

import re
from functools import cache
from typing import Final

# Every range is unseen, unassigned for good, or changes how others are seen.
_CHARACTERS: Final = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0"
    r"\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
    + "]"
)
# Escape sequences go as a whole, but none may take the letter with it that a token is known by. Each begins with one of
# the characters above.
_SEQUENCES: Final = (
    r"\x1b\[(?:[0-?]++(?: q|[@-~])|[mKJ]|[@-~](?![A-Za-z0-9]))|\x9b[0-?]++[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*+(?:\x07|\x9c|\x1b\\)"
    r"|\x1b(?:[()*+#%][0-9A-Za-z]|[78=>cDEHM](?![A-Za-z0-9])|[\[\]]?)"
)


def drop_unseen(text: str) -> str:
    """Return *text* without what nobody sees, its line ends all one character."""
    if text.isascii():
        if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
            return text
    else:
        text = text.replace("\u2028", " ").replace("\u2029", " ")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _compiled(f"{_SEQUENCES}|{_CHARACTERS}").sub("", text) if _compiled(_CHARACTERS).search(text) else text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
