"""The table of dialects: a module each, all with `name`, `encode` and `decode`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from failwell._spelling import did_you_mean
from failwell.dialects import _compact, _envelope, _flat, _meta, _xml
from failwell.dialects._wire import Dialect

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {module.name: cast(Dialect, module) for module in (_compact, _envelope, _flat, _meta, _xml)}
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
