"""What stands in a record is no more than what may leave on the wire, whatever a failure holds and wherever it goes."""

import json
import random
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import failwell as fw
from failwell.event import CallArguments
from failwell.proxy.options import parse
from failwell.proxy.recorder import ProxyRecorder
from failwell.records import Event, Record, Recorder, open_reader, open_sink
from tests.cli.streams import output
from tests.exceptions.servers import Postgres
from tests.records.samples import Kept, drop_tables, finished
from tests.records.test_otlp import Receiver, receiver

__all__ = ["receiver"]

# Each makes a text that redaction recognises by what stands around the value, or by the look of the value.
SECRETS: dict[str, str] = {
    "postgresql address": "postgresql://app:{}@db/x",
    "mysql address": "mysql+pymysql://root:{}@10.0.0.5:3306/shop",
    "redis address": "redis://:{}@cache:6379/0",
    "amqp address": "amqp://guest:{}@queue:5672/%2F",
    "mongodb address": "mongodb+srv://svc:{}@cluster0.example.net/db?w=majority",
    "address with a user": "https://ann:{}@example.com/repo.git",
    "smtp address": "smtp://mailer:{}@mail.example.com:587",
    "ftp address": "ftp://anonymous:{}@files.example.com/in",
    "password sign": "password={}",
    "password colon": "passwd: {}",
    "token sign": "token={}",
    "api key sign": "api_key={}",
    "secret sign": "client_secret={}",
    "json password": '{{"password": "{}"}}',
    "repr password": "{{'passphrase': '{}'}}",
    "bearer header": "Authorization: Bearer {}",
    "key header": "X-API-Key: {}",
    "cookie header": "Cookie: sid={}",
    "query token": "https://api.example.com/v1/items?token={}&page=2",
    "query key": "https://maps.example.com/geo?key={}",
    "connection string": "Server=db;User Id=sa;Password={};Encrypt=true",
    "account key": "AccountName=shop;AccountKey={}",
    "long option": "backup --password {} --verbose",
    "curl user": "curl -u ann:{} https://api.example.com",
    "xml element": "<login><password>{}</password></login>",
    "webhook": "https://hooks.slack.com/services/T000/B000/{}",
    "github token": "ghp_{}",
    "stripe key": "sk_live_{}",
    "anthropic key": "sk-ant-{}",
    "aws key id": "AKIA{}",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.{}.c2lnbmF0dXJl",
    "pem": "-----BEGIN PRIVATE KEY-----\nMIIEvQ{}\n-----END PRIVATE KEY-----",
}
"""Made-up secrets: `{}` is the value, which is new for each case."""

_random = random.Random(17)


class Case(NamedTuple):
    """A failure with a secret in one place, and what was sent for a field beside it."""

    name: str
    value: str
    text: str
    failure: fw.Failure


Build = Callable[[str, Any], fw.Failure]


def problem(sent: Any, path: str = "target", **more: Any) -> tuple[fw.FieldProblem, ...]:
    return (fw.FieldProblem(**{"path": path, "message": "Not accepted.", "sent": sent, **more}),)


PLACES: dict[str, Build] = {
    "message": lambda text, sent: fw.Failure(
        code="INVALID_INPUT", message=f"Cannot connect to {text}", fields=problem(sent)
    ),
    "suggestion": lambda text, sent: fw.Failure(
        code="INVALID_INPUT", message="No.", suggestion=f"Look at {text} first", fields=problem(sent)
    ),
    "sent": lambda text, sent: fw.Failure(
        code="INVALID_INPUT", message="No.", fields=(*problem(sent), *problem(text, "other"))
    ),
    "field message": lambda text, sent: fw.Failure(
        code="INVALID_INPUT", message="No.", fields=problem(sent, message=f"Got {text} here.")
    ),
    "expected": lambda text, sent: fw.Failure(
        code="INVALID_INPUT", message="No.", fields=problem(sent, expected=f"not {text}")
    ),
    "options": lambda text, sent: fw.Failure(
        code="INVALID_INPUT", message="No.", fields=problem(sent, options=(text, "other"))
    ),
    "did you mean": lambda text, sent: fw.Failure(
        code="INVALID_INPUT", message="No.", fields=problem(sent, did_you_mean=text)
    ),
    "path": lambda text, sent: fw.Failure(code="INVALID_INPUT", message="No.", fields=problem(sent, text)),
    "details": lambda text, sent: fw.Failure(
        code="INVALID_INPUT", message="No.", details={"cause": {"line": text}}, fields=problem(sent)
    ),
    "extra": lambda text, sent: fw.Failure(
        code="INVALID_INPUT", message="No.", extra={"trace": [text]}, fields=problem(sent)
    ),
    "actions": lambda text, sent: fw.Failure(
        code="INVALID_INPUT", message="No.", actions=(text,), fields=problem(sent)
    ),
    "secret field": lambda text, sent: fw.Failure(
        code="INVALID_INPUT", message=f"Refused {text}.", fields=problem(text, "auth.password")
    ),
}  # fmt: skip


