"""Rules of users, and how they stand to ours."""

import binascii
import importlib
import json
import logging
import sys
from pkgutil import iter_modules
from typing import Any

import httpx
import pydantic
import pytest

from failwell import Failure, errors, exceptions, from_exception, rule
from failwell.exceptions import rules
from tests.exceptions.caught import UNMAPPED


@pytest.mark.table
def test_every_module_with_rules_is_listed() -> None:
    modules = [
        importlib.import_module(f"{exceptions.__name__}.{info.name}") for info in iter_modules(exceptions.__path__)
    ]
    families = [module.__name__.rpartition(".")[2] for module in modules if hasattr(module, "RULES")]

    assert sorted(rules.FAMILIES) == sorted(families)
    assert len(families) > 10


@pytest.mark.table
def test_every_library_stands_in_one_family() -> None:
    families: dict[str, list[str]] = {}
    for family in rules.FAMILIES:
        for packages in importlib.import_module(f"{exceptions.__name__}.{family}").RULES:
            for package in packages.split():
                families.setdefault(package, []).append(family)

    assert {package: found for package, found in families.items() if len(found) > 1} == {}
    assert len(families) > 50


@pytest.mark.table
def test_the_standard_library_stands_in_the_families_that_its_classes_load() -> None:
    for family in rules.FAMILIES:
        packages = importlib.import_module(f"{exceptions.__name__}.{family}").RULES
        names = {name for listed in packages for name in listed.split()}
        assert bool(names & {"builtins", *sys.stdlib_module_names}) is (family in rules.STANDARD), family


class AcmeError(Exception):
    number = 7


class AcmeSubError(AcmeError):
    pass


def test_a_users_rule_holds_for_the_class_and_those_below_it() -> None:
    with rule(AcmeError, "QUOTA_EXHAUSTED"):
        assert from_exception(AcmeError("hunter2")).code == "QUOTA_EXHAUSTED"
        assert from_exception(AcmeSubError("hunter2")).code == "QUOTA_EXHAUSTED"
        with rule(AcmeSubError, "GONE"):
            assert from_exception(AcmeSubError("hunter2")).code == "GONE"

    assert from_exception(AcmeError("hunter2")) == UNMAPPED


def test_a_users_rule_may_look_at_the_exception_and_use_codes_of_its_own() -> None:
    class OutOfStock(AcmeError):
        """Nobody else has a rule for it."""

    @rule(OutOfStock)
    def of_acme(exc: OutOfStock) -> dict[str, Any]:
        return {
            "code": "OUT_OF_STOCK",
            "type": "CONFLICT",
            "message": "Nothing left.",
            "details": {"number": exc.number},
        }

    failure = from_exception(OutOfStock())

    assert (failure.type, failure.code, failure.message) == ("CONFLICT", "OUT_OF_STOCK", "Nothing left.")
    assert failure.details == {"number": 7}
    assert from_exception(AcmeError()) == UNMAPPED


@pytest.mark.parametrize("verdict", [{"code": "GONE"}, {"type": "NOT_FOUND"}, {"code": "ACME_7", "type": "NOT_FOUND"}])
def test_a_users_rule_may_say_what_to_do_next_and_nothing_else_is_said_for_it(verdict: dict[str, str]) -> None:
    with rule(AcmeError, {**verdict, "suggestion": "Call list_parts first."}):
        assert from_exception(AcmeError()).suggestion == "Call list_parts first."
    with rule(AcmeError, lambda _: {**verdict, "suggestion": "Call list_parts first."}):
        assert from_exception(AcmeError()).suggestion == "Call list_parts first."
    with rule(AcmeError, verdict):
        assert from_exception(AcmeError()).suggestion is None


def test_a_users_rule_may_be_named_without_importing_the_class() -> None:
    with rule((__name__.partition(".")[0], "AcmeError"), {"type": "TRANSIENT", "retry_after": 5}):
        failure = from_exception(AcmeSubError())

    assert (failure.type, failure.code, failure.retry_after) == ("TRANSIENT", None, 5)


def test_a_users_rule_goes_before_ours_and_the_latest_first() -> None:
    with rule(TimeoutError, "SERVER_BUSY"):
        assert from_exception(TimeoutError()).code == "SERVER_BUSY"
        with rule(TimeoutError, lambda exc: "GONE" if exc.args else None):
            assert from_exception(TimeoutError("x")).code == "GONE"
            assert from_exception(TimeoutError()).code == "SERVER_BUSY"

    assert from_exception(TimeoutError()).code == "TIMEOUT"


class Order(pydantic.BaseModel):
    count: int


def not_a_number() -> Exception:
    try:
        Order.model_validate({"count": "hunter2"})
    except pydantic.ValidationError as exc:
        return exc
    raise AssertionError


NEARER = {
    "JSON": (ValueError, json.JSONDecodeError("Expecting value", "hunter2", 0)),
    "Unicode": (ValueError, UnicodeDecodeError("utf-8", b"hunter2\xff", 7, 8, "invalid start byte")),
    "pydantic": (ValueError, not_a_number()),
    "base64": (ValueError, binascii.Error("Incorrect padding of hunter2")),
    "file": (OSError, FileNotFoundError(2, "No such file", "hunter2")),
    "connection": (OSError, ConnectionRefusedError(111, "hunter2")),
    "library": (Exception, httpx.ConnectTimeout("hunter2")),
    "library above it": (Exception, type("OurTimeout", (httpx.ConnectTimeout,), {})("hunter2")),
}


