"""From any exception to a failure, whatever it is made of."""

import asyncio
import gc
import os
import pickle
import subprocess
import sys
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failwell import errors, from_exception
from tests.exceptions.caught import UNMAPPED, raised


@pytest.mark.parametrize(
    "exc",
    [
        ValueError("hunter2"), TypeError("hunter2"), KeyError("hunter2"), AttributeError("hunter2"),
        AssertionError("hunter2"), IndexError("hunter2"), ZeroDivisionError("hunter2"), RecursionError("hunter2"),
        MemoryError("hunter2"), RuntimeError("hunter2"), LookupError("hunter2"), Exception("hunter2"),
        StopIteration("hunter2"), NameError("hunter2"), OSError("hunter2"),
    ],
    ids=lambda exc: type(exc).__name__,
)  # fmt: skip
def test_an_exception_that_says_nothing_is_an_internal_error_whose_text_stays_home(exc: Exception) -> None:
    assert from_exception(exc) == UNMAPPED


def test_what_is_not_implemented_is_broken_too() -> None:
    failure = from_exception(NotImplementedError("hunter2"))

    assert (failure.type, failure.code, failure.outcome) == ("INTERNAL", "NOT_IMPLEMENTED", "unknown")


def test_a_declared_failure_speaks_for_itself() -> None:
    declared = errors.NotFound("Task 7 does not exist.", suggestion="List the tasks.")

    assert from_exception(declared) is declared.failure
    assert from_exception(raised(RuntimeError("x"), cause=declared)) is declared.failure
    assert from_exception(raised(RuntimeError("x"), context=declared)) is declared.failure
    assert from_exception(raised(ConnectionResetError("x"), cause=declared)) is declared.failure
    assert from_exception(ExceptionGroup("x", [declared])) is declared.failure


def test_a_failure_that_was_handled_does_not_hide_what_went_wrong_then() -> None:
    exc = raised(ConnectionRefusedError(111, "x"), context=errors.NotFound("No cache."))

    assert from_exception(exc).code == "CONNECTION_REFUSED"


@pytest.mark.parametrize("wrapper", [RuntimeError("x"), ValueError("x"), Exception("x"), KeyError("x")], ids=repr)
def test_a_wrapper_that_says_nothing_gives_way_to_what_it_wraps(wrapper: Exception) -> None:
    inner = ConnectionRefusedError(111, "x")

    by_cause = from_exception(raised(wrapper, cause=inner))
    by_context = from_exception(raised(type(wrapper)("x"), context=inner))

    assert by_cause == by_context == from_exception(inner)
    assert by_cause.outcome == "not_executed"


def test_raise_from_none_hides_what_was_handled() -> None:
    exc = raised(RuntimeError("x"), context=TimeoutError())
    exc.__suppress_context__ = True

    assert from_exception(exc) == UNMAPPED


def test_a_mistake_made_while_handling_is_a_mistake() -> None:
    assert from_exception(raised(AttributeError("x"), context=TimeoutError())) == UNMAPPED
    assert from_exception(raised(AttributeError("x"), cause=TimeoutError())).code == "TIMEOUT"


def test_the_chain_is_followed_eight_deep_and_in_circles_once() -> None:
    exc: Exception = TimeoutError()
    for depth in range(10):
        wrapper = RuntimeError(depth)
        wrapper.__cause__ = exc
        exc = wrapper
        assert from_exception(exc).code == ("TIMEOUT" if depth < 7 else "INTERNAL_ERROR")

    one, two = RuntimeError(1), RuntimeError(2)
    one.__cause__, two.__cause__ = two, one
    assert from_exception(one) == UNMAPPED


def test_a_group_of_one_is_that_one() -> None:
    group = ExceptionGroup("x", [ExceptionGroup("y", [TimeoutError()])])

    assert from_exception(group) == from_exception(TimeoutError())
    assert from_exception(raised(RuntimeError("x"), cause=group)) == from_exception(TimeoutError())


def test_cancellations_in_a_group_do_not_count_beside_an_exception() -> None:
    group = BaseExceptionGroup("x", [asyncio.CancelledError(), TimeoutError()])

    assert from_exception(group).code == "TIMEOUT"
    assert from_exception(BaseExceptionGroup("x", [asyncio.CancelledError()])) == UNMAPPED