def cases() -> Iterator[Case]:
    """Yield every secret in every place, with each part of it that a field may have been sent."""
    for kind, template in SECRETS.items():
        before, _, after = template.format("\0").partition("\0")
        for place, build in PLACES.items():
            for which in ("whole", "value", "before", "name", "after"):
                value = "".join(_random.choices(string.ascii_uppercase + string.digits, k=20)) + "7Q"
                text = before + value + after
                sent = {"whole": text, "value": value, "before": before, "name": before.rstrip("=: ;"), "after": after}
                yield Case(f"{kind} in {place}, sent {which}", value, text, build(text, sent[which]))


CASES = list(cases())
FEW = [case for case in CASES if case.name.endswith(("sent whole", "sent before"))]
WIRE = {case.name: json.dumps(fw.encode(case.failure)) for case in CASES}


def observed(case: Case) -> Any:
    text = fw.encode(case.failure)["content"][0]["text"]
    return finished("find", failure=case.failure, server="tasks", text=text, arguments=arguments(case))


def arguments(case: Case) -> CallArguments:
    """Return arguments with the secret in a value, in a name, and in a name that is too long to be kept whole."""
    filled = case.text.replace(case.value, "X" * 160 + case.value)
    return CallArguments({"target": case.text, case.text: 1, filled: 2, filled + "/" + "y" * 900: 3})


def observed_raw(case: Case) -> Any:
    return finished("find", failure=case.failure, server="tasks", text=f"{case.failure.message} {case.text}")


def retried(case: Case) -> Any:
    return Event(source="client", kind="failure", server="tasks", tool="find", elapsed=0.1, failure=case.failure,
                 arguments=arguments(case))  # fmt: skip


def proxied(case: Case) -> Any:
    return Event(source="proxy", kind="failure", tool="find", failure=case.failure, details={"line": case.text},
                 call=case.text)  # fmt: skip


def by_hand(case: Case) -> Any:
    whole = msgspec.to_builtins(case.failure)
    return Record(time=1.0, source="guard", kind="failure", message=case.failure.message, text=case.text, failure=whole)


SOURCES: dict[str, Callable[[Case], Any]] = {
    "guard": observed,
    "observer told by hand": observed_raw,
    "client": retried,
    "proxy": proxied,
}


def record_all(sink: Any, source: str, cases: list[Case] = FEW) -> None:
    make = SOURCES[source]
    with Recorder(sink, capacity=10 * len(cases)) as recorder:
        for case in cases:
            recorder(make(case))
        assert recorder.flush(300)
    assert recorder.lost == 0


def beyond_the_wire(kept: str) -> list[str]:
    """Return the cases whose secret stands in a text though it may not leave."""
    found = set(re.findall(r"(?=([A-Z0-9]{20}7Q)(?![A-Z0-9]))", kept))
    return [case.name for case in CASES if case.value in found and case.value not in WIRE[case.name]]


def test_the_secrets_of_these_tests_are_kept_from_the_wire() -> None:
    kept = {case.name.partition(" in ")[0] for case in CASES if case.value not in WIRE[case.name]}

    assert kept == set(SECRETS)
    assert len(kept) >= 25


@pytest.mark.parametrize("source", SOURCES)
def test_no_record_holds_more_than_the_wire(source: str) -> None:
    sink = Kept()
    record_all(sink, source, CASES)

    assert len(sink.records) == len(CASES)
    assert beyond_the_wire("\n".join(msgspec.json.encode(one).decode() for one in sink.records)) == []


@pytest.mark.parametrize("dialect", ["compact", "xml"])
def test_no_record_of_a_proxy_holds_more_than_the_wire(
    tmp_path: Path, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("failwell.proxy.recorder.LAST_RECORDS_TIMEOUT", 300)  # however busy the machine is
    path = tmp_path / "calls.jsonl"
    options = parse(["--events", f"jsonl:{path}", "--dialect", dialect, "--", "server"])
    recorder = ProxyRecorder(f"jsonl:{path}", options, server="tasks", warn=pytest.fail)
    for case in FEW:
        recorder(proxied(case))
    recorder.close()

    assert recorder.lost == 0
    assert beyond_the_wire(path.read_text()) == []


@pytest.mark.parametrize("scheme", ["jsonl:", pytest.param("sqlite:///", marks=pytest.mark.slow)])
def test_no_file_and_no_listing_holds_more_than_the_wire(tmp_path: Path, scheme: str) -> None:
    address = f"{scheme}{tmp_path / 'calls'}"
    record_all(address, "guard")
    record_all(address, "client")

    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir()).decode("latin-1")
    most = str(2 * len(FEW))
    shown = "".join(
        output("events", *words, "--store", address)
        for words in (["list", "--most", most], ["list", "--json", "--most", most], ["export", "--to", "csv"])
    )
    assert beyond_the_wire(kept) == []
    assert beyond_the_wire(shown) == []
    assert len(list(open_reader(address).records())) == 2 * len(FEW)


