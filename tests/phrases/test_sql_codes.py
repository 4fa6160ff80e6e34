"""Codes of SQL databases."""

import psycopg
import pytest

from failwell.phrases.sql_codes import meaning_of_sqlstate


def test_every_sqlstate_that_psycopg_has_a_class_for_means_something() -> None:
    found = (getattr(cls, "sqlstate", None) for cls in vars(psycopg.errors).values())
    states = {state for state in found if isinstance(state, str)}

    unknown = {state for state in states if meaning_of_sqlstate(state) is None}

    assert len(states) > 200
    assert unknown == set()


@pytest.mark.parametrize(
    "state",
    ["00000", "01000", "HY000", "", "4000", "40001 ", "\uff14\uff10\uff10\uff10\uff11", "40p01", None, 40001, b"40001"],
)
def test_what_is_no_sqlstate_of_an_error_means_nothing(state: object) -> None:
    assert meaning_of_sqlstate(state) is None
