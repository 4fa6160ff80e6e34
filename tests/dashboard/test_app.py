"""The server: what it gives, to whom, and what attackers get."""

import asyncio
import csv
import io
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

import failwell as fw
from failwell.dashboard.access import COOKIE, Access, AccessRefused
from failwell.dashboard.app import FILES, SECURITY
from failwell.dashboard.data import DashboardData
from failwell.dashboard.server import CannotListen, listening
from failwell.dashboard.views import View
from failwell.records import Record, failure_fields
from tests.dashboard.stores import NOW, Serving, served, some_sessions, source_of, write
from tests.records.samples import MISSING, record

TOKEN = "planted-token-0123456789"
PATHS = [
    *FILES,
    "/metrics",
    "/api/overview",
    "/api/feed",
    "/api/details?failure=1",
    "/export/groups.csv",
    "/export/records.json",
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    address = f"sqlite:///{tmp_path_factory.mktemp('store') / 'calls.db'}"
    write(address, [record(NOW - 60, "failure", MISSING, call="1", server="tasks"), record(NOW - 50, call="2")])
    return address


@pytest.fixture(scope="module")
def open_door(store: str) -> Iterator[str]:
    """The address of a dashboard that lets everybody on this machine in."""
    serving = Serving(store)
    yield serving.address
    serving.close()


@pytest.fixture(scope="module")
def closed_door(store: str) -> Iterator[str]:
    """The address of one that wants the token."""
    serving = Serving(store, TOKEN)
    yield serving.address
    serving.close()


class Answer:
    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def error(self) -> str:
        found = json.loads(self.body)
        assert list(found) == ["error"]
        return str(found["error"])


def get(base: str, path: str, *, method: str = "GET", **options: Any) -> Answer:
    async def ask() -> Answer:
        async with (
            ClientSession() as client,
            client.request(method, f"{base}{path}", allow_redirects=False, **options) as answer,
        ):
            return Answer(answer.status, answer.headers.copy(), await answer.read())

    return asyncio.run(ask())


def raw(base: str, request: bytes) -> bytes:
    """Send bytes that no client would, and return the first line of the answer."""
    with socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2])), timeout=30) as sent:
        sent.sendall(request)
        with sent.makefile("rb") as answer:
            return answer.readline()


@pytest.mark.parametrize("path", PATHS)
def test_everything_there_is_has_the_headers_that_keep_it_safe(open_door: str, path: str) -> None:
    found = get(open_door, path)

    assert found.status == 200
    assert {name: found.headers.get(name) for name in SECURITY} == SECURITY
    assert len(found.body) > 50
    assert not found.headers["Content-Type"].startswith("application/octet-stream")


def test_the_policy_lets_nothing_in_and_nothing_frame_it() -> None:
    policy = dict(part.strip().partition(" ")[::2] for part in SECURITY["Content-Security-Policy"].split(";"))

    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert not any("unsafe" in value or "*" in value or "http" in value for value in policy.values())


def test_the_first_page_has_all_figures(open_door: str) -> None:
    found = json.loads(get(open_door, "/api/overview?range=7d&server=tasks").body)

    assert (found["state"], found["totals"]["calls"], found["totals"]["failed"]) == ("ready", 1, 1)
    assert found["feed"]["rows"][0]["message"] == MISSING.message


def test_a_head_has_no_body(open_door: str) -> None:
    found = get(open_door, "/api/overview", method="HEAD")

    assert (found.status, found.body) == (200, b"")


