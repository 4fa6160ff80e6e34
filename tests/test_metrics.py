"""Figures for Prometheus: what is counted, where it is shown, and that what we ship speaks of metrics that exist."""

import asyncio
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
import yaml

import failwell as fw
from failwell.event import Event, Kind
from failwell.metrics import INSTRUMENTS, Metrics, MetricsServer
from tests.proxy.clients import HELLO, SERVER
from tests.proxy.http.setting import ask, gateway, scripted

MONITORING = Path(__file__).parent.parent / "examples" / "monitoring"


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_calls_failures_and_durations_are_counted_by_tool() -> None:
    metrics = Metrics(server="shop")

    @fw.guard(tool="pay", observers=[metrics])
    def pay(amount: int) -> str:
        if amount < 0:
            raise fw.RateLimited("Slow down.", retry_after=3)
        return "paid"

    pay(1)
    pay(2)
    pay(-1)

    call = {"source": "server", "server": "shop", "tool": "pay"}
    assert value(metrics, "failwell_calls_total", **call, result="success") == 2
    assert value(metrics, "failwell_calls_total", **call, result="failure") == 1
    why = {"type": "TRANSIENT", "code": "RATE_LIMITED", "outcome": "not_executed"}
    assert value(metrics, "failwell_failures_total", **call, **why) == 1
    assert value(metrics, "failwell_call_duration_seconds_count", **call) == 3


def test_retries_count_as_retries_and_not_as_calls() -> None:
    metrics, failure = Metrics(), fw.Failure(code="SERVICE_UNAVAILABLE", message="m")
    metrics(Event(source="client", kind="retry", tool="look", failure=failure))
    metrics(Event(source="client", kind="recovered", tool="look", attempt=2))

    call = {"source": "client", "server": "", "tool": "look"}
    assert value(metrics, "failwell_retries_total", **call, type="TRANSIENT") == 1
    assert value(metrics, "failwell_calls_total", **call, result="success") == 1
    assert value(metrics, "failwell_calls_total", **call, result="failure") is None
    assert value(metrics, "failwell_events_total", source="client", server="", kind="recovered") == 1


def test_names_that_callers_make_up_and_codes_of_others_share_one_label() -> None:
    metrics = Metrics()
    for number in range(2000):
        unknown = fw.Failure(code="UNKNOWN_TOOL", message="m")
        metrics(Event(source="proxy", kind="failure", tool=f"made up {number}", failure=unknown))
        metrics(Event(source="proxy", kind="success", tool=f"tool {number}"))
        foreign = fw.Failure(code=f"E{number}", message="m")
        metrics(Event(source="proxy", kind="failure", tool="tool 1", failure=foreign))

    samples = [sample for family in metrics.registry.collect() for sample in family.samples]
    tools = {sample.labels.get("tool") for sample in samples}
    assert "_OTHER" in tools
    assert len(tools) <= 502
    assert not any("made up" in str(tool) for tool in tools)
    assert {sample.labels["code"] for sample in samples if "code" in sample.labels} == {"UNKNOWN_TOOL", "_OTHER"}


def test_no_message_and_no_argument_becomes_a_label() -> None:
    metrics = Metrics()

    @fw.guard(tool="open", observers=[metrics])
    def fail(path: str) -> None:
        raise fw.NotFound(f"There is no planted {path}.")

    fail("planted")

    assert "planted" not in str([sample for family in metrics.registry.collect() for sample in family.samples])


def get(url: str) -> tuple[int, str]:
    try:
        with urlopen(url, timeout=30) as response:
            return response.status, response.read().decode()
    except HTTPError as refused:
        return refused.code, refused.read().decode()


def test_pages_tell_of_metrics_life_and_readiness() -> None:
    metrics, ready = Metrics(server="shop"), [False]
    server = MetricsServer(("127.0.0.1", 0), metrics.registry, is_ready=lambda: ready[0])
    url = f"http://127.0.0.1:{server.port}"
    try:
        metrics(Event(source="proxy", kind="success", tool="look"))

        assert (
            'failwell_calls_total{result="success",server="shop",source="proxy",tool="look"} 1.0'
            in get(f"{url}/metrics")[1]
        )
        assert get(f"{url}/healthz") == (200, "ok\n")
        assert get(f"{url}/readyz") == (503, "service unavailable\n")
        ready[0] = True
        assert get(f"{url}/readyz?full=1") == (200, "ok\n")
        assert get(f"{url}/secrets")[0] == 404
    finally:
        server.close()


