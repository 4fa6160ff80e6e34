"""The network of the standard library, made to fail."""

import asyncio
import ftplib
import http.client
import imaplib
import os
import poplib
import smtplib
import socket
import ssl
import threading
import urllib.error
import urllib.request
import xmlrpc.client
from contextlib import closing
from typing import Any

import pytest

from failwell import from_exception
from tests.exceptions import loopback
from tests.exceptions.caught import caught, judgement

SHORT = 0.05
PATIENT = 10.0  # for servers that answer: a busy machine is no failure of theirs


def _open(url: str, timeout: float = PATIENT) -> object:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=timeout) as answer:
        return answer.read()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 429, 500, 503])
def test_urllib_statuses(status: int, serve: Any) -> None:
    exc = caught(_open, serve(loopback.answering(status, {"Retry-After": "9"} if status == 429 else {})))
    assert isinstance(exc, urllib.error.HTTPError)
    exc.close()

    failure = from_exception(exc)

    assert failure.http_status == status
    assert failure.retry_after == (9 if status == 429 else None)


def test_urllib_connections(serve: Any, refused: str, unanswered: str) -> None:
    assert judgement(caught(_open, refused)) == ("TRANSIENT", "CONNECTION_REFUSED", "not_executed")
    assert judgement(caught(_open, unanswered, SHORT))[1] == "CONNECT_TIMEOUT"
    assert judgement(caught(_open, serve(loopback.hanging), SHORT)) == ("TRANSIENT", "TIMEOUT", "unknown")
    assert judgement(caught(_open, serve(loopback.resetting))) == ("TRANSIENT", "CONNECTION_LOST", "unknown")
    assert judgement(caught(_open, serve(loopback.closing))) == ("TRANSIENT", "CONNECTION_LOST", "unknown")
    assert judgement(caught(_open, serve(loopback.CUT))) == ("TRANSIENT", "CONNECTION_LOST", "unknown")
    assert judgement(caught(_open, serve(loopback.GARBAGE))) == ("INTERNAL", "BAD_UPSTREAM_RESPONSE", "unknown")


@pytest.mark.parametrize("url", ["foo://bar", "http://"])
def test_urllib_addresses(url: str) -> None:
    assert from_exception(caught(_open, url)).code == "INVALID_URL"


def test_tls(serve: Any, untrusted: Any) -> None:
    trusted_by_nobody = serve(loopback.answering(), tls=untrusted)
    no_tls_at_all = serve(loopback.greeting(b"220 hello\r\n", b"")).replace("http:", "https:")

    assert judgement(caught(_open, trusted_by_nobody)) == ("INTERNAL", "TLS_VERIFY_FAILED", "not_executed")
    assert judgement(caught(_open, no_tls_at_all)) == ("INTERNAL", "TLS_VERIFY_FAILED", "not_executed")


def test_tls_that_is_cut_off(serve: Any, untrusted: Any) -> None:
    def cut_off(connection: socket.socket, ended: threading.Event) -> None:
        connection.recv(10)
        os.close(connection.detach())

    address = serve(cut_off, tls=untrusted).removeprefix("https://").split(":")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def talk() -> None:
        with (
            socket.create_connection((address[0], int(address[1])), timeout=1) as bare,
            context.wrap_socket(bare, suppress_ragged_eofs=False) as wrapped,
        ):
            wrapped.sendall(b"x" * 10)
            wrapped.recv(10)

    assert judgement(caught(talk)) == ("TRANSIENT", "CONNECTION_LOST", "unknown")


@pytest.mark.parametrize("number", [socket.EAI_NONAME, socket.EAI_AGAIN, socket.EAI_FAIL])
def test_names(number: int, name_service: Any) -> None:
    name_service(number)

    code = from_exception(caught(_open, "http://service.example/")).code

    assert code == ("HOST_NOT_FOUND" if number == socket.EAI_NONAME else "DNS_TEMPORARY")


def test_a_host_none_of_whose_addresses_answers() -> None:
    async def connect() -> None:
        with loopback.refusing() as port:
            await asyncio.open_connection("localhost", port)

    assert from_exception(caught(asyncio.run, connect())).code in ("CONNECTION_REFUSED", "CONNECTION_FAILED")


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])


SMTP = {
    "greets with 554": ((b"554 no\r\n",), "CONNECTION_FAILED"),
    "refuses the sender": ((b"220 hi\r\n", b"250 ok\r\n", b"550 no hunter2\r\n"), "INVALID_ARGUMENT"),
    "is busy": ((b"220 hi\r\n", b"250 ok\r\n", b"421 later\r\n"), "SERVICE_UNAVAILABLE"),
    "refuses the recipient": (
        (b"220 hi\r\n", b"250 ok\r\n", b"250 ok\r\n", b"550 hunter2\r\n", b"250 ok\r\n"),
        "INVALID_ARGUMENT",
    ),
    "puts the recipient off": (
        (b"220 hi\r\n", b"250 ok\r\n", b"250 ok\r\n", b"450 wait\r\n", b"250 ok\r\n"),
        "SEND_FAILED",
    ),
    "refuses the text": (
        (b"220 hi\r\n", b"250 ok\r\n", b"250 ok\r\n", b"250 ok\r\n", b"552 too much\r\n", b"221 bye\r\n"),
        "PAYLOAD_TOO_LARGE",
    ),
    "hangs up": ((b"220 hi\r\n", b"250 ok\r\n"), "CONNECTION_LOST"),
}  # fmt: skip


