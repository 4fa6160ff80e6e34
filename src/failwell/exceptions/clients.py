"""Failures of requests from a tool to the client or its user: elicitation, sampling, roots.

SDKs have no classes for it. Which request it was, the frames of the SDK tell that the exception came through.
"""

import re
import sys
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from failwell._lazy import lazy_pattern
from failwell.exceptions.rules import Verdict, peek
from failwell.phrases.rpc_codes import CLIENT_ERRORS, METHOD_NOT_FOUND, find_sdk_error

_SDK = frozenset(("mcp", "fastmcp", "anyio", "asyncio", "contextlib", "functools", "pydantic", "pydantic_core"))
_MOST_FRAMES = 200
_MOST_NAMES = 100

# Functions of the SDKs that ask the client for something. A client has some of the same names, in other modules.
_MODULES = lazy_pattern(r"(?:mcp|fastmcp)\.server\.|mcp\.shared\.peer$")
_ASKING = {
    **dict.fromkeys(("elicit", "elicit_form", "elicit_url"), "elicitation"),
    **dict.fromkeys(("elicit_with_validation", "handle_elicit_accept", "_elicit"), "elicitation"),
    **dict.fromkeys(("create_message", "sample", "sample_step", "sample_impl", "sample_step_impl"), "sampling"),
    "list_roots": "roots",
}
# Below these it is the answer that is wrong; elsewhere it may be what the tool asks for.
_ANSWERING = frozenset(("send_request", "send_raw_request", "elicit_with_validation", "handle_elicit_accept"))

_NO_WAY = lazy_pattern(r"\b(?:unavailable on|no back-?channel)\b", re.IGNORECASE)
_UNSUPPORTED = lazy_pattern(r"\b(?:not support|unsupported|method not found)", re.IGNORECASE)


def _by_user(verbs: str) -> re.Pattern[str]:
    """Return what finds that the user did something, which an error of the client must say: a service refuses too."""
    user = r"(?:user|human|person|operator)"
    did = rf"\b{user}\b(?:(?!\b(?:was|is|been|were)\b)[^.;:]){{0,40}}?\b(?:{verbs})"
    return lazy_pattern(rf"{did}|\b(?:{verbs})\w*\s+by\s+(?:the\s+|a\s+)?{user}\b", re.IGNORECASE)


_DECLINED = _by_user("declin|reject|den(?:y|ied)|refus")
_CANCELLED = _by_user("cancel|dismiss")

_RESOLVED = lazy_pattern(r"could not resolve: elicitation was (decline|cancel)")  # how mcp 2 words it
_ANSWERS = frozenset(("DeclinedElicitation", "CancelledElicitation", "ElicitResult"))
# The answer has no content, or the author says in other words that there was no consent.
_OVER_AN_ANSWER = lazy_pattern(r"'NoneType'|\b(?:declin|reject|den(?:y|ied)|refus|cancel|dismiss)", re.IGNORECASE)
_BY_ACTION = {"decline": "USER_DECLINED", "cancel": "USER_CANCELLED"}


def by_client_request(exc: BaseException) -> Verdict:
    """Depends on what the client answered to a request of the tool, if the exception comes from one."""
    last = _last_frame(exc) if "mcp" in sys.modules else None
    if last is None or _package(last) not in _SDK:
        return None
    frames = list(_frames(exc))
    asked = _asked(frames)
    if asked is None:
        return None
    number = peek(peek(exc, "error"), "code")
    if number in CLIENT_ERRORS:
        return None  # clients must see it as it is
    text = str(exc)
    if resolved := _RESOLVED.search(text):
        return _said(_BY_ACTION[resolved[1]], asked)
    if _NO_WAY.search(text):
        message = f"The client cannot be asked over this connection: the tool needs {asked}."
        return _said("CLIENT_UNSUPPORTED", asked, message=message)
    if number == METHOD_NOT_FOUND or _UNSUPPORTED.search(text):
        return _said("CLIENT_UNSUPPORTED", asked, message=f"The client does not support {asked}.")
    if isinstance(number, int):
        return _said(_code_of(number, text), asked)
    is_about_answer = any(frame.f_code.co_name in _ANSWERING for frame in frames)
    return _said("CLIENT_FAILED", asked) if is_about_answer and issubclass(type(exc), ValueError) else None


def by_answer(exc: BaseException) -> Verdict:
    """Depends on what the user answered, if the code failed over an answer that is no consent."""
    if (code := _refusal(peek(exc, "obj"))) is not None:
        return _said(code, "elicitation")
    last = _last_frame(exc)
    if last is None or _OVER_AN_ANSWER.search(str(exc)) is None:
        return None
    codes = (_refusal(value) for value in list(last.f_locals.values())[:_MOST_NAMES])
    return next((_said(code, "elicitation") for code in codes if code is not None), None)


def _refusal(value: object) -> str | None:
    return _BY_ACTION.get(str(peek(value, "action"))) if type(value).__name__ in _ANSWERS else None


def _code_of(number: int, text: str) -> str:
    if find_sdk_error(number, text) is not None:
        return "TIMEOUT" if "timed out" in text.lower() else "CLIENT_FAILED"
    if _DECLINED.search(text):
        return "USER_DECLINED"
    return "USER_CANCELLED" if _CANCELLED.search(text) else "CLIENT_FAILED"


def _said(code: str, asked: str, **more: Any) -> dict[str, Any]:
    return {"code": code, "details": {"request": asked}, **more}


def _asked(frames: list[FrameType]) -> str | None:
    """Return what was asked for, if nothing but the SDK was entered after that."""
    asked = None
    for frame in frames:
        module = str(frame.f_globals.get("__name__", ""))
        if _package(frame) not in _SDK:
            asked = None
        elif _MODULES.match(module):
            asked = _ASKING.get(frame.f_code.co_name, asked)
            if module.endswith(".resolve"):
                asked = "elicitation"
    return asked


def _frames(exc: BaseException) -> Iterator[FrameType]:
    trace: TracebackType | None = exc.__traceback__
    for _ in range(_MOST_FRAMES):
        if trace is None:
            return
        yield trace.tb_frame
        trace = trace.tb_next


def _last_frame(exc: BaseException) -> FrameType | None:
    trace = exc.__traceback__
    if trace is None:
        return None
    for _ in range(_MOST_FRAMES):
        if trace.tb_next is None:
            break
        trace = trace.tb_next
    return trace.tb_frame


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
