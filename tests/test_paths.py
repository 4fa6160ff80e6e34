import pytest
from hypothesis import given
from hypothesis import strategies as st

from failwell import paths
from failwell.failure import ROOT

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
    assert paths.join(steps) == path
    assert paths.split(path) == steps


@given(st.lists(keys, max_size=5).map(tuple))
def test_splitting_a_joined_path_gives_its_keys_back(steps):
    path = paths.join(steps)

    assert paths.split(path) == steps
    assert path.isprintable()


@given(st.lists(keys, min_size=1, max_size=5).map(tuple))
def test_a_child_of_the_parent_is_the_path_itself(steps):
    path = paths.join(steps)

    assert paths.parent(path) == paths.join(steps[:-1])
    assert paths.child(paths.parent(path), steps[-1]) == path
    assert paths.last_key(path) == str(steps[-1])


@pytest.mark.parametrize(
    ("text", "at"),
    [("", 0), (".a", 0), ("a..b", 1), ("a.", 1), ("a[", 1), ("a[00]", 1), ("a.[0]", 1), ("a b", 1), ("a[0]b", 4)],
)
def test_a_text_that_is_no_path_is_refused_with_the_place_where_it_goes_wrong(text, at):
    with pytest.raises(ValueError, match=rf"is not a path such as 'items\[0\].sku': look at character {at}"):
        paths.split(text)


@given(st.text(max_size=8))
def test_any_text_has_a_parent_and_a_last_key(text):
    assert paths.parent(text)
    assert isinstance(paths.last_key(text), str)


def test_a_text_that_is_no_path_is_one_key_of_the_root():
    assert paths.parent("not a path") == ROOT
    assert paths.last_key("not a path") == "not a path"


def test_the_root_is_its_own_parent():
    assert paths.parent(ROOT) == ROOT
    assert paths.last_key(ROOT) == ROOT
