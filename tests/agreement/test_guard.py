"""What guarded functions answer."""

import asyncio
from typing import Any

import pytest

import failwell as fw
from tests.agreement.cases import ANNOTATIONS, DIALECTS, HINTS, Disagreements, failures, plain_failures
from tests.agreement.wire import check_wire

_IDS = {"id": None}


def guarded(tool: str, dialect: str, **settings: Any) -> Any:
    @fw.guard(tool=tool, dialect=dialect, hints=ANNOTATIONS[tool], **settings)
    def fail(exc: Exception) -> None:
        raise exc

    return fail


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_guard_says_what_decide_says(dialect: str) -> None:
    found = Disagreements()
    for tool in HINTS:
        fail = guarded(tool, dialect)
        for failure in failures():
            check_wire(found, fail(fw.ToolFailure(failure)), failure, tool)

    found.assert_none()
