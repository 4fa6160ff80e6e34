"""Exceptions of libraries that have few rules or none: what they carry, what they are called and what they hold.

`tests/data/exceptions.jsonl` lists exceptions of 249 packages as their libraries raise them, each labelled by hand
before it was tried: the types that a person would accept, and whether the operation may have had an effect. Their
classes are made here, from the names, so that no library is needed.
"""

import builtins
import enum
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from failwell import Failure, from_exception
from tests.exceptions.caught import caught, raised
from tests.exceptions.test_lookalikes import lookalike

LABELLED = Path(__file__).parent.parent / "data" / "exceptions.jsonl"


class Label(msgspec.Struct, rename={"name": "class"}):
    name: str
    types: list[str]
    effect: bool
    bases: list[str] = []
    root: str = "Exception"
    args: tuple[Any, ...] = ("some text",)
    attributes: dict[str, Any] = {}

    def exception(self) -> BaseException:
        cls: Any = getattr(builtins, self.root)
        package = self.name.partition(".")[0]
        for base in (*reversed(self.bases), self.name):
            module, _, name = base.rpartition(".")
            cls = type(name, (cls,), {"__module__": module or package})
        exc: BaseException = cls.__new__(cls, *map(_made, self.args))
        exc.args = tuple(map(_made, self.args))
        for name, value in self.attributes.items():
            setattr(exc, name, _made(value))
        return exc


def _made(value: Any) -> Any:
    if isinstance(value, dict) and "raise" in value:
        return getattr(builtins, value["raise"])(*value["args"])
    return SimpleNamespace(**value) if isinstance(value, dict) and "status_code" in value else value


def _is_right(label: Label, failure: Failure) -> bool:
    promises = {"TRANSIENT": (True,), "INTERNAL": (False, None), "CONFLICT": (False, True)}
    return failure.type in label.types and failure.retryable in promises.get(failure.type, (False,))


@pytest.fixture(scope="module")
def mapped() -> list[tuple[Label, Failure]]:
    labels = [msgspec.json.decode(line, type=Label) for line in LABELLED.read_bytes().splitlines()]
    return [(label, from_exception(label.exception())) for label in labels]


def test_nearly_all_are_understood_as_a_person_would(mapped: list[tuple[Label, Failure]]) -> None:
    wrong = [f"{label.name}: {failure.code}" for label, failure in mapped if not _is_right(label, failure)]

    assert len(mapped) > 1500
    assert len(wrong) <= 0.02 * len(mapped), wrong


def test_no_effect_that_was_possible_is_denied(mapped: list[tuple[Label, Failure]]) -> None:
    denied = [label for label, failure in mapped if label.effect and failure.outcome in ("not_executed", "rejected")]

    assert denied == []


class Code(enum.Enum):
    NOT_FOUND = 5


class WithMethod(Exception):
    def code(self) -> Code:
        return Code.NOT_FOUND


class Dynamic(Exception):
    def __getattr__(self, name: str) -> Any:
        if name == "status_code":
            return 404
        raise AttributeError(name)


WithMethod.__module__ = Dynamic.__module__ = "acme"


def _like(names: str = "AcmeError", *args: object, **attributes: object) -> BaseException:
    return lookalike(f"acme.{names}", *args, **attributes)


def _said(exc: BaseException) -> str:
    failure = from_exception(exc)
    return f"{failure.code} {failure.outcome}"


