import pytest

from failwell.proxy.http.addresses import AllowedHosts, ServerUrl
from failwell.proxy.http.headers import to_client, to_server


@pytest.mark.parametrize(
    ("target", "url"),
    [
        ("/", "https://example.com/app/mcp?key=1"),
        ("/app/mcp", "https://example.com/app/mcp?key=1"),
        ("/app/mcp?own=2", "https://example.com/app/mcp?own=2"),
        ("/.well-known/oauth-protected-resource", "https://example.com/.well-known/oauth-protected-resource"),
        ("//evil.example/x", "https://example.com//evil.example/x"),
        ("@evil.example/x", "https://example.com/app/mcp?key=1"),
        (".evil.example/x", "https://example.com/app/mcp?key=1"),
        ("http://evil.example/x?y", "https://example.com/x?y"),
        ("*", "https://example.com/app/mcp?key=1"),
    ],
)
def test_a_request_means_the_url_itself_or_the_same_path_beside_it(target: str, url: str) -> None:
    assert ServerUrl("https://example.com/app/mcp?key=1").url_for(target) == url


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("/messages?session=1", "/messages?session=1"),
        ("messages?session=1", "/app/messages?session=1"),
        ("http://example.com/messages", "/messages"),
        ("http://example.com:80/messages", "/messages"),
        ("https://example.com/messages", None),
        ("http://example.com.evil.example/messages", None),
        ("http://example.com@evil.example/messages", None),
        ("http://[broken/", None),
    ],
)
def test_what_a_server_refers_to_is_reached_through_the_proxy_only_if_it_is_its_own(
    reference: str, target: str | None
) -> None:
    assert ServerUrl("http://example.com/app/sse").target_of(reference) == target


def test_credentials_in_the_url_become_a_header_and_leave_the_url() -> None:
    place = ServerUrl("http://user:secret@example.com/mcp")

    assert (place.url, place.authorization) == ("http://example.com/mcp", "Basic dXNlcjpzZWNyZXQ=")


@pytest.mark.parametrize(
    ("host", "origin", "is_let_in"),
    [
        ("127.0.0.1:8080", None, True),
        ("localhost:8080", "http://localhost:6274", True),
        ("[::1]:8080", None, True),
        ("localhost.", None, True),
        ("evil.example:8080", None, False),
        ("localhost.evil.example", None, False),
        (None, None, False),
        ("127.0.0.1:8080", "https://evil.example", False),
        ("127.0.0.1:8080", "null", False),
        ("127.0.0.1:8080", "https://app.example", True),
    ],
)
def test_strangers_pages_are_kept_out_on_loopback(host: str | None, origin: str | None, is_let_in: bool) -> None:
    door = AllowedHosts("127.0.0.1", origins=("https://app.example",))

    assert (door.objection(host, origin) is None) is is_let_in


def test_on_other_addresses_any_host_is_served_and_its_own_pages_come_in() -> None:
    door = AllowedHosts("0.0.0.0")

    assert door.objection("proxy.example:8080", "http://proxy.example:8080") is None
    assert door.objection("proxy.example:8080", "http://evil.example") is not None


def test_headers_of_one_connection_do_not_pass() -> None:
    came = [("Host", "a"), ("Connection", "close, X-Private"), ("X-Private", "1"), ("TE", "x"), ("Mcp-Method", "ping")]

    assert list(to_server(came, more=[("mcp-method", "no"), ("X-Key", "k")]).items()) == [
        ("Mcp-Method", "ping"),
        ("Accept-Encoding", "identity"),
        ("X-Key", "k"),
    ]


def test_headers_that_repeat_pass_in_their_order() -> None:
    came = [("Set-Cookie", "a=1"), ("Content-Length", "3"), ("Content-Encoding", "gzip"), ("Set-Cookie", "b=2")]

    assert list(to_client(came).items()) == [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
