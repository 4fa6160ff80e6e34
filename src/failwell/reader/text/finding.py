"""`Finding`: what one rule makes of a text."""

from msgspec import UNSET, Struct, UnsetType

from failwell.failure import FieldProblem


class Finding(Struct, frozen=True, kw_only=True):
    """What a rule found: a code, how sure it is, and the fields, delay or status that the text states with it.

    `span` is where in the text the telling words stand; the argument at fault is usually named near them.
    """

    rule: str
    code: str
    confidence: float
    retryable: bool | UnsetType | None = UNSET
    fields: tuple[FieldProblem, ...] = ()
    http_status: int | None = None
    retry_after: float | None = None
    span: tuple[int, int] | None = None