@pytest.mark.parametrize(
    ("exc", "said"),
    [
        (_like(code=Code.NOT_FOUND), "NOT_FOUND unknown"),
        (WithMethod(), "NOT_FOUND unknown"),
        (Dynamic(), "NOT_FOUND rejected"),
        (_like(retry_after_s=5), "RATE_LIMITED unknown"),
        (_like(retryable=True), "SERVICE_UNAVAILABLE unknown"),
        (_like(errno=111, strerror="Connection refused"), "CONNECTION_REFUSED not_executed"),
        (_like(errno=111, strerror="Something else"), "INTERNAL_ERROR unknown"),
        (_like("AcmeError", "It failed", 422, "Unprocessable Entity"), "INVALID_ARGUMENT rejected"),
        (_like("AcmeApiError", 404, "No such widget"), "NOT_FOUND rejected"),
        (_like("AcmeError", 404, "widgets"), "INTERNAL_ERROR unknown"),
        (_like("SmtpApiError", 451, "Try again"), "INTERNAL_ERROR unknown"),
        (_like("AcmeError", "HTTP response code: 403 - planted"), "FORBIDDEN unknown"),
        (_like("AcmeError", "403 widgets"), "INTERNAL_ERROR unknown"),
        (_like(code="23505", hint=None), "ALREADY_EXISTS rejected"),
        (_like(code="23505"), "INTERNAL_ERROR unknown"),
        (_like("BudgetExceededError", status_code=400), "QUOTA_EXHAUSTED unknown"),
        (_like("UnexpectedStatusError", status_code=422), "INVALID_ARGUMENT rejected"),
        (_like("BadJSON", response=SimpleNamespace(status_code=200)), "BAD_UPSTREAM_RESPONSE unknown"),
        (_like("AcmeParsingError", response_code=None), "BAD_UPSTREAM_RESPONSE unknown"),
        (_like("AcmeParsingError<AcmeServiceError"), "BAD_UPSTREAM_RESPONSE unknown"),
        (_like("AcmeParsingError"), "PARSE_ERROR unknown"),
        (_like(code="SQLITE_BUSY"), "LOCK_TIMEOUT unknown"),
        (_like(code="InvalidAccessKeyId.NotFound"), "UNAUTHORIZED unknown"),
        (_like(code="InvalidInstanceId.NotFound"), "NOT_FOUND unknown"),
        (_like("ETagMismatchError"), "CONCURRENT_MODIFICATION unknown"),
        (_like("ServiceError", status=409, code="IncorrectState"), "PRECONDITION_FAILED rejected"),
        (_like("MaximumWaitTimeExceeded"), "TIMEOUT unknown"),
        (_like("CasMismatchException"), "CONCURRENT_MODIFICATION unknown"),
        (_like("NotAllowedError"), "FORBIDDEN unknown"),
        (_like("ExtraFieldNotAllowed"), "INVALID_ARGUMENT unknown"),
        (_like("RecordNonExistenceError"), "NOT_FOUND unknown"),
        (_like("RateLimitExceeded", status_code=403), "RATE_LIMITED not_executed"),
        (_like(req=SimpleNamespace(status_code=404)), "NOT_FOUND rejected"),
        (_like(error="The server returned invalid data: nothing like it"), "INTERNAL_ERROR unknown"),
        (lookalike("aioftp.StatusCodeError", received_codes=("550",)), "NOT_FOUND rejected"),
        (lookalike("aioftp.StatusCodeError", received_codes=("450",)), "SERVICE_UNAVAILABLE rejected"),
        (_like("MissingObjectIdError"), "INVALID_ARGUMENT unknown"),
        (_like("CapabilityNotAllowed"), "FORBIDDEN unknown"),
        (_like("StorageCapExceeded"), "QUOTA_EXHAUSTED unknown"),
        (_like("OnCooldown<CommandError", retry_after=3.5), "RATE_LIMITED unknown"),
    ],
)  # fmt: skip
def test_what_an_exception_carries_says_what_failed(exc: BaseException, said: str) -> None:
    assert _said(exc) == said


def test_the_word_of_a_class_on_another_try_holds() -> None:
    assert from_exception(_like(status_code=503, retryable=False)).retryable is False


