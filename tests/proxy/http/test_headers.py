from failwell.proxy.http.headers import to_client, to_server


def test_headers_of_one_connection_do_not_pass() -> None:
    given = [
        ("Host", "a"),
        ("Connection", "close, X-Private"),
        ("X-Private", "1"),
        ("TE", "x"),
        ("Mcp-Method", "ping"),
    ]

    assert list(to_server(given, more=[("mcp-method", "no"), ("X-Key", "k")]).items()) == [
        ("Mcp-Method", "ping"),
        ("Accept-Encoding", "identity"),
        ("X-Key", "k"),
    ]


def test_headers_that_repeat_pass_in_their_order() -> None:
    given = [("Set-Cookie", "a=1"), ("Content-Length", "3"), ("Content-Encoding", "gzip"), ("Set-Cookie", "b=2")]

    assert list(to_client(given).items()) == [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
