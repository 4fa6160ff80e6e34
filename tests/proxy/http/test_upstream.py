import pytest

from failwell.proxy.http.upstream import ServerUrl


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
    server_url = ServerUrl("http://user:secret@example.com/mcp")

    assert (server_url.url, server_url.authorization) == ("http://example.com/mcp", "Basic dXNlcjpzZWNyZXQ=")
