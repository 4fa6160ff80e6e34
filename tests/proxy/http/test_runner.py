"""`failwell proxy --url` as a process: how it begins, and that it always ends, and soon."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from failwell.proxy.command import main

COMMAND = [sys.executable, "-m", "failwell", "proxy"]
ASK = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}) + "\n"
SECONDS = 20.0  # what a process takes to end on a busy machine; one that waits for its server takes for ever


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def silent_server() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/mcp"


def run(*words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], input=text, capture_output=True, text=True, timeout=30, check=False)


@pytest.fixture
def logs() -> Iterator[None]:
    """Logs as they were before the proxy ran in this process."""
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("logs")
def test_restarts_are_refused_where_clients_begin_their_sessions_themselves(capfd: pytest.CaptureFixture[str]) -> None:
    code = main(["--url", "http://127.0.0.1:1/mcp", "--listen", "127.0.0.1:0", "--restart"])

    assert code == 2
    assert capfd.readouterr().err == (
        "failwell: --restart can't be combined with --listen: HTTP clients begin new sessions themselves\n"
    )


def test_a_gateway_in_front_of_nothing_says_so_in_one_line_and_waits_for_it() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    command = [*COMMAND, "--url", url + "/mcp", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = [process.stderr.readline(), process.stderr.readline()]
        process.send_signal(signal.SIGTERM)

        assert process.wait(timeout=30) == 0
    assert lines[0] == f"failwell: cannot reach {url}: connection refused; calls fail until it can be reached\n"
    assert lines[1].startswith("failwell: listening on ")


@pytest.mark.usefixtures("logs")
def test_a_port_in_use_is_told_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    with silent_server() as url, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code = main(["--url", url, "--listen", str(port)])

    sentence = f"failwell: cannot listen on 127.0.0.1:{port}: address already in use\n"
    assert (code, *capfd.readouterr()) == (1, "", sentence)


@pytest.mark.usefixtures("logs")
def test_a_gateway_tells_what_became_of_the_calls_when_it_ends(capfd: pytest.CaptureFixture[str]) -> None:
    """The signal comes as soon as the gateway listens, from a thread that makes one call."""

    def use() -> None:
        line = ""
        while "/mcp" not in line:
            line += capfd.readouterr().err
        port = int(line.split("/mcp")[0].rpartition(":")[2])
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work"}}'
        spoken(port, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        os.kill(os.getpid(), signal.SIGTERM)

    user = threading.Thread(target=use)
    with closing_server() as url:
        user.start()
        code = main(["--url", url, "--listen", "0"])
        user.join()

    told = "failwell: 1 call, 1 failed\nfailwell:   work: 1 call, 1 failed (TRANSIENT 1)\n"
    assert (code, capfd.readouterr().err) == (0, told)


def test_a_url_without_its_extra_is_told_in_one_line_with_the_command_that_installs_it() -> None:
    without = "import sys; sys.modules['aiohttp'] = None; from failwell.proxy.command import main; "
    command = [sys.executable, "-c", without + "sys.exit(main(sys.argv[1:]))"]
    words = ["--url", "http://127.0.0.1:1/mcp", "--listen", "127.0.0.1:0"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)

    package = "'failwell[http-proxy]'"
    sentence = f"failwell: --url needs aiohttp: uvx --from {package} failwell proxy …, or pip install {package}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)


@contextmanager
def closing_server() -> Iterator[str]:
    """A server that closes each connection at once."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def close() -> None:
            with suppress(OSError):
                while True:
                    server.accept()[0].close()

        closer = threading.Thread(target=close)
        closer.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/mcp"
        server.shutdown(socket.SHUT_RDWR)
        closer.join()