@pytest.mark.parametrize("words", [["list"], ["list", "--json"], ["export"], ["export", "--to", "csv"]], ids=" ".join)
def test_a_file_that_something_else_wrote_is_shown_redacted(tmp_path: Path, words: list[str]) -> None:
    address = f"jsonl:{tmp_path / 'calls'}"
    sink = open_sink(address)
    sink.write([by_hand(case) for case in FEW])
    sink.close()

    shown = output("events", *words, "--store", address)

    assert shown.count("\n") >= 50
    assert beyond_the_wire(shown) == []


def test_no_row_of_a_database_holds_more_than_the_wire(postgres: Postgres) -> None:
    address = f"postgresql://{postgres.url}"
    record_all(address, "client")
    reader = open_reader(address)
    kept = "\n".join(msgspec.json.encode(one).decode() for one in reader.records())
    reader.close()
    drop_tables(address)

    assert kept.count("\n") == len(FEW) - 1
    assert beyond_the_wire(kept) == []


def test_no_collector_gets_more_than_the_wire(receiver: Receiver) -> None:
    record_all(f"otlp:{receiver.url}", "client")

    assert len(receiver.spans) == len(FEW)
    assert beyond_the_wire("".join(str(request) for _, request in receiver.got)) == []


@pytest.mark.parametrize("name", ["session", "server", "tool", "call", "reason"])
def test_no_other_text_of_an_event_gets_into_a_record_with_a_secret(name: str) -> None:
    value = "".join(_random.choices(string.ascii_uppercase + string.digits, k=20))
    sink = Kept()
    with Recorder(sink) as recorder:
        for template in SECRETS.values():
            recorder(Event(**{"source": "server", "kind": "success", name: template.format(value)}))

    assert [one for one in sink.records if value in msgspec.json.encode(one).decode()] == []
    assert len(sink.records) == len(SECRETS)


@pytest.mark.parametrize("name", ["session", "server", "tool", "call", "reason", "arguments", "id", "decision"])
def test_no_text_of_a_record_that_something_else_wrote_is_shown_with_a_secret(tmp_path: Path, name: str) -> None:
    value = "".join(_random.choices(string.ascii_uppercase + string.digits, k=20))
    address = f"jsonl:{tmp_path / 'calls'}"
    sink = open_sink(address)
    sink.write(
        [
            Record(**{"time": 1.0, "source": "guard", "kind": "success", name: template.format(value)})
            for template in SECRETS.values()
        ]
    )
    sink.close()

    shown = output("events", "list", "--json", "--store", address)

    assert shown.count("\n") == len(SECRETS)
    assert value not in shown


def test_values_that_were_sent_are_cut_out_of_what_redaction_left() -> None:
    sent = "postgresql://app:hunter2xyz@db/x"
    failure = fw.Failure(code="INVALID_INPUT", message=f"Cannot connect to {sent}: no route.", fields=problem(sent))
    sink = Kept()
    with Recorder(sink) as recorder:
        recorder(finished("find", failure=failure))

    assert sink.records[0].message == "Cannot connect to …: no route."


def test_a_call_number_that_looks_like_a_card_still_joins_its_records_and_is_no_card() -> None:
    numbers = [4111111111111111, 4012888888881881, 7]
    sink = Kept()
    with Recorder(sink) as recorder:
        for number in (*numbers, *numbers):
            recorder(Event(source="client", kind="success", server="s", tool="t", elapsed=0.1, call=number))

    told = [one.call for one in sink.records]
    assert told[:3] == told[3:]
    assert len(set(told)) == 3
    assert told[2] == "7"
    assert not any(str(number) in "".join(told) for number in numbers[:2])
    assert "redacted" not in "".join(told)


def test_the_name_of_a_session_is_never_taken_for_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", lambda count: bytes.fromhex("4111111111111111" * 2)[:count])
    sink = Kept()
    with Recorder(sink) as recorder:
        recorder(finished("find"))

    assert sink.records[0].session == recorder.name
    assert len(recorder.name) == 16
