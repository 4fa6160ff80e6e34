"""Many simulated agents against a server that fails and recovers; `python -m bench.simulation` draws the same."""

from collections.abc import Iterator

from bench.measure import Amount
from bench.simulation.running import compare

AGENTS = 10_000

# What is taken from the simulation, in which unit, and by how much it is multiplied.
_TAKEN = {
    "duplicates": ("side effects run twice", "", 1),
    "tries_of_wrong_input": ("wrong input sent again", "", 1),
    "tries_while_failing": ("tries while the server is down", "", 1),
    "succeeded": ("calls that succeed", "%", 100),
    "mean_wait": ("mean wait", "s", 1),
}


def run() -> Iterator[Amount]:
    """Count what each kind of client does to the server and to itself, in simulated time."""
    for name, client in compare(AGENTS)["clients"].items():
        for key, (what, unit, factor) in _TAKEN.items():
            yield Amount(group="agents", what=what, beside=name, value=client[key] * factor, unit=unit)
