from collections.abc import Iterator

import pytest

import failwell as fw


@pytest.fixture(autouse=True)
def _uninstalled() -> Iterator[None]:
    """Put back what a test hooked."""
    yield
    fw.uninstall()