@pytest.mark.parametrize(
    "make", [lambda inner: _like(source=inner), lambda inner: _like("AcmeError", "planted", inner)]
)
def test_an_exception_that_another_one_holds_is_what_failed(make: Any) -> None:
    assert _said(make(ConnectionRefusedError(111, "planted"))) == "CONNECTION_REFUSED not_executed"
    assert _said(make(TimeoutError())) == "TIMEOUT unknown"
    assert _said(make(ValueError("planted"))) == "INTERNAL_ERROR unknown"


def test_what_is_raised_from_goes_before_what_is_held() -> None:
    assert (
        _said(raised(_like(source=TimeoutError()), cause=FileNotFoundError(2, "planted"))) == "FILE_NOT_FOUND rejected"
    )


@pytest.mark.parametrize("name", ["MaxRetriesExceeded", "RetryError", "TooManyAttempts", "AcmeError<RetryError"])
def test_the_last_of_several_tries_says_nothing_of_the_others(name: str) -> None:
    refused = ConnectionRefusedError(111, "planted")

    assert _said(raised(_like(name), cause=refused)) == "CONNECTION_REFUSED unknown"
    assert _said(_like(name, last=refused)) == "CONNECTION_REFUSED unknown"
    assert _said(_like(name, errors=ExceptionGroup("x", [refused, refused]))) == "CONNECTION_REFUSED unknown"


def test_the_name_of_a_base_counts_for_less_than_what_it_was_raised_from() -> None:
    missing = _like(status_code=404)

    assert _said(raised(_like("PutError<AcmeConnectionError"), cause=missing)) == "NOT_FOUND rejected"
    assert _said(raised(_like("AcmeConnectionError"), cause=missing)) == "CONNECTION_LOST unknown"
    assert _said(_like("PutError<AcmeConnectionError")) == "CONNECTION_LOST unknown"


def _below_requests(name: str, **attributes: object) -> BaseException:
    base = type(lookalike("requests.HTTPError<RequestException"))
    exc: BaseException = type(name, (base,), {"__module__": "acme"})()
    for key, value in attributes.items():
        setattr(exc, key, value)
    return exc


def test_a_class_of_another_package_says_more_than_what_its_base_is_taken_for() -> None:
    assert _said(_below_requests("AcmeError")) == "UPSTREAM_ERROR unknown"
    assert _said(_below_requests("TokenExpiredError")) == "UNAUTHORIZED unknown"
    assert _said(_below_requests("AcmeError", http_status=403)) == "FORBIDDEN rejected"
    assert (
        _said(_below_requests("AcmeError", response=SimpleNamespace(status_code=404, headers={})))
        == "NOT_FOUND rejected"
    )


def test_the_results_of_curl_are_known() -> None:
    def said(number: int) -> str:
        return _said(lookalike("pycurl.error", number, "planted"))

    assert [said(number) for number in (6, 7, 28, 56, 60)] == [
        "HOST_NOT_FOUND not_executed", "CONNECTION_FAILED not_executed", "TIMEOUT unknown", "CONNECTION_LOST unknown",
        "TLS_VERIFY_FAILED not_executed",
    ]  # fmt: skip
    assert _said(lookalike("curl_cffi.Timeout<CurlError", "planted", code=28)) == "TIMEOUT unknown"


def test_a_group_with_one_failure_is_that_failure_whatever_holds_it() -> None:
    refused = ConnectionRefusedError(111, "planted")

    assert _said(_like(errors=ExceptionGroup("planted", [refused]))) == "CONNECTION_REFUSED not_executed"
    assert _said(raised(RuntimeError("x"), cause=ExceptionGroup("x", [_like(source=refused)]))) == (
        "CONNECTION_REFUSED not_executed"
    )


@pytest.mark.parametrize(
    "exc", [ValueError("x"), TypeError("x"), KeyError("x"), EOFError("x"), LookupError("x")], ids=repr
)
def test_a_mistake_that_is_held_blames_no_argument(exc: Exception) -> None:
    for holder in (_like(source=exc), raised(_like(), cause=exc)):
        failure = from_exception(holder, arguments={"city": "Rome"})

        assert (failure.type, failure.outcome) == ("INTERNAL", "unknown")