def test_a_client_with_lines_gets_a_json_rpc_error_for_a_url_that_refuses() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    done = run("--url", url + "/mcp", text=ASK)

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    sentence = f"cannot reach {url}: The server refused the connection."
    assert [(answer["id"], answer["error"]["message"]) for answer in answers] == [(1, f"failwell: {sentence}")]
    assert (done.returncode, done.stderr) == (1, f"failwell: {sentence}\n")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--url", "ftp://example.com"], "--url must be the address of a server, such as https://example.com/mcp"),
        (["--url", "http://user:hunter2@exa mple.com/"], "--url must be the address of a server"),
        (["--url", "http://[::1/mcp"], "--url "),
        (["--url", "http://127.0.0.1:99999/mcp"], "--url "),
        (["--url", "http://a/", "--listen", "nowhere"], "--listen must be a host and a port"),
        (["--url", "http://a/", "--listen", "::1"], "--listen must be a host and a port"),
        (["--url", "http://a/", "--header", "hunter2"], "--header must be a name and a value"),
        (["--url", "http://a/", "--header", "A: ${NOT_SET_HERE}"], "--header needs the variable NOT_SET_HERE"),
        (["--url", "http://a/", "--", "server"], "give either a command or --url"),
    ],
)
@pytest.mark.usefixtures("logs")
def test_misuse_is_told_in_one_line_without_secrets(
    words: list[str], complaint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code = main(words)

    out, err = capfd.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith(f"failwell: {complaint}")
    assert err.count("\n") == 1
    assert "hunter2" not in err


def ended(process: subprocess.Popen[str]) -> float:
    """Wait for a process, and return how long that took."""
    begin = time.monotonic()
    process.wait(timeout=30)
    return time.monotonic() - begin


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_gateway_ends_at_a_signal_even_with_calls_under_way(number: int) -> None:
    with (
        silent_server() as url,
        subprocess.Popen(
            [*COMMAND, "--url", url, "--listen", "127.0.0.1:0", "--grace", "0.5"], stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stderr is not None
        port = int(process.stderr.readline().split("/mcp")[0].rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client:
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "work"}})
            head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
            client.sendall((head + body).encode())
            process.send_signal(number)
            seconds = ended(process)

    assert process.returncode == 0
    assert seconds < SECONDS


@pytest.mark.parametrize("text", [ASK, ""], ids=["asked", "silent"])
@pytest.mark.parametrize("way", ["end of file", "SIGTERM", "nobody reads"])
def test_lines_in_front_of_a_silent_url_end_soon(text: str, way: str) -> None:
    with (
        silent_server() as url,
        subprocess.Popen(
            [*COMMAND, "--url", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(text)
        process.stdin.flush()
        wait_until_loaded(process)
        if way == "SIGTERM":
            process.terminate()
        if way == "nobody reads":
            process.stdout.close()
        if way != "SIGTERM":
            process.stdin.close()
        seconds = ended(process)

    assert seconds < SECONDS
    assert process.returncode == (143 if way == "SIGTERM" else process.returncode)
    assert process.returncode >= 0


def wait_until_loaded(process: subprocess.Popen[str]) -> None:
    """Wait until the process catches SIGTERM, which is when its loop runs."""
    caught = 0
    while not caught & 1 << (signal.SIGTERM - 1):
        os.sched_yield()
        status = Path(f"/proc/{process.pid}/status").read_text()
        caught = int(status.partition("SigCgt:")[2].split()[0], 16)


def test_nonsense_from_a_client_leaves_no_traceback_and_the_gateway_alive() -> None:
    with (
        silent_server() as url,
        subprocess.Popen(
            [*COMMAND, "--url", url, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stderr is not None
        port = int(process.stderr.readline().split("/mcp")[0].rpartition(":")[2])
        answers = [spoken(port, b"NONSENSE\r\n\r\n"), spoken(port, b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")]
        process.terminate()
        rest = process.stderr.read()

    assert [answer.split(b" ")[1] for answer in answers] == [b"400", b"403"]
    assert (process.returncode, rest) == (0, "")


def spoken(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(data)
        return client.recv(1000)
