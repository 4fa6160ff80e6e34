"""`failwell schema`: the JSON Schema of a dialect."""

from collections.abc import Iterator
from typing import Annotated

import typer

from failwell._spelling import did_you_mean
from failwell.cli.completion import dialect_names
from failwell.cli.streams import Misuse, write_json
from failwell.dialects import DIALECTS


def schema_names(incomplete: str) -> Iterator[str]:
    """Yield the dialects that have a JSON Schema."""
    yield from (name for name in dialect_names(incomplete) if hasattr(DIALECTS[name], "json_schema"))


def schema(
    context: typer.Context,
    dialect: Annotated[
        str,
        typer.Argument(
            help="compact, envelope, flat or meta (the schema of its _meta).",
            autocompletion=schema_names,
            metavar="DIALECT",
        ),
    ],
) -> None:
    """Print the JSON Schema of an error format.

    Example: failwell schema compact > compact.schema.json
    """
    json_schema = getattr(DIALECTS.get(dialect), "json_schema", None)
    if json_schema is None:
        having = list(schema_names(""))
        why = "is not JSON, so it has no JSON Schema" if dialect in DIALECTS else "is not a format"
        raise Misuse(
            f"{dialect or repr(dialect)} {why}: choose one of {', '.join(having)}{did_you_mean(dialect, having)}"
        )
    write_json(context.obj.stdout, json_schema())