def test_exports_hold_what_is_shown(open_door: str) -> None:
    as_csv, as_json = (
        get(open_door, "/export/records.csv?server=tasks"),
        get(open_door, "/export/records.json?server=tasks"),
    )
    hours = get(open_door, "/export/hours.json?range=24h")

    rows = list(csv.DictReader(io.StringIO(as_csv.body.decode())))
    assert [(row["tool"], row["code"], row["message"]) for row in rows] == [("find", "NOT_FOUND", MISSING.message)]
    assert rows[0]["time"].endswith("+00:00")
    assert [row["code"] for row in json.loads(as_json.body)] == ["NOT_FOUND"]
    assert as_csv.headers["Content-Disposition"] == 'attachment; filename="failwell-records.csv"'
    assert as_json.headers["Content-Type"] == "application/json"
    assert sum(row["calls"] for row in json.loads(hours.body)) == 2


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_nothing_can_be_changed(open_door: str, method: str) -> None:
    found = get(open_door, "/api/overview", method=method)

    assert (found.status, found.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "path",
    [
        *("/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/style.css/"),
        *("/./style.css", "/STYLE.CSS", "/page/", "/__init__.py", "/answering.py", "/export/", "/export/groups.exe"),
        *("/export/../style.css", "/%00", "/style.css%00.html", "/\\..\\..\\etc\\passwd", "/api", "/%61pi/overview"),
    ],
)
def test_a_trick_with_the_path_finds_nothing(open_door: str, path: str) -> None:
    line = raw(open_door, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())

    assert line.split(b" ")[1] in (b"404", b"400")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"431"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: " + b"a" * 20_000 + b"\r\n\r\n", b"431"),
        (b"GET /?tool=" + b"a" * 5_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"414"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999\r\n\r\n", b"413"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", b"413"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
    ],
    ids=["long path", "long header", "long query", "large body", "body in pieces", "no HTTP", "no host"],
)
def test_a_request_that_is_too_large_or_none_is_refused(open_door: str, request_: bytes, status: bytes) -> None:
    assert raw(open_door, request_).split(b" ")[1] == status


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.168.0.1", "[::2]"])
def test_another_host_is_not_served(open_door: str, host: str) -> None:
    found = get(open_door, "/api/overview", headers={"Host": host})

    assert (found.status, found.error) == (421, "this host is not served here")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://[broken"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    ],
)
def test_the_page_of_a_stranger_gets_no_data(open_door: str, headers: dict[str, str]) -> None:
    found = get(open_door, "/api/overview", headers=headers)

    assert (found.status, found.error) == (403, "requests from other sites are refused")
    assert "Access-Control-Allow-Origin" not in found.headers


def test_a_link_from_elsewhere_opens_the_page_but_not_in_a_frame(open_door: str) -> None:
    led = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}

    assert get(open_door, "/?range=30d", headers={**led, "Sec-Fetch-Dest": "document"}).status == 200
    assert get(open_door, "/?range=30d", headers={**led, "Sec-Fetch-Dest": "iframe"}).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Cookie": f"{COOKIE}={TOKEN}"},
        {"Cookie": f"{COOKIE}=\xff; ;;="},
        {"Cookie": "=; \x00"},
    ],
    ids=["none", "wrong", "scheme", "short", "token as cookie", "odd cookie", "broken cookie"],
)
def test_what_is_not_the_token_opens_nothing(headers: dict[str, str]) -> None:
    with pytest.raises(AccessRefused, match="needs its token") as caught:
        Access("127.0.0.1", TOKEN).check_token(headers)

    assert caught.value.status == 401


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_told_without_the_token(closed_door: str, path: str) -> None:
    assert get(closed_door, path).status == 401


def test_the_token_opens_by_header_and_by_address_once(closed_door: str) -> None:
    without = get(closed_door, "/api/overview")
    by_header = get(closed_door, "/api/overview", headers={"Authorization": f"Bearer {TOKEN}"})
    by_address = get(closed_door, f"/?range=30d&token={TOKEN}&tool=find")
    wrong = get(closed_door, "/?token=wrong")
    elsewhere = get(closed_door, f"/api/overview?token={TOKEN}")

    cookie = by_address.headers["Set-Cookie"]
    by_cookie = get(closed_door, "/api/overview", headers={"Cookie": cookie.partition(";")[0]})
    assert (without.status, without.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert "needs its token" in without.error
    assert by_header.status == 200
    assert (by_address.status, by_address.headers["Location"]) == (303, "/?range=30d&tool=find")
    assert cookie.endswith("; HttpOnly; SameSite=Strict; Path=/")
    assert TOKEN not in cookie
    assert by_cookie.status == 200
    assert (wrong.status, "Set-Cookie" in wrong.headers) == (401, False)
    assert elsewhere.status == 401


def test_no_address_leads_away_with_the_token(closed_door: str) -> None:
    found = get(closed_door, f"/?token={TOKEN}&//evil.example")

    assert found.headers["Location"].startswith("/?")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "dashboard.example"])
def test_others_are_let_in_with_a_token_only(host: str) -> None:
    with pytest.raises(ValueError, match=f"other machines can reach {host}: set --token or FAILWELL_DASHBOARD_TOKEN"):
        Access(host, None)
    Access(host, TOKEN).check("/", {"Host": "whatever.example"})