@contextmanager
def proxied(*options: str, server: list[str] = SERVER) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Give a proxy in a process of its own, and its first line on standard error."""
    command = [sys.executable, "-m", "failwell", "proxy", *options, "--", *server]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stderr is not None
        try:
            yield process, process.stderr.readline().decode()
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(30)


def ask_process(process: subprocess.Popen[bytes], id: int, method: str, **params: Any) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def test_the_proxy_shows_what_it_passed_and_rewrote() -> None:
    with proxied("--quiet", "--name", "shop", "--metrics", "127.0.0.1:0") as (process, line):
        address = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert address is not None
        ask_process(process, 1, "initialize", **HELLO)
        ask_process(process, 2, "tools/call", name="look", arguments={"n": 1})
        ask_process(process, 3, "tools/call", name="look", arguments={"n": 1, "do": "fail:404 Not Found"})
        page = get(f"{address[0]}/metrics")[1]
        ready = get(f"{address[0]}/readyz")

    call = 'server="shop",source="proxy",tool="look"'
    assert f'failwell_calls_total{{result="success",{call}}} 1.0' in page
    assert f'failwell_calls_total{{result="failure",{call}}} 1.0' in page
    assert ready == (200, "ok\n")


def test_an_address_that_is_taken_is_refused_before_the_server_starts(tmp_path: Path) -> None:
    taken = MetricsServer(("127.0.0.1", 0), Metrics().registry)
    started = tmp_path / "started"
    server = [sys.executable, "-c", f"open({str(started)!r}, 'w')"]
    try:
        with proxied("--metrics", str(taken.port), server=server) as (process, line):
            process.wait(30)
    finally:
        taken.close()

    assert line == f"failwell: --metrics cannot listen on 127.0.0.1:{taken.port}: Address already in use\n"
    assert (process.returncode, started.exists()) == (2, False)


def test_the_first_call_lasts_as_long_as_the_server_took_although_much_is_loaded_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    server = textwrap.dedent(
        """
        import json, sys, time
        for line in sys.stdin:
            message = json.loads(line)
            if message["method"] == "tools/call":
                time.sleep(0.3)
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}}), flush=True)
        """
    )
    command = [
        sys.executable,
        "-m",
        "failwell",
        "proxy",
        "--quiet",
        "--events",
        str(path),
        "--",
        sys.executable,
        "-c",
        server,
    ]
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look", "arguments": {}}}
    subprocess.run(command, input=json.dumps(call).encode() + b"\n", check=True, capture_output=True)

    [record] = [json.loads(line) for line in path.read_text().splitlines()]
    assert record["elapsed"] >= 0.3


def test_the_gateway_answers_supervisors_itself() -> None:
    async def run() -> list[int]:
        async with scripted(lambda _: pytest.fail("this is no request for the server")) as url, gateway(url) as address:
            root = "/".join(address.split("/")[:3])
            return [(await ask("GET", f"{root}/{path}")).status for path in ("healthz", "readyz", "metrics")]

    assert asyncio.run(run()) == [200, 200, 404]


def expressions(found: Any) -> Iterator[str]:
    """Yield each query in a dashboard or a file of rules."""
    if isinstance(found, dict):
        for key, inner in found.items():
            if key == "expr":
                yield inner
            else:
                yield from expressions(inner)
    elif isinstance(found, list):
        for inner in found:
            yield from expressions(inner)


@pytest.mark.parametrize("name", ["grafana.json", "alerts.yml"])
def test_what_we_ship_for_monitoring_asks_for_metrics_and_labels_that_exist(name: str) -> None:
    text = (MONITORING / name).read_text()
    queries = list(expressions(json.loads(text) if name.endswith("json") else yaml.safe_load(text)))
    known = {one.name: set(one.labels) for one in INSTRUMENTS}
    known |= {
        f"failwell_call_duration_seconds_{end}": known["failwell_call_duration_seconds"] | {"le"}
        for end in ("bucket", "sum", "count")
    }

    assert len(queries) >= 3
    kinds = {kind for query in queries for text in re.findall(r'kind=~?"([^"]+)"', query) for kind in text.split("|")}
    assert kinds <= set(get_args(Kind)) - {"breaker", "lost", "mark"}  # which are in records only
    for query in queries:
        names = re.findall(r"failwell_\w+", query)
        assert names
        labels = set().union(*(known[one] for one in names))
        asked = re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", query)
        asked += [
            label for group in re.findall(r"by \(([^)]*)\)", query) for label in group.replace(" ", "").split(",")
        ]
        assert set(asked) <= labels, query
