"""A guarded function is refused as a tool of an SDK, which would send its errors as successes."""

from typing import Any

import pytest

import failwell as fw
from tests.matrix import sdks

HIGH = pytest.mark.parametrize("kind", [kind for kind in sdks.KINDS if kind != "lowlevel"])


@HIGH
@pytest.mark.parametrize("guard", [fw.guard, fw.guard(dialect="xml"), fw.guard(timeout=5)])
def test_a_guarded_function_can_not_be_registered(kind: str, guard: Any) -> None:
    server = sdks.new(kind)

    with pytest.raises(TypeError, match=r"call protect\(server\)"):

        @server.tool()
        @guard
        def find(task: str) -> str:
            return task


@HIGH
@pytest.mark.parametrize("is_protected", [False, True])
def test_a_registered_function_can_not_be_guarded(kind: str, *, is_protected: bool) -> None:
    server = sdks.new(kind)
    if is_protected:
        fw.protect(server)

    with pytest.raises(TypeError, match=r"call protect\(server\)"):

        @fw.guard
        @server.tool()
        async def find(task: str) -> str:
            return task