@pytest.mark.parametrize("token", ["", "short", "ä" * 20, "with\nline" * 3])
def test_a_token_that_can_be_guessed_or_not_sent_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="at least 16 characters"):
        Access("127.0.0.1", token)


METACHARACTERS = [
    "' OR 1=1 --",
    '"; DROP TABLE failwell_records; --',
    "%",
    "_",
    "\\",
    "find' UNION SELECT 1 --",
    ":x",
    "%%s",
]


@pytest.mark.parametrize("value", METACHARACTERS)
def test_metacharacters_of_sql_are_names_like_others(open_door: str, value: str) -> None:
    filtered = get(open_door, "/api/overview", params={"tool": value, "code": value})
    calls = json.loads(get(open_door, "/api/overview").body)["totals"]["calls"]
    status, found = filtered.status, json.loads(filtered.body)

    assert (status, found["totals"]["calls"], found["feed"]["rows"], calls) == (200, 0, [], 2)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("before=99999999999999999999", "before must be the number of an event, not '99999999999999999999'"),
        ("before=9223372036854775807", "the event to continue from is gone; start with the newest ones"),
        ("range=2y", "range must be one of 15m, 1h, 6h, 24h, 7d, 30d, 90d, all, not '2y'"),
        ("tool=%ff", "this address can't be parsed"),
        ("&".join(f"a{at}=1" for at in range(40)), "this address can't be parsed"),
        ("__proto__=1", "unknown parameter '__proto__'"),
    ],
)
def test_an_address_that_makes_no_sense_gets_one_clear_line(open_door: str, query: str, sentence: str) -> None:
    found = get(open_door, f"/api/feed?{query}")

    assert (found.status, found.error) == (400, sentence)


def test_details_of_nothing_are_not_found(open_door: str) -> None:
    assert get(open_door, "/api/details?failure=99").error == "there is no such event: it may have been pruned"


def test_a_store_that_is_away_is_told_without_its_secrets(caplog: pytest.LogCaptureFixture) -> None:
    serving = Serving("postgresql://user:planted@127.0.0.1:1/calls")
    found = get(serving.address, "/api/overview")
    serving.close()

    assert (found.status, found.error) == (503, "the store is not responding; trying again in a moment")
    assert "planted" not in caplog.text


