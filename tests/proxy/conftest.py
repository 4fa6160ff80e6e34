import threading
from collections.abc import Callable
from typing import Any

import pytest

from failwell.proxy.stdio import first_lines, session


@pytest.fixture(autouse=True)
def _threads_that_coverage_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(function: Callable[..., object], args: tuple[Any, ...]) -> None:
        threading.Thread(target=function, args=args, daemon=True).start()

    for module in (first_lines, session):
        monkeypatch.setattr(module, "start_new_thread", start)
