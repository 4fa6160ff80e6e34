"""Whether an exception is about an argument: what it could not parse is something the caller sent.

A parser in a tool's body may read an argument, the answer of a service or a file of its own; its exception looks the
same each time. Without evidence the caller is not blamed.
"""

import io
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

from failwell.exceptions.rules import peek

_MOST_VALUES = 200
_MOST_FRAMES = 200
_DEEPEST = 6
_LONGEST_SEARCHED = 100_000
_SHORTEST_PART = 4
_MOST_PROBLEMS = 20
_LONGEST_TEXT = 2000

# Where exceptions keep what they complain of: json, UnicodeError.
_DOCUMENTS = ("doc", "object")
_INSTALLED = frozenset(("site-packages", "dist-packages"))


class Arguments(NamedTuple):
    """What a call was made with, as far as an exception is compared with it."""

    texts: tuple[str, ...]
    containers: tuple[Any, ...]

    @classmethod
    def of(cls, arguments: Any) -> "Arguments":
        """Collect the texts and the containers in the arguments of a call, as deep and as many as is reasonable."""
        texts: list[str] = []
        containers: list[Any] = []
        waiting: list[tuple[Any, int]] = [(arguments, 0)]
        for _ in range(_MOST_VALUES):
            if not waiting:
                break
            value, depth = waiting.pop()
            if type(value) is str:
                texts.append(value)
            elif type(value) is bytes:
                texts.append(_text(value))
            elif type(value) in (dict, list, tuple) and depth < _DEEPEST:
                containers.append(value)
                inside: Any = value.values() if hasattr(value, "values") else value
                waiting += [(item, depth + 1) for item in list[Any](inside)[:_MOST_VALUES]]
        return cls(tuple(text for text in texts if text.strip()), tuple(containers))

    def hold(self, document: Any) -> bool:
        """Tell whether a document is one of the arguments, or a part of one."""
        if type(document) in (dict, list):
            return any(document is held or (document and document == held) for held in self.containers)
        if isinstance(document, bytes | bytearray):
            document = _text(bytes(document[:_LONGEST_SEARCHED]))
        if not isinstance(document, str) or not (said := document.strip("\0 \t\r\n")):
            return False
        return any(said == text.strip() or _is_part(said, text) for text in self.texts)


def is_about_arguments(exc: BaseException, arguments: Arguments) -> bool:
    """Tell whether what an exception complains of is among the arguments."""
    documents = list(_documents(exc))
    if documents:
        return any(map(arguments.hold, documents))
    return any(map(arguments.hold, _parsed(exc))) or _is_quoted(exc, arguments)


def is_validation_of_arguments(exc: BaseException, arguments: Arguments) -> bool:
    """Tell whether a validator in the tool's body refused an argument itself; an equal text may come from elsewhere."""
    held = (*arguments.texts, *arguments.containers)
    return any(found is one or (type(found) is dict and found == one) for found in _refused(exc) for one in held)


def is_parsed_by_library(exc: BaseException) -> bool:
    """Tell whether an installed library gave a parser what that could not parse: mostly an answer."""
    caller: FrameType | None = None
    parsers = {str(type(exc).__module__).partition(".")[0], *sys.stdlib_module_names}
    trace = exc.__traceback__
    for _ in range(_MOST_FRAMES):
        if trace is None:
            break
        if str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0] not in parsers:
            caller = trace.tb_frame
        trace = trace.tb_next
    return caller is not None and not _INSTALLED.isdisjoint(caller.f_code.co_filename.replace("\\", "/").split("/"))


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _is_part(said: str, text: str) -> bool:
    return _SHORTEST_PART <= len(said) <= len(text) <= _LONGEST_SEARCHED and said in text


def _documents(exc: BaseException) -> Iterator[Any]:
    """Yield what an exception says that it complains of."""
    for name in _DOCUMENTS:
        if (found := peek(exc, name)) is not None:
            yield found
    if (found := peek(peek(exc, "problem_mark"), "buffer")) is not None:  # yaml
        yield found
    for holder in (peek(exc, "request"), exc):  # HTTP clients
        if (found := peek(holder, "url")) is not None:
            yield str(found)


def _refused(exc: BaseException) -> Iterator[Any]:
    """Yield what a validator, pydantic or jsonschema, says that it refused."""
    if type(exc).__module__.partition(".")[0] == "pydantic_core":
        for problem in exc.errors(include_url=False)[:_MOST_PROBLEMS]:  # type: ignore[attr-defined]  # pydantic's
            yield problem["input"]
    elif (found := peek(exc, "instance")) is not None and found != {}:
        yield found


def _parsed(exc: BaseException) -> Iterator[Any]:
    """Yield what the function that raised an exception was given, if that is a library's; a tool's own tells nothing.

    A tool's function has the arguments at hand whatever it fails at.
    """
    frames = list(_frames(exc))
    package = _package(frames[-1]) if frames else ""
    if package not in sys.stdlib_module_names and package != type(exc).__module__.partition(".")[0]:
        return
    for frame in reversed(frames):
        if _package(frame) != package:
            break
        code = frame.f_code
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            value: Any = frame.f_locals.get(name)
            yield value.getvalue() if type(value) in (io.BytesIO, io.StringIO) and not value.closed else value


def _frames(exc: BaseException) -> Iterator[FrameType]:
    trace = peek(exc, "__traceback__")
    for _ in range(_MOST_FRAMES):
        if trace is None:
            break
        yield trace.tb_frame
        trace = trace.tb_next


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_quoted(exc: BaseException, arguments: Arguments) -> bool:
    """Tell whether the words of an exception quote an argument: `invalid literal for int() with base 10: 'x'`."""
    words = str(exc)[:_LONGEST_TEXT]
    texts = (text for text in arguments.texts if len(text) < _LONGEST_TEXT and any(map(str.isalnum, text)))
    return any(repr(text) in words for text in texts)