def test_too_many_who_ask_at_once_are_told_to_wait(open_door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("failwell.dashboard.app._MOST_RUNNING", 0)

    assert get(open_door, "/api/overview").status == 503


def test_nobody_logs_the_token(closed_door: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    get(closed_door, f"/?token={TOKEN}")
    raw(closed_door, f"GET /?token={TOKEN} NONSENSE\r\n\r\n".encode())

    assert TOKEN not in caplog.text


def test_an_address_that_is_taken_is_told(store: str) -> None:
    async def ask(base: str) -> str:
        port = int(base.rpartition(":")[2])
        with pytest.raises(CannotListen) as caught:
            async with listening(source_of(store), Access("127.0.0.1", None), "127.0.0.1", port):
                pass
        return str(caught.value)

    assert "cannot listen on 127.0.0.1:" in served(source_of(store), ask)


def test_a_large_store_is_counted_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("failwell.dashboard.counts.BATCH", 50)
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    records = some_sessions(60)
    write(address, records)

    async def ask(base: str) -> dict[str, Any]:
        async with ClientSession() as client:
            while True:
                async with client.get(f"{base}/api/overview?range=all") as answer:
                    found: dict[str, Any] = await answer.json()
                if not found["left"]:
                    return found

    assert served(source_of(address), ask)["totals"]["failed"] == sum(one.has_failed for one in records)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_supervisor_asks_without_the_token_and_by_any_name(closed_door: str, path: str, method: str) -> None:
    found = get(closed_door, path, method=method, headers={"Host": "10.0.0.7:8765"})

    assert (found.status, found.body) == (200, b"ok\n" if method == "GET" else b"")
    assert {name: found.headers.get(name) for name in SECURITY} == SECURITY


def test_a_dashboard_is_not_ready_while_its_store_does_not_answer(tmp_path: Path) -> None:
    (tmp_path / "calls.db").write_bytes(b"this is no database" * 100)
    serving = Serving(f"sqlite:///{tmp_path / 'calls.db'}")
    try:
        ready, alive = get(serving.address, "/readyz"), get(serving.address, "/healthz")
    finally:
        serving.close()

    assert (ready.status, alive.status) == (503, 200)
    assert "no database" not in ready.error


def test_a_mark_is_posted_and_shown(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    write(address, [record(NOW - 60, call="1")])
    serving = Serving(address, TOKEN)
    known = {"Authorization": f"Bearer {TOKEN}"}
    try:
        made = get(serving.address, "/api/mark", method="POST", json={"text": " billing 2.3 deployed "}, headers=known)
        page = json.loads(get(serving.address, "/api/overview", headers=known).body)
    finally:
        serving.close()

    assert made.status == 201
    assert [mark["text"] for mark in page["marks"]] == ["billing 2.3 deployed"]


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ({"json": {"text": "x"}}, 401),
        ({"json": {"text": "x"}, "headers": {"Authorization": "Bearer wrong-token-0123456789"}}, 401),
        ({"data": b'{"text": "x"}', "headers": {"Authorization": f"Bearer {TOKEN}"}}, 415),
        ({"json": {"text": "x" * 3000}, "headers": {"Authorization": f"Bearer {TOKEN}"}}, 413),
        ({"json": {"text": "  "}, "headers": {"Authorization": f"Bearer {TOKEN}"}}, 400),
        ({"json": ["x"], "headers": {"Authorization": f"Bearer {TOKEN}"}}, 400),
        ({"json": {"text": "x"}, "headers": {"Authorization": f"Bearer {TOKEN}", "Origin": "http://evil.test"}}, 403),
    ],
)
def test_a_mark_needs_the_token_its_type_and_a_text(closed_door: str, how: dict[str, Any], status: int) -> None:
    found = get(closed_door, "/api/mark", method="POST", **how)

    assert found.status == status
    assert found.error


def test_a_mark_can_only_be_posted(open_door: str) -> None:
    found = get(open_door, "/api/mark")

    assert (found.status, found.headers["Allow"]) == (405, "POST")


def test_prometheus_gets_its_page_with_the_token_only(closed_door: str) -> None:
    refused = get(closed_door, "/metrics")
    given = get(closed_door, "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})

    assert refused.status == 401
    assert given.status == 200
    assert given.headers["Content-Type"].startswith("text/plain")
    assert b'failwell_recorded_calls{server="' in given.body


def test_figures_of_a_store_name_no_tool_that_does_not_exist_and_escape_the_others(tmp_path: Path) -> None:
    hostile = 'look"} 1\nfailwell_recorded_calls{tool="forged'
    store = f"sqlite:///{tmp_path / 'calls.db'}"
    unknown = failure_fields(fw.Failure(code="UNKNOWN_TOOL", message="m"))
    foreign = failure_fields(fw.Failure(code="E_PLANTED", message="m"))
    common: dict[str, Any] = {"time": 1.0, "source": "proxy", "session": "s"}
    lost = Record(time=2.0, source="recorder", kind="lost", details={"count": 7})
    write(
        store,
        [
            Record(kind="failure", tool="made_up", call="1", **common, **unknown),
            Record(kind="failure", tool=hostile, call="2", **common, **foreign),
            lost,
        ],
    )
    source = DashboardData(store)
    while source.count():
        pass
    page = source.metrics()[1].decode()
    source.close()

    lines = [line for line in page.splitlines() if not line.startswith("#")]
    assert len(lines) == 8
    assert "made_up" not in page
    assert "E_PLANTED" not in page
    assert 'failwell_recorded_calls{server="",source="proxy",tool="_OTHER"} 1.0' in lines
    assert "failwell_recorded_lost_events 7.0" in lines
    assert not any("forged" in line and "\\n" not in line for line in lines)


def test_each_code_of_ours_leads_to_its_docs_and_no_other_does(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'calls.db'}"
    found = [failure_fields(fw.Failure(code=code, message="m")) for code in ("NOT_FOUND", "javascript:planted")]
    common: dict[str, Any] = {"time": NOW - 60, "source": "proxy", "session": "s", "kind": "failure", "tool": "look"}
    write(store, [Record(call=str(call), **common, **fields) for call, fields in enumerate(found)])
    source = source_of(store, now=NOW)
    page, details = source.overview(View()), source.failure_details(View(failure=1))
    source.close()

    pages = Path(__file__).parents[2] / "docs" / "reference" / "codes.md"
    (address,) = page["docs"].values()
    assert list(page["docs"]) == ["NOT_FOUND"]
    assert address.startswith("https://")
    assert address.endswith("/docs/reference/codes.md#not_found")
    assert "### NOT_FOUND\n" in pages.read_text(encoding="utf-8")
    assert details is not None
    assert details["explained"]["docs"] == address
