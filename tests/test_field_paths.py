import pytest
from hypothesis import given
from hypothesis import strategies as st

from failwell.failure import ROOT, child_path, join_path, last_key, parent_path, split_path

keys = st.one_of(st.text(max_size=6), st.text(alphabet='a.[]"\\( )0\ud800\u200b', max_size=4), st.integers(0, 10**20))


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ((), "(root)"),
        (("email",), "email"),
        (("items", 0, "sku"), "items[0].sku"),
        (("grid", 1, 2), "grid[1][2]"),
        ((0, "a"), "[0].a"),
        (("a.b",), '["a.b"]'),
        (("a.b", "c"), '["a.b"].c'),
        (("a", "b c"), 'a["b c"]'),
        (("content-type",), "content-type"),
        (("größe",), "größe"),
        (("größe m",), '["größe m"]'),
        (("0",), "0"),
        (("",), '[""]'),
        (("(root)",), '["(root)"]'),
        (('say "hi"',), '["say \\"hi\\""]'),
        (("\u202e",), '["\\u202e"]'),
    ],
)
def test_a_path_is_written_as_people_write_it(steps, path):
    assert join_path(steps) == path
    assert split_path(path) == steps


@given(st.lists(keys, max_size=5).map(tuple))
def test_splitting_a_joined_path_gives_its_keys_back(steps):
    path = join_path(steps)

    assert split_path(path) == steps
    assert path.isprintable()


@given(st.lists(keys, min_size=1, max_size=5).map(tuple))
def test_a_child_of_the_parent_is_the_path_itself(steps):
    path = join_path(steps)

    assert parent_path(path) == join_path(steps[:-1])
    assert child_path(parent_path(path), steps[-1]) == path
    assert last_key(path) == str(steps[-1])


@pytest.mark.parametrize(
    ("text", "at"),
    [("", 0), (".a", 0), ("a..b", 1), ("a.", 1), ("a[", 1), ("a[00]", 1), ("a.[0]", 1), ("a b", 1), ("a[0]b", 4)],
)
def test_a_text_that_is_no_path_is_refused_with_the_place_where_it_goes_wrong(text, at):
    with pytest.raises(ValueError, match=rf"is not a path such as 'items\[0\].sku': look at character {at}"):
        split_path(text)


@given(st.text(max_size=8))
def test_any_text_has_a_parent_and_a_last_key(text):
    assert parent_path(text)
    assert isinstance(last_key(text), str)


def test_a_text_that_is_no_path_is_one_key_of_the_root():
    assert parent_path("not a path") == ROOT
    assert last_key("not a path") == "not a path"


def test_the_root_is_its_own_parent():
    assert parent_path(ROOT) == ROOT
    assert last_key(ROOT) == ROOT
