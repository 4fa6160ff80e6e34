"""`STORES`: where records can be kept, one row for each kind of store.

A new kind of store is a row here and a module with `open_sink(address)`, and `open_reader(address)` if it can be read.
The proxy reads this table before it starts the server, so it imports next to nothing.
"""

from failwell._lazy import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class StoreKind:
    """One kind of store.

    Attributes:
        form: what its addresses look like.
        schemes: what they begin with, up to the first colon.
        urls: what those that are URLs begin with, up to `://`; the schemes, unless given.
        sink: the module that opens it for writing.
        reader: the module that opens it for reading, if records can be read back.
        driver: what SQLAlchemy calls it, if it is a database.
        packages: the modules that must be importable, each with the extra that installs it.
    """

    __slots__ = ("driver", "form", "packages", "reader", "schemes", "sink", "urls")

    def __init__(
        self,
        form: str,
        schemes: tuple[str, ...],
        *,
        sink: str,
        reader: str | None = None,
        urls: tuple[str, ...] | None = None,
        driver: str | None = None,
        packages: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.form = form
        self.schemes = schemes
        self.urls = schemes if urls is None else urls
        self.sink = sink
        self.reader = reader
        self.driver = driver
        self.packages = packages


STORES = (
    StoreKind(
        "sqlite:///FILE",
        ("sqlite",),
        sink="failwell.records._sql",
        reader="failwell.records._store",
        driver="sqlite+pysqlite",
        packages=(("sqlalchemy", "telemetry"),),
    ),
    StoreKind(
        "postgresql://HOST/DATABASE",
        ("postgresql", "postgres", "postgresql+psycopg"),
        sink="failwell.records._sql",
        reader="failwell.records._store",
        driver="postgresql+psycopg",
        packages=(("sqlalchemy", "postgres"), ("psycopg", "postgres")),
    ),
    StoreKind(
        "jsonl:FILE",
        ("jsonl",),
        sink="failwell.records._jsonl",
        reader="failwell.records._jsonl",
        urls=(),
    ),
    StoreKind(
        "otlp:URL",
        ("otlp",),
        sink="failwell.records._otlp",
        urls=("otlp:http", "otlp:https"),
        packages=(("opentelemetry.exporter.otlp.proto.http", "otlp"),),
    ),
)
STORES_BY_SCHEME = {scheme: kind for kind in STORES for scheme in kind.schemes}
STORES_BY_URL = {scheme: kind for kind in STORES for scheme in kind.urls}


def store_kind(address: str) -> StoreKind | None:
    """Return the kind of store at an address, or None if there is no such kind."""
    return STORES_BY_SCHEME.get(address.partition(":")[0])


def address_forms(kinds: "Iterable[StoreKind]") -> str:
    """Return what the addresses of some kinds of stores look like, as a list in words."""
    *others, last = [kind.form for kind in kinds]
    return f"{', '.join(others)} or {last}"


READABLE = address_forms(kind for kind in STORES if kind.reader)
WRITABLE = address_forms(STORES)