def test_of_several_the_one_that_stands_longest_in_the_way_decides_with_the_worst_outcome() -> None:
    refused, timeout, missing = ConnectionRefusedError(111, "x"), TimeoutError(), FileNotFoundError(2, "x")

    same = from_exception(ExceptionGroup("x", [refused, ConnectionRefusedError(111, "y")]))
    transient = from_exception(ExceptionGroup("x", [refused, timeout]))
    mixed = from_exception(ExceptionGroup("x", [timeout, missing]))
    broken = from_exception(ExceptionGroup("x", [missing, ValueError()]))

    assert (same.code, same.outcome) == ("CONNECTION_REFUSED", "not_executed")
    assert (transient.type, transient.outcome, transient.retryable) == ("TRANSIENT", "unknown", True)
    assert (mixed.code, mixed.outcome, mixed.retryable) == ("FILE_NOT_FOUND", "unknown", False)
    assert broken == UNMAPPED


@pytest.mark.parametrize(
    "exc", [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(429), GeneratorExit()], ids=repr
)
def test_what_is_no_failure_of_a_tool_is_not_read(exc: BaseException) -> None:
    assert from_exception(exc) == UNMAPPED


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("hunter2")

    __repr__ = __str__

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("hunter2")


class HostileProperties(Exception):
    @property
    def response(self) -> Any:
        raise ValueError("hunter2")

    status_code = code = headers = retry_after = __cause__ = response  # type: ignore[assignment]


class LyingClass(Exception):
    @property
    def __class__(self) -> Any:
        raise ValueError("hunter2")


class HostileMeta(type):
    def __hash__(cls) -> int:
        raise RuntimeError("hunter2")


class HostileClass(Exception, metaclass=HostileMeta):
    pass


class WrongTypes(Exception):
    status_code = "four hundred"
    headers = 7
    response = SimpleNamespace(status_code=[404], headers=object())
    retry_after = float("nan")
    sqlstate = object()
    errno = "x"


@pytest.mark.parametrize("cls", [Hostile, HostileProperties, LyingClass, HostileClass, WrongTypes])
def test_a_hostile_exception_changes_nothing_but_its_own_answer(cls: type[Exception]) -> None:
    failure = from_exception(cls("hunter2"))

    assert failure == UNMAPPED


@pytest.mark.parametrize("thing", [None, "x", 7, ValueError])
def test_what_is_no_exception_at_all_is_refused(thing: Any) -> None:
    with pytest.raises(TypeError, match="takes an exception"):
        from_exception(thing)


def test_a_huge_text_is_not_even_looked_at() -> None:
    text = "x" * 10_000_000

    assert from_exception(ValueError(text)) == UNMAPPED
    assert from_exception(FileNotFoundError(2, text, text)).details == {}


def test_a_failure_made_from_an_exception_pickles_without_it() -> None:
    failure = from_exception(TimeoutError("hunter2"))

    assert pickle.loads(pickle.dumps(failure)) == failure
    assert b"hunter2" not in pickle.dumps(failure)


def test_classes_made_on_the_fly_are_not_kept() -> None:
    cls = type("MadeOnTheFly", (Exception,), {})
    from_exception(cls())
    gone = weakref.ref(cls)

    del cls
    gc.collect()

    assert gone() is None


def test_rules_are_not_loaded_before_the_first_exception() -> None:
    program = """
import sys, failwell.exceptions.rules, failwell.exceptions.engine
tables = [f"failwell.exceptions.{name}" for name in failwell.exceptions.rules.FAMILIES]
assert not [name for name in tables if name in sys.modules], sys.modules
failwell.from_exception(TimeoutError())
standard = [f"failwell.exceptions.{name}" for name in failwell.exceptions.rules.STANDARD]
assert [name for name in tables if name in sys.modules] == standard, sys.modules
failwell.from_exception(type("Timeout", (Exception,), {"__module__": "acme"})())
assert all(name in sys.modules for name in tables)
assert not {"httpx", "requests", "aiohttp", "pydantic", "sqlite3", "ssl", "email"} & sys.modules.keys()
"""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("COV")}  # coverage loads much
    subprocess.run([sys.executable, "-c", program], check=True, env=bare)