def _parsing(filename: str, module: str, loads: Any = json.loads) -> BaseException:
    scope: dict[str, Any] = {"__name__": module, "loads": loads}
    exec(compile("def parse(text): return loads(text)", filename, "exec"), scope)
    return caught(scope["parse"], "<html>")


def _orjson() -> Any:
    scope: dict[str, Any] = {"__name__": "orjson"}
    code = "class JSONDecodeError(ValueError): pass\ndef loads(text): raise JSONDecodeError(text)"
    exec(compile(code, "/venv/lib/site-packages/orjson/orjson.py", "exec"), scope)
    return scope["loads"]


@pytest.mark.parametrize("folder", ["/venv/lib/site-packages/acme", "C:\\venv\\site-packages\\acme"])
def test_what_a_library_could_not_parse_was_not_sent_by_the_caller(folder: str) -> None:
    inner = _parsing(f"{folder}/client.py", "acme.client")

    assert _said(inner) == "INTERNAL_ERROR unknown"
    assert _said(raised(_like(), context=inner)) == "INTERNAL_ERROR unknown"
    assert _said(_parsing(f"{folder}/client.py", "acme.client", _orjson())) == "INTERNAL_ERROR unknown"
    assert from_exception(_parsing("/srv/tools.py", "tools", _orjson())).code == "PARSE_ERROR"
    assert from_exception(inner, arguments={"text": "<html>"}).code == "PARSE_ERROR"
    assert from_exception(_parsing("/srv/tools.py", "tools")).code == "PARSE_ERROR"


def _errors(*extensions: dict[str, str]) -> list[dict[str, Any]]:
    return [{"message": "planted", "extensions": found} for found in extensions]


@pytest.mark.parametrize(
    ("exc", "said"),
    [
        (lookalike("gql.TransportQueryError", errors=_errors({"code": "FORBIDDEN"})), "FORBIDDEN unknown"),
        (lookalike("gql.TransportQueryError<TransportError", errors=_errors({})), "INTERNAL_ERROR unknown"),
        (lookalike("gql.TransportQueryError<TransportError", errors=None), "INTERNAL_ERROR unknown"),
        (lookalike("selenium.JavascriptException<WebDriverException"), "INVALID_ARGUMENT unknown"),
        (lookalike("selenium.UnexpectedAlertPresentException<WebDriverException"), "PRECONDITION_FAILED unknown"),
        (lookalike("mutagen.HeaderNotFoundError<MutagenError"), "PARSE_ERROR rejected"),
        (lookalike("mutagen.MutagenError", cause=FileNotFoundError(2, "planted")), "FILE_NOT_FOUND rejected"),
    ],
)  # fmt: skip
def test_names_that_mislead_have_a_rule(exc: BaseException, said: str) -> None:
    assert _said(exc) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[6] Too many requests per second", "RATE_LIMITED unknown"),
        ("[15] Access denied", "FORBIDDEN unknown"),
        ("Repository not found at /srv/planted", "NOT_FOUND unknown"),
        (
            "Column 'planted' is required",
            "INTERNAL_ERROR unknown",
        ),  # of what the library got, which the tool may have made
        ("planted", "INTERNAL_ERROR unknown"),
    ],
)
def test_words_of_an_unknown_library_say_what_failed_but_blame_no_input(text: str, said: str) -> None:
    failure = from_exception(_like("AcmeError", text))

    assert f"{failure.code} {failure.outcome}" == said
    assert "planted" not in failure.message


def test_words_count_less_than_what_an_exception_was_raised_from() -> None:
    assert _said(raised(_like("AcmeError", "Access denied"), cause=TimeoutError())) == "TIMEOUT unknown"


def test_words_of_the_standard_library_are_not_read() -> None:
    assert _said(ValueError("Access denied")) == "INTERNAL_ERROR unknown"