@pytest.mark.parametrize("server", SMTP)
def test_mail(server: str, serve: Any) -> None:
    replies, code = SMTP[server]
    url = serve(loopback.greeting(*replies))

    def send() -> None:
        with smtplib.SMTP("127.0.0.1", _port(url), local_hostname="localhost", timeout=1) as smtp:
            smtp.sendmail("a@example.org", "b@example.org", "Subject: hunter2")

    failure = from_exception(caught(send))

    assert failure.code == code
    assert "hunter2" not in repr(failure)


def test_mail_login(serve: Any) -> None:
    replies = (b"220 hi\r\n", b"250-ok\r\n250 AUTH PLAIN\r\n", b"535 no\r\n", b"221 bye\r\n")
    url = serve(loopback.greeting(*replies))

    def log_in() -> None:
        with smtplib.SMTP("127.0.0.1", _port(url), local_hostname="localhost", timeout=1) as smtp:
            smtp.login("me", "hunter2")

    assert judgement(caught(log_in)) == ("PERMISSION", "UNAUTHORIZED", "rejected")


FTP = {
    "530 who": "UNAUTHORIZED",
    "550 hunter2 is not there": "NOT_FOUND",
    "553 name": "FORBIDDEN",
    "421 later": "SERVICE_UNAVAILABLE",
    "999 what": "BAD_UPSTREAM_RESPONSE",
    "": "CONNECTION_LOST",
}


@pytest.mark.parametrize("reply", FTP)
def test_file_transfer(reply: str, serve: Any) -> None:
    replies = [b"220 hi\r\n", *([f"{reply}\r\n".encode()] if reply else [])]
    url = serve(loopback.greeting(*replies))

    def fetch() -> None:
        with ftplib.FTP(timeout=1) as ftp:
            ftp.connect("127.0.0.1", _port(url))
            ftp.sendcmd("SIZE hunter2")

    failure = from_exception(caught(fetch))

    assert failure.code == FTP[reply]
    assert "hunter2" not in repr(failure)


IMAP = {
    "* CAPABILITY IMAP4rev1\r\n{tag} OK done\r\n|{tag} NO [AUTHENTICATIONFAILED] hunter2\r\n": "UNAUTHORIZED",
    "* CAPABILITY IMAP4rev1\r\n{tag} OK done\r\n|{tag} BAD hunter2\r\n": "UNAUTHORIZED",
    "* CAPABILITY IMAP4rev1\r\n{tag} OK done\r\n|": "CONNECTION_LOST",
}


@pytest.mark.parametrize("script", IMAP)
def test_mailboxes(script: str, serve: Any) -> None:
    def talk(connection: socket.socket, ended: threading.Event) -> None:
        connection.sendall(b"* OK hi\r\n")
        for reply in script.split("|"):
            tag = connection.recv(4096).partition(b" ")[0]
            connection.sendall(reply.replace("{tag}", tag.decode()).encode())

    imap = imaplib.IMAP4("127.0.0.1", _port(serve(talk)), timeout=1)
    exc = caught(imap.login, "me", "hunter2")
    imap.shutdown()

    assert from_exception(exc).code == IMAP[script]
    assert "hunter2" not in repr(from_exception(exc))


def test_other_protocols(serve: Any) -> None:
    def pop() -> None:
        url = serve(loopback.greeting(b"+OK hi\r\n", b"-ERR hunter2\r\n"))
        with closing(poplib.POP3("127.0.0.1", _port(url), timeout=1)) as mailbox:
            mailbox.user("me")

    def rpc(behaviour: loopback.Behaviour) -> BaseException:
        with xmlrpc.client.ServerProxy(serve(behaviour)) as proxy:
            return caught(proxy.anything)

    fault = xmlrpc.client.dumps(xmlrpc.client.Fault(1, "hunter2")).encode()

    assert judgement(caught(pop)) == ("VALIDATION", "INVALID_ARGUMENT", "rejected")
    assert from_exception(rpc(loopback.answering(503))).http_status == 503
    assert from_exception(rpc(loopback.answering(200, {"Content-Type": "text/xml"}, fault))).code == "UPSTREAM_ERROR"


def test_an_http_connection_used_wrongly_is_a_bug() -> None:
    connection = http.client.HTTPConnection("127.0.0.1", 9)

    assert judgement(caught(connection.getresponse)) == ("INTERNAL", "INTERNAL_ERROR", "unknown")


def test_an_exception_that_is_not_what_its_library_makes_it_falls_back_to_its_base() -> None:
    broken = smtplib.SMTPRecipientsRefused("hunter2")  # type: ignore[arg-type]

    assert judgement(broken) == ("TRANSIENT", "SEND_FAILED", "unknown")


def test_an_exception_that_points_nowhere_is_told_by_its_class() -> None:
    assert from_exception(urllib.error.URLError(OSError("Tunnel connection failed"))).type == "TRANSIENT"
