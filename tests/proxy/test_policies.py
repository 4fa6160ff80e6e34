"""What a policy file says of servers and tools, through the proxy."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import failwell as fw
from failwell.policy_file import user_policy_path
from failwell.proxy.calls import ListedTools, ProxiedCall
from failwell.proxy.command import has_user_policy, main, take_policy
from failwell.proxy.http.server import Setup, listening
from failwell.proxy.options import parse
from failwell.proxy.rewriter import Rewriter
from tests.proxy.clients import Client
from tests.proxy.http.setting import call, post, scripted


@pytest.fixture
def policy(tmp_path: Path) -> Any:
    def write(text: str) -> str:
        path = tmp_path / "policy.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def failure(answer: dict[str, Any]) -> fw.Failure:
    found = fw.read(answer)
    assert found is not None
    return found


def text(answer: dict[str, Any]) -> str:
    found: str = answer["result"]["content"][0]["text"]
    return found


def test_a_file_with_an_unknown_key_is_refused_before_the_server_starts(
    policy: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path, started = policy("[tools.act]\nread_onyl = true\n"), tmp_path / "started"
    touch = [sys.executable, "-c", f"open({str(started)!r}, 'w')"]

    assert main(["--policy", path, "--", *touch]) == 2

    sentence = capfd.readouterr().err
    assert "read_onyl" in sentence
    assert "did you mean 'read_only'?" in sentence
    assert ":2:" in sentence
    assert not started.exists()


def test_a_tool_that_the_operator_calls_read_only_is_safe_to_repeat(policy: Any) -> None:
    with Client("--policy", policy('[servers."*".tools."ac*"]\nread_only = true\n')) as client:
        told = client.call("act", n=1, do="fail:503 Service Unavailable")

    assert text(told).endswith("Next: This call is safe to repeat. Wait, then call again.")


def test_the_promises_of_a_server_that_is_not_trusted_do_not_count(policy: Any) -> None:
    with Client("--policy", policy('[servers."*"]\ntrust_annotations = false\n')) as client:
        told = client.call("look", n=1, do="fail:503 Service Unavailable")

    assert "safe to repeat" not in text(told)


def test_calls_of_one_tool_are_made_again(policy: Any) -> None:
    rules = "[tools.act]\nretry = true\nidempotent = true\nattempts = 2\n"
    with Client("--policy", policy(rules)) as client:
        client.call("act", n=1, do="fail:503 Service Unavailable")
        client.call("look", n=1, do="fail:503 Service Unavailable")
        seen = client.call("look", n=1, do="seen")["result"]["seen"]

    assert sum(method == "tools/call" for method, *_ in seen) == 4  # two of them for the first


def test_one_tool_has_a_time_limit(policy: Any) -> None:
    with Client("--policy", policy("[tools.act]\ntimeout = 0.2\n")) as client:
        assert failure(client.call("act", n=1, do="silence")).code == "TIMEOUT"
        assert "result" in client.call("look", n=1)


def test_one_tool_has_another_dialect(policy: Any) -> None:
    with Client("--policy", policy('[tools.act]\ndialect = "compact"\n')) as client:
        assert text(client.call("act", n=1, do="fail:404 Not Found")).startswith("{")
        assert text(client.call("look", n=1, do="fail:404 Not Found")) == "404 Not Found"


def test_arguments_of_one_tool_are_checked_and_error_texts_of_another_are_errors(policy: Any) -> None:
    rules = "[tools.act]\nvalidate = true\n[tools.look]\nflip = true\n"
    with Client("--policy", policy(rules)) as client:
        refused = client.call("act", n="many")
        passed = client.call("look", n="many")
        flipped = client.call("look", n=1, do="say:Error: 404 Not Found")
        kept = client.call("act", n=1, do="say:Error: 404 Not Found")

    assert failure(refused).outcome == "not_executed"
    assert "isError" not in passed["result"]
    assert flipped["result"]["isError"] is True
    assert kept["result"]["isError"] is False


@pytest.mark.parametrize(("name", "is_error"), [("look", True), ('"*"', False)])
def test_a_bare_error_is_one_only_of_a_tool_that_the_file_names(policy: Any, name: str, is_error: bool) -> None:
    with Client("--policy", policy(f"[tools.{name}]\nflip = true\n")) as client:
        answer = client.call("look", n=1, do="say:Error")

    assert answer["result"]["isError"] is is_error


def test_a_result_that_is_too_large_is_cut_with_guidance(policy: Any) -> None:
    with Client("--policy", policy("[tools.act]\nresponse_size = 1000\n")) as client:
        cut = client.call("act", n=1, do="size:5000")
        whole = client.call("look", n=1, do="size:5000")
        small = client.call("act", n=1, do="size:500")

    texts = [block["text"] for block in cut["result"]["content"]]
    assert len(texts[0]) <= 1000
    assert texts[0].startswith("xxx")
    assert texts[0].endswith("xxx")
    assert (
        texts[1] == f"[{5000 - len(texts[0])} of 5000 characters omitted. Ask for less, in several calls if necessary.]"
    )
    assert len(text(whole)) == 5000
    assert len(text(small)) == 500


@pytest.mark.parametrize("text", ["x" * 5000, "see structuredContent"])
def test_of_structured_content_the_long_texts_are_cut_too(policy: Any, text: str) -> None:
    options = parse(["--policy", policy("[tools.act]\nresponse_size = 1000\n"), "--", "server"])
    take_policy(options)
    rewriter = Rewriter.of(options, ListedTools(), is_observed=False)
    made = ProxiedCall.of({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "act"}})
    assert made is not None
    structured = {"path": "/srv/a.txt", "pages": [{"text": "y" * 5000, "number": 1}]}
    result = {"content": [{"type": "text", "text": text}], "structuredContent": structured}

    cut = rewriter.cut(made, {"jsonrpc": "2.0", "id": 1, "result": result})

    assert cut is not None
    found = cut["result"]["structuredContent"]
    assert (found["path"], found["pages"][0]["number"]) == ("/srv/a.txt", 1)
    assert 900 <= len(found["pages"][0]["text"]) <= 1000
    assert len(cut["result"]["content"][0]["text"]) <= 1000
    assert cut["result"]["content"][1]["text"].endswith(" omitted. Ask for less, in several calls if necessary.]")


def test_a_gateway_follows_it_too(policy: Any) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if body["method"] == "tools/call":
            await asyncio.Event().wait()
        return web.Response(status=202)

    async def run() -> dict[str, Any]:
        async with scripted(handler) as url:
            options = parse(["--url", url + "/mcp", "--listen", "127.0.0.1:0", "--grace", "0", "--policy", path])
            take_policy(options)
            async with listening(options, Setup(options, None)) as port:
                return (await post(f"http://127.0.0.1:{port}/mcp", call("work"))).failure

    path = policy("[tools.work]\ntimeout = 0.2\n")

    assert asyncio.run(run())["code"] == "TIMEOUT"


@pytest.mark.parametrize("given", ["", "relative", "absolute"])
def test_the_file_of_the_user_is_found_where_the_loader_finds_it(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config") if given == "absolute" else given)
    assert not has_user_policy()

    user_policy_path().parent.mkdir(parents=True)
    user_policy_path().touch()

    assert has_user_policy()
