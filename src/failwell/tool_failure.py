"""`ToolFailure`: the exception that carries a `Failure`, and the base of all that people raise."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from msgspec import UNSET, UnsetType

from failwell import catalog
from failwell.codes import Outcome, Type
from failwell.failure import Failure, FieldProblem, Severity

_CLASS_ATTRIBUTES = ("type", "recoverable", "retryable", "outcome", "severity", "http_status", "docs_url")
_OWN_CLASSES = "failwell.errors"  # their names on the wire follow from code and type


class ToolFailure(Exception):
    """A tool call failed in a way the caller can act on.

    Give a sentence, or a whole `Failure`. What is not said comes from the class, then from the code's catalog row,
    then from the type. The catalog's suggestion is added where the class's own code is used.
    """

    type: ClassVar[Type | None] = None
    code: ClassVar[str | None] = None
    recoverable: ClassVar[bool | None] = None
    retryable: ClassVar[bool | UnsetType | None] = UNSET
    outcome: ClassVar[Outcome | None] = None
    severity: ClassVar[Severity | None] = None
    suggestion: ClassVar[str | None] = None
    http_status: ClassVar[int | None] = None
    docs_url: ClassVar[str | None] = None
    kind: ClassVar[str | None] = None

    failure: Failure

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" not in cls.__dict__ and cls.__module__ != _OWN_CLASSES:
            cls.kind = cls.__name__

    def __init__(
        self,
        what: str | Failure,
        /,
        *,
        code: str | None = None,
        suggestion: str | None = None,
        actions: Iterable[str] = (),
        details: Mapping[str, Any] | None = None,
        fields: Iterable[FieldProblem] = (),
        retry_after: float | None = None,
        recoverable: bool | None = None,
        retryable: bool | UnsetType | None = UNSET,
        outcome: Outcome | None = None,
        severity: Severity | None = None,
        tool: str | None = None,
        action: str | None = None,
        http_status: int | None = None,
        docs_url: str | None = None,
        id: str | None = None,
        type: Type | None = None,
        kind: str | None = None,
    ) -> None:
        said: dict[str, Any] = {
            "code": code,
            "suggestion": suggestion,
            "actions": actions if isinstance(actions, str) else tuple(actions),
            "details": dict(details) if isinstance(details, Mapping) else details,
            "fields": tuple(fields),
            "retry_after": retry_after,
            "recoverable": recoverable,
            "outcome": outcome,
            "severity": severity,
            "tool": tool,
            "action": action,
            "http_status": http_status,
            "docs_url": docs_url,
            "id": id,
            "type": type,
            "kind": kind,
        }
        said = {name: value for name, value in said.items() if value not in (None, (), {})}
        if retryable is not UNSET:
            said["retryable"] = retryable
        if isinstance(what, Failure):
            self.failure = what.replace(**said) if said else what
        else:
            self.failure = Failure(message=what, **(self._from_class(code) | said))
        super().__init__(self.failure.message)

    @classmethod
    def _from_class(cls, code: str | None) -> dict[str, Any]:
        values = {name: getattr(cls, name) for name in _CLASS_ATTRIBUTES}
        values |= {"code": cls.code, "kind": cls.kind, "suggestion": cls.suggestion}
        row = catalog.get(cls.code)
        if row is not None and code in (None, cls.code):
            values["suggestion"] = cls.suggestion or row.suggestion
        if cls.type is None and cls.kind is not None and catalog.type_of(code or cls.code) is None:
            values["type"] = catalog.type_of_kind(cls.kind)
        return {name: value for name, value in values.items() if value is not None and value is not UNSET}

    def __str__(self) -> str:
        return self.failure.message

    def __repr__(self) -> str:
        code = f", code={self.failure.code!r}" if self.failure.code else ""
        return f"{self.__class__.__name__}({self.failure.message!r}{code})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.__class__, self.failure, dict(self.__dict__))


def _rebuilt(cls: type[ToolFailure], failure: Failure, state: dict[str, Any]) -> ToolFailure:
    # Past __init__: a subclass may take other arguments.
    exc = cls.__new__(cls, failure.message)
    exc.args = (failure.message,)
    exc.__dict__.update(state)
    return exc
