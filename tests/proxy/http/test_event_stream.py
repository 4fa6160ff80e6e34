import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failwell.proxy.http.event_stream import EventSplitter, data_of, event_of, id_of, name_of, retry_of, with_data

STREAM = (
    b'id: 1\nretry: 1500\ndata:\n\n: ping\r\n\r\nevent: message\r\nid: 2\r\ndata: {"a":\r\ndata: 1}\r\n\r\n'
    b"data: x\n\ndata: y\r\rdata: z\r\n\n"
)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    borders = sorted({0, len(stream), *places})
    return [stream[start:end] for start, end in pairwise(borders)]


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_events_are_the_same_however_the_stream_is_cut(places: list[int]) -> None:
    events = EventSplitter()
    found = [event for chunk in cut(STREAM, places) for event in events.feed(chunk)]

    assert b"".join(found) + events.rest == STREAM
    assert [data_of(event) for event in found] == [b"", b"", b'{"a":\n1}', b"x", b"y", b"z"]


def test_half_an_event_is_kept_back() -> None:
    events = EventSplitter()

    assert events.feed(b"data: 1\n\ndata: 2\n") == [b"data: 1\n\n"]
    assert events.rest == b"data: 2\n"


def test_an_event_that_ends_in_two_carriage_returns_is_whole_once_anything_else_follows() -> None:
    events = EventSplitter()

    assert events.feed(b"data: 1\r\r") == []
    assert events.feed(b"data") == [b"data: 1\r\r"]


def test_a_long_event_is_the_same_however_small_its_pieces() -> None:
    event, events = b"data: " + b"x" * 200_000 + b"\r\n\r\n", EventSplitter()
    found = [one for at in range(0, len(event), 999) for one in events.feed(event[at : at + 999])]

    assert found == [event]
    assert events.rest == b""


def test_what_a_stream_begins_and_does_not_end_is_not_copied_with_each_piece() -> None:
    events, piece = EventSplitter(), b"x" * 50_000
    for _ in range(200):
        events.feed(piece)
    tracemalloc.start()
    try:
        for _ in range(20):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            events.feed(piece)
            assert tracemalloc.get_traced_memory()[1] - before < 10 * len(piece)
    finally:
        tracemalloc.stop()


def test_an_event_tells_its_id_its_name_and_when_to_resume() -> None:
    event = b"\xef\xbb\xbfid: 7\nevent: endpoint\nretry: 1500\ndata:x\n\n"

    assert (id_of(event), name_of(event), retry_of(event), data_of(event)) == (b"7", b"endpoint", 1.5, b"x")
    assert (id_of(b"data: x\n\n"), name_of(b"data: x\n\n"), retry_of(b"retry: soon\n\n")) == (None, b"message", None)


@pytest.mark.parametrize(
    ("event", "changed"),
    [
        (b"event: message\nid: 7\ndata: old\ndata: lines\n\n", b"event: message\nid: 7\ndata: new\n\n"),
        (b"event: message\r\ndata: old\r\n\r\n", b"event: message\r\ndata: new\r\n\r\n"),
        (b": comment\ndata: old\n\n", b": comment\ndata: new\n\n"),
    ],
)
def test_other_data_leaves_the_rest_of_an_event_as_it_was(event: bytes, changed: bytes) -> None:
    assert with_data(event, b"new") == changed


def test_a_message_becomes_an_event_that_holds_it() -> None:
    assert data_of(event_of(b'{"id":1}')) == b'{"id":1}'
