"""Servers that hang, die or cannot be reached, and what is made of them."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from failwell.check.peers import BadServer
from failwell.check.peers.http import HttpPeer
from failwell.check.probes.user_probes import Expected, UserProbe, read_probes, read_values
from failwell.check.report import Report
from failwell.check.runner import CheckPlan, check
from failwell.check.session import CallLimits
from tests.check.servers import PATIENT, checked, failed_grades, graded, odd
from tests.data.check import graded_server


@pytest.fixture(scope="module")
def hanging() -> Report:
    """A check of a server that hangs; two seconds are long enough for a call that does not, on a busy machine too."""
    return checked(odd("hanging"), CheckPlan(limits=CallLimits(start=120, call=2)))


@pytest.mark.slow
def test_a_server_that_hangs_is_cut_off_and_graded(hanging: Report) -> None:
    by_id = {probe.id: probe for probe in hanging.probes()}
    assert by_id["look/empty"].ending == "hung"
    assert {"flagged", "alive", "speed"} <= {graded.grade for graded in by_id["look/empty"].failed}
    assert hanging.totals.hung >= 1


@pytest.mark.slow
def test_a_call_is_not_blamed_for_another_that_hung(hanging: Report) -> None:
    endings = {probe.id: probe.ending for probe in hanging.probes()}
    assert endings["look/wrong_type/to"] == endings["look/null/to"] == "refused"


def test_a_server_that_dies_is_started_again_and_only_the_fatal_call_is_blamed() -> None:
    report = checked(graded("alive"))

    fatal = {probe.id for probe in report.probes() if probe.failed}
    assert fatal == {probe.id for probe in report.probes() if probe.arguments == {}}


def test_progress_is_told_up_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    report = checked(graded("none"), progress=lambda done, total: told.append((done, total)))

    assert told[-1] == (report.totals.probes, report.totals.probes)


def test_a_tool_the_user_names_must_exist() -> None:
    with pytest.raises(BadServer, match="has no tool sned: it has look, send"):
        checked(odd("strict"), CheckPlan(allow_writes=frozenset(["sned"]), limits=PATIENT))


def test_own_probes_are_held_against_what_is_expected() -> None:
    def own(code: str) -> CheckPlan:
        expect = Expected(type="VALIDATION", code=code)
        probe = UserProbe(name="lazy", tool="read_task", arguments={"task": "nap", "pace": "none"}, expect=expect)
        return CheckPlan(probes=(probe,), limits=PATIENT)

    assert failed_grades(checked(graded("none"), own("VALIDATION_FAILED"))) == set()
    assert failed_grades(checked(graded("none"), own("LAZINESS"))) == {"typed"}


def test_files_of_probes_and_values_are_read() -> None:
    probes = read_probes('[[probe]]\nname = "n"\ntool = "t"\narguments = {a = 1}\nexpect = {code = "NOT_FOUND"}')
    values = read_values('[read_task]\ntask = "t-1"\n["*"]\nregion = "eu"')

    assert probes == (UserProbe(name="n", tool="t", arguments={"a": 1}, expect=Expected(code="NOT_FOUND")),)
    assert values == {"read_task": {"task": "t-1"}, "*": {"region": "eu"}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[probe]]\nname = 1", r"got `int` - at `\$\.probe\[0\]\.name`"),
        ("[[probes]]", "unknown field `probes`"),
        ("nonsense", "after a key"),
        ('[[probe]]\nname="x"\ntool="y"\nexpect={type="ODD"}', r"'ODD' - at `\$\.probe\[0\]\.expect\.type`"),
    ],
)
def test_a_file_that_is_none_is_refused(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_probes(text)


class _Http(BaseHTTPRequestHandler):
    as_events = False

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message:
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        found = graded_server.answer(message["method"], message.get("params") or {})
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **found}).encode()
        if self.as_events:
            body = (
                b'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\ndata: ' + body + b"\n\n"
            )
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if self.as_events else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Mcp-Session-Id", "s-1")
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self) -> None:
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.parametrize("as_events", [False, True], ids=["json", "events"])
def test_a_server_behind_a_url_is_checked(as_events: bool) -> None:
    handler = type("Handler", (_Http,), {"as_events": as_events})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/mcp"

            async def connect() -> HttpPeer:
                return HttpPeer(url)

            report = asyncio.run(check(connect, CheckPlan(limits=PATIENT)))
        finally:
            server.shutdown()
            thread.join()

    assert (report.score, report.server.name) == (100, "graded")


def test_secrets_that_the_user_gives_as_values_are_not_in_the_report() -> None:
    given = {"read_task": {"task": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"}}
    report = checked(graded("none"), CheckPlan(values=given, limits=PATIENT))

    assert "sk-proj" not in str(report)
    assert any(str(probe.arguments.get("task")).startswith("[redacted:") for probe in report.probes())


def test_an_address_where_nobody_listens_is_one_line() -> None:
    async def connect() -> HttpPeer:
        return HttpPeer("http://127.0.0.1:9/mcp")

    with pytest.raises(BadServer, match=r"cannot reach http://127.0.0.1:9/mcp: Connection refused"):
        asyncio.run(check(connect))
