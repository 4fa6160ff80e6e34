"""The suites: what each one measures, where it stands, and what makes it quick."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from msgspec import Struct

from bench import measure
from bench.measure import Amount, Figure


class Suite(Struct, frozen=True):
    """A module of this package with a function `run`."""

    name: str
    about: str
    # Constants of the module with what they are in a quick run, beside `compare`, which is bounded for all.
    quick: dict[str, Any] = {}

    @property
    def exists(self) -> bool:
        """Whether it has been written yet, found without loading it."""
        path = Path(__file__).with_name(f"{self.name}.py")
        return path.exists() and "\ndef run(" in path.read_text(encoding="utf-8")

    @property
    def file(self) -> str:
        """Where it stands."""
        return f"bench/{self.name}.py"

    def run(self) -> Iterator[Figure | Amount]:
        """Yield what it measures."""
        yield from importlib.import_module(f"bench.{self.name}").run()

    def run_quickly(self) -> Iterator[Figure | Amount]:
        """Yield the same after one short round: proof that it runs, and no figures to keep."""
        module = importlib.import_module(f"bench.{self.name}")
        with _set(measure, {"most": 1}), _set(module, self.quick):
            yield from module.run()


SUITES = {
    suite.name: suite
    for suite in (
        Suite("imports", "importing the package, and the first failure, in fresh processes", {"ROUNDS": 1}),
        Suite("values", "making the value and its exception"),
        Suite("dialects", "encoding, decoding, redacting and reading structured failures"),
        Suite("redaction", "scrubbing hostile text that grows", {"SMALL": 1000, "LARGE": 8000}),
        Suite("validation", "checking arguments"),
        Suite("guards", "guarded functions, and exceptions on their way to the wire", {"NEW_CLASSES": 10}),
        Suite("flat_text", "reading the flat text of real servers, and text that grows"),
        Suite("corpus", "how often reading is right, on recorded failures and successes of real servers"),
        Suite("retries", "calls through retry engines"),
        Suite("agents", "10,000 simulated agents against a server that fails and recovers", {"AGENTS": 50}),
        Suite("servers", "protected servers, from client to client in memory"),
        Suite(
            "memory",
            "what protected servers and the proxy keep of many calls",
            {"ROUNDS": 2, "CALLS": 10, "PROXY_CALLS": 40},
        ),
        Suite("clients", "wrapped clients, to the same server in memory", {"AT_ONCE": 10, "ROUNDS_AT_ONCE": 1}),
        Suite(
            "proxy",
            "the proxy over standard input and output",
            {"_ROUNDS": 1, "_CALLS": 20, "_BLOCKS": 1, "_MANY": 64, "_OFFICIAL_CALLS": 2},
        ),
        Suite(
            "http_proxy",
            "the proxy in front of a URL",
            {"ROUNDS": 1, "CALLS": 6, "IN_FLIGHT": 4, "MANY": 8, "LARGE": 4, "FAST_ROUND": {}},
        ),
        Suite(
            "sessions",
            "1, 64 and 512 sessions at one gateway, beside a plain pass-through and fastmcp's proxy",
            {"SESSIONS": (1, 2), "ROUNDS": 2, "CALLS": 6, "CALLS_OF_SLOW": 4, "IDLE": 4},
        ),
        Suite(
            "gateway",
            "500 sessions at one gateway, 50 of them hostile",
            {"HONEST": 20, "HOSTILE": 10, "ROUNDS": 1, "SECONDS": 1.5, "PAUSE": 0.2},
        ),
        Suite("check", "checking a server with 50 tools", {"ROUNDS": 1, "TOOLS": 2}),
        Suite(
            "events",
            "recording what happens",
            {"TOLD": 100, "ROUNDS": 1, "WRITTEN": 500, "CAPACITY": 600, "SIZES": (50, 100, 200), "AT_ONCE": 50},
        ),
        Suite(
            "dashboard",
            "the dashboard on many events",
            {"ROUNDS": 1, "SIZES": {"10,000": 200, "100,000": 300, "1,000,000": 400}},
        ),
        Suite(
            "stores",
            "stores at scale, beside plain SQL inserts",
            {"EVENTS": 600, "WRITTEN": 300, "ROUNDS": 1, "QUIET": 0.1},
        ),
        Suite(
            "growth",
            "how cost grows with tools, schemas, arguments, texts, rules, events and sessions",
            {
                "SIZES": (10, 20, 30),
                "CHARACTERS": (100, 200, 300),
                "EVENTS": (10, 20, 30),
                "SESSIONS": (1, 2, 3),
                "ROUNDS": 1,
                "MOST_SECONDS": 0.0,
            },
        ),
        Suite("limits", "limits shared by many processes through Redis", {"ROUND_TRIPS": 3, "CALLS": 5}),
    )
}


@contextmanager
def _set(module: Any, constants: dict[str, Any]) -> Iterator[None]:
    """Set constants of a module for a while; one that it does not have is an error."""
    if not constants:
        yield
        return
    with mock.patch.multiple(module, **constants):
        yield