def _like(**attributes: Any) -> Exception:
    return type("AcmeThing", (Exception,), attributes)("hunter2")


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ({"status_code": 404}, "NOT_FOUND"),
        ({"status": 503}, "SERVICE_UNAVAILABLE"),
        ({"http_status": 429}, "RATE_LIMITED"),
        ({"code": 401}, "UNAUTHORIZED"),
        ({"status_code": "409"}, "CONFLICT"),
        ({"response": SimpleNamespace(status_code=403, headers={})}, "FORBIDDEN"),
        ({"response": SimpleNamespace(status=500)}, "UPSTREAM_ERROR"),
        ({"status_code": 400, "code": "rate_limit_exceeded"}, "RATE_LIMITED"),
        ({"status_code": 429, "body": {"error": {"code": "insufficient_quota"}}}, "QUOTA_EXHAUSTED"),
        ({"sqlstate": "40P01"}, "DEADLOCK"),
        ({"pgcode": "23505"}, "ALREADY_EXISTS"),
        ({"code": "NoSuchKey"}, "NOT_FOUND"),
        ({"code": "WidgetNotFound"}, "NOT_FOUND"),
        ({"code": "Xyzzy"}, "INTERNAL_ERROR"),
        ({"error_code": "AccessDenied"}, "FORBIDDEN"),
        ({"retry_after": 3}, "RATE_LIMITED"),
        ({"status_code": 200}, "INTERNAL_ERROR"),
        ({"code": 1045}, "INTERNAL_ERROR"),
        ({"code": True}, "INTERNAL_ERROR"),
    ],
)
def test_unknown_libraries_are_understood_by_their_attributes(attributes: dict[str, Any], code: str) -> None:
    failure = from_exception(_like(**attributes))

    assert failure.code == code
    assert failure.details == {}


def test_a_delay_is_read_from_an_unknown_exception_and_from_its_response() -> None:
    headers = {"Retry-After": "11"}

    assert from_exception(_like(status_code=429, response=SimpleNamespace(headers=headers))).retry_after == 11
    assert from_exception(_like(status_code=429, headers=headers)).retry_after == 11
    assert from_exception(_like(status_code=503, retry_after=2)).retry_after == 2
    assert from_exception(_like(retry_after=2.5)).retry_after == 2.5


def test_reply_codes_of_mail_servers_are_not_taken_for_http() -> None:
    exc = type("AcmeSmtpError", (Exception,), {"code": 550})()

    assert from_exception(exc) == UNMAPPED


def test_a_guess_gives_way_to_a_surer_verdict_of_the_same_type() -> None:
    network_error = type("AcmeNetworkError", (Exception,), {})
    missing = type("AcmeNotFound", (Exception,), {})
    inner = ConnectionRefusedError(111, "x")

    assert from_exception(raised(network_error("x"), cause=inner)) == from_exception(inner)
    assert from_exception(raised(missing("x"), cause=inner)).code == "NOT_FOUND"


def test_the_nearest_class_decides_between_a_name_and_a_builtin_base() -> None:
    limited = type("AcmeRateLimitError", (ConnectionError,), {})
    slow = type("AcmeTimeout", (TimeoutError,), {})
    refused = type("AcmeConnectionError", (ConnectionRefusedError,), {})

    assert from_exception(limited()).code == "RATE_LIMITED"
    assert from_exception(slow()).code == "TIMEOUT"
    assert from_exception(refused()).outcome == "not_executed"


def test_a_validation_error_of_an_unknown_library_is_not_blamed_on_the_caller() -> None:
    unknown = type("ValidationError", (Exception,), {"__module__": "acme.models"})

    assert from_exception(unknown("x")).code == "INTERNAL_ERROR"


exceptions = st.sampled_from(
    [
        ValueError,
        KeyError,
        TimeoutError,
        ConnectionError,
        OSError,
        FileNotFoundError,
        UnicodeError,
        EOFError,
        Hostile,
    ]
)


@given(st.lists(exceptions, min_size=1, max_size=6), st.text(max_size=20), st.booleans())
def test_no_chain_of_exceptions_makes_it_raise_or_leak(
    classes: list[type[Exception]],
    text: str,
    grouped: bool,
) -> None:
    secret = f"hunter2{text}"
    exc: Exception = classes[0](secret)
    for cls in classes[1:]:
        outer = cls(secret)
        if cls is not Hostile:
            outer.__cause__ = exc
        exc = ExceptionGroup(secret, [outer, exc]) if grouped else outer

    failure = from_exception(exc)

    assert failure.type in ("INTERNAL", "TRANSIENT", "NOT_FOUND", "VALIDATION")
    assert "hunter2" not in repr(failure)
