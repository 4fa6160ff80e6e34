"""The five dialects: one module each, all with `name`, `encode` and `decode`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from failwell.dialects import compact, envelope, flat, meta, xml
from failwell.dialects.wire import Dialect, Wire
from failwell.suggest import did_you_mean

__all__ = ["DIALECTS", "Dialect", "Wire", "get"]

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {module.name: cast(Dialect, module) for module in (compact, envelope, flat, meta, xml)}
)


def get(name: str) -> Dialect:
    """Return the dialect of a name.

    Raises:
        ValueError: there is no such dialect; the message names them all.
    """
    dialect = DIALECTS.get(name) if isinstance(name, str) else None
    if dialect is None:
        raise ValueError(
            f"unknown dialect {name!r}: choose one of {', '.join(DIALECTS)}{did_you_mean(str(name), DIALECTS)}"
        )
    return dialect
