"""The sections of the recordings, in the order they are made."""

from collections.abc import Callable, Iterable

from tests.golden import reading, wire
from tests.golden.case import Case

SECTIONS: dict[str, Callable[[], Iterable[Case]]] = {
    "reading": reading.cases,
    "wire": wire.cases,
}
