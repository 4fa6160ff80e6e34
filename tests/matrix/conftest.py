from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # A tool whose result is not what it promises makes pydantic warn, on its way to being a failure.
    expected = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(expected)
