import os
import signal
from collections import Counter

import pytest
from hypothesis import settings

# Who starts the tests in the background has them ignore interrupts and hang-ups, and so would the programs they start.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

# Everything is spelt out, because Hypothesis starts from other defaults where CI is set.
# quick and thorough run the same examples each time, so a red build speaks of the change and not of luck;
# nightly searches anew each time and prints the line that reproduces what it finds.
settings.register_profile("quick", max_examples=50, deadline=None, derandomize=True, database=None, print_blob=True)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=100)
settings.register_profile("nightly", max_examples=2000, deadline=None, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files with slow tests first, then those with many, so that no worker begins a long file when others end."""
    tests = Counter(item.path for item in items)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, -tests[item.path]))