@pytest.mark.parametrize(("base", "exc"), NEARER.values(), ids=NEARER)
def test_a_users_rule_for_a_class_leaves_our_rules_for_those_below_it(base: Any, exc: Exception) -> None:
    ours = from_exception(exc)

    with rule(base, lambda exc: {"code": "CONFLICT", "message": str(exc)}):
        assert from_exception(exc) == ours
    with rule(type(exc), lambda exc: {"code": "CONFLICT", "message": "Mine."}):
        assert from_exception(exc).message == "Mine."

    assert ours.code not in (None, "INTERNAL_ERROR", "CONFLICT")


def test_a_users_rule_goes_before_what_we_guess_of_the_classes_below_it() -> None:
    class QuotaExceededError(ValueError):
        status_code = 404

    with rule(ValueError, "CONFLICT"):
        assert from_exception(ValueError()).code == "CONFLICT"
        assert from_exception(QuotaExceededError()).code == "CONFLICT"
        assert from_exception(KeyError()).code == "INTERNAL_ERROR"


def test_a_users_rule_decides_where_ours_for_a_class_below_does_not_know() -> None:
    unknown = OSError(99_999, "nobody knows this number")

    with rule(Exception, "CONFLICT"):
        assert from_exception(unknown).code == "CONFLICT"
        assert from_exception(OSError(2, "hunter2")).code == "FILE_NOT_FOUND"


def test_a_users_rule_may_point_at_another_exception_or_give_a_whole_failure() -> None:
    with rule(AcmeError, lambda _: errors.NotFound("No such thing.")):
        assert from_exception(AcmeError()).message == "No such thing."
    with rule(AcmeError, lambda _: TimeoutError()):
        assert from_exception(AcmeError()).code == "TIMEOUT"
    with rule(AcmeError, lambda _: Failure(message="So it is.")):
        assert from_exception(AcmeError()) == Failure(message="So it is.")


@pytest.mark.parametrize(
    "broken",
    [
        lambda exc: 1 / 0,
        lambda exc: {"code": 7},
        lambda exc: {"outcome": "maybe"},
        lambda exc: object(),
        lambda exc: {"x": 1},
    ],
)
def test_a_users_rule_that_fails_is_logged_and_ours_decide(broken: Any, caplog: pytest.LogCaptureFixture) -> None:
    with rule(TimeoutError, broken), caplog.at_level(logging.ERROR, "failwell"):
        assert from_exception(TimeoutError()) == from_exception(TimeoutError())
        assert from_exception(TimeoutError()).code == "TIMEOUT"

    assert {record.name for record in caplog.records} == {"failwell"}
    assert "a rule for TimeoutError failed" in caplog.text


@pytest.mark.parametrize("key", [int, "acme.Error", ("acme",), ("acme", 7), AcmeError("x"), ("", "Error")])
def test_a_rule_for_what_is_no_exception_class_is_refused(key: Any) -> None:
    with pytest.raises(TypeError, match="a rule is for an exception class or a tuple"):
        rule(key, "GONE")


@pytest.mark.parametrize("verdict", ["not a code", 7, ["GONE"], ""])
def test_a_rule_that_is_none_is_refused(verdict: Any) -> None:
    with pytest.raises(TypeError, match="a rule must be a code such as 'NOT_FOUND', a dict of fields or a function"):
        rule(AcmeError, verdict)


def test_taking_a_rule_back_twice_does_no_harm() -> None:
    registration = rule(AcmeError, "GONE")
    registration.remove()
    registration.remove()

    assert from_exception(AcmeError()) == UNMAPPED


def test_user_rules_leave_the_tables_alone() -> None:
    before = dict(rules.all_rules())

    with rule(TimeoutError, "GONE"):
        from_exception(TimeoutError())

    assert dict(rules.all_rules()) == before


def test_a_rule_for_a_server_needs_a_server() -> None:
    with pytest.raises(TypeError, match="server takes a server of fastmcp or the mcp SDK, not int"):
        rule(ValueError, "CONFLICT", server=5)


def test_a_rule_for_a_server_can_be_a_function_and_holds_nowhere_else() -> None:
    class Server:
        pass

    class Taken(Exception):
        pass

    @rule(Taken, server=Server())
    def taken(exc: Taken) -> str:
        return "CONFLICT"

    assert taken(Taken()) == "CONFLICT"
    assert from_exception(Taken()).code == "INTERNAL_ERROR"


@pytest.mark.parametrize(
    ("verdict", "said"),
    [({"cod": "NOT_FOUND"}, "did you mean 'code'"), ({"type": "NOTFOUND"}, "did you mean 'NOT_FOUND'")],
)
def test_a_rule_with_a_field_or_value_that_no_failure_has_is_refused(verdict: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        rule(KeyError, verdict)
