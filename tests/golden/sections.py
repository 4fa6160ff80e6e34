"""The sections of the recordings, in the order they are made."""

from collections.abc import Callable, Iterable

from tests.golden import events, exceptions, gateway, guarded, proxied, reading, wire
from tests.golden.case import Case

SECTIONS: dict[str, Callable[[], Iterable[Case]]] = {
    "reading": reading.cases,
    "wire": wire.cases,
    "exceptions": exceptions.cases,
    "slow_exceptions": exceptions.slow_cases,
    "guarded": guarded.cases,
    "events": events.cases,
    "proxied": proxied.cases,
    "gateway": gateway.cases,
}

# Left out of the usual run of the tests as a whole.
HEAVY = ("slow_exceptions",)
