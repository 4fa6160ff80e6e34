"""Servers on loopback that misbehave in one way each, so that real clients fail in real ways."""

import contextlib
import datetime
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

Behaviour = Callable[[socket.socket, threading.Event], None]


@contextlib.contextmanager
def serving(behaviour: Behaviour, *, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Serve connections one after another with a behaviour, and yield the port."""
    ended = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.02)

    def run() -> None:
        while not ended.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            connection.settimeout(2)
            with contextlib.suppress(OSError), contextlib.closing(connection):
                if tls is not None:
                    with tls.wrap_socket(connection, server_side=True) as wrapped:
                        behaviour(wrapped, ended)
                else:
                    behaviour(connection, ended)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        ended.set()
        thread.join()
        listener.close()


@contextlib.contextmanager
def unanswering() -> Iterator[int]:
    """Yield a port whose queue of connections is full: connecting to it waits until the client gives up."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = []
        for _ in range(8):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
            waiting.append(client)
        try:
            yield listener.getsockname()[1]
        finally:
            for client in waiting:
                client.close()


@contextlib.contextmanager
def refusing() -> Iterator[int]:
    """Yield a port that is taken, and on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def answering(status: int = 200, headers: dict[str, str] | None = None, body: bytes = b"{}") -> Behaviour:
    """Answer with a status."""
    lines = [f"HTTP/1.1 {status} Reason", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    answer = "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def behave(connection: socket.socket, ended: threading.Event) -> None:
        _request(connection)
        connection.sendall(answer)

    return behave


def sending(data: bytes) -> Behaviour:
    """Take a request, send these bytes, close."""

    def behave(connection: socket.socket, ended: threading.Event) -> None:
        _request(connection)
        connection.sendall(data)

    return behave


def greeting(*replies: bytes) -> Behaviour:
    """Speak first, then answer each line with the next reply, as mail and file servers do."""

    def behave(connection: socket.socket, ended: threading.Event) -> None:
        connection.sendall(replies[0])
        for reply in replies[1:]:
            if not connection.recv(4096):
                return
            connection.sendall(reply)

    return behave


def hanging(connection: socket.socket, ended: threading.Event) -> None:
    """Take a request and never answer."""
    _request(connection)
    ended.wait(2)


def closing(connection: socket.socket, ended: threading.Event) -> None:
    """Take a request and close."""
    _request(connection)


def resetting(connection: socket.socket, ended: threading.Event) -> None:
    """Take a request and reset the connection."""
    _request(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


CUT = sending(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this")
CUT_CHUNK = sending(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nonly this")
GARBAGE = sending(b"\x00\x01 this is not HTTP\r\n\r\n")
BAD_GZIP = answering(headers={"Content-Encoding": "gzip"}, body=b"this is not gzip")
NOT_JSON = answering(headers={"Content-Type": "application/json"}, body=b"<html>hunter2</html>")


def redirecting(connection: socket.socket, ended: threading.Event) -> None:
    """Redirect to where the request came to."""
    _request(connection)
    host, port = connection.getsockname()
    location = f"Location: http://{host}:{port}/again".encode()
    connection.sendall(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close\r\n" + location + b"\r\n\r\n")


@cache
def certificate(folder: Path) -> ssl.SSLContext:
    """Return a server's context with a certificate that nobody vouches for."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = folder / "server.pem"
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


def _request(connection: socket.socket) -> None:
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65536)
        if not part:
            return
        received += part
