"""`Result`: combine steps that may fail, without exceptions."""

import sys
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Literal, NoReturn, TypeAlias, TypeVar, get_args

from msgspec import Struct

from failwell.errors import ToolFailure
from failwell.failure import Failure

T = TypeVar("T")
U = TypeVar("U")


class Ok(Struct, Generic[T], frozen=True):
    """A step that succeeded."""

    value: T
    ok: ClassVar[Literal[True]] = True

    @property
    def failure(self) -> NoReturn:
        """Not available: check `ok` first. Type checkers enforce this.

        Raises:
            AttributeError: always.
        """
        raise AttributeError("a step that succeeded has no failure: check ok first")

    def unwrap(self) -> T:
        """Return the value."""
        return self.value

    def then(self, step: "Callable[[T], Result[U]]") -> "Result[U]":
        """Call the next step with the value and return its result."""
        return step(self.value)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let SDKs take `Result[T]` as what a tool returns: its output schema is that of T."""
        return handler.generate_schema(next(iter(get_args(source)), Any))


class Err(Struct, frozen=True):
    """A step that failed."""

    failure: Failure
    ok: ClassVar[Literal[False]] = False

    @property
    def value(self) -> NoReturn:
        """Not available: check `ok` first.

        Raises:
            AttributeError: always.
        """
        raise AttributeError("a step that failed has no value: check ok first")

    def unwrap(self) -> NoReturn:
        """Raise the failure.

        Raises:
            ToolFailure: always, carrying the failure.
        """
        raise ToolFailure(self.failure)

    def then(self, step: Callable[[Any], Any]) -> "Err":  # noqa: ARG002 - the counterpart of Ok.then
        """Return this failure: later steps do not run."""
        return self

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let SDKs take `Result[T]` as what a tool returns."""
        return {"type": "is-instance", "cls": cls}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> NoReturn:
        """Stay out of output schemas: a failure is never sent as a tool's value."""
        raise sys.modules["pydantic_core"].PydanticOmit  # whoever asks has imported it


Result: TypeAlias = Ok[T] | Err


def succeed(value: T) -> Ok[T]:
    """Return a success as the result of a step. `success` writes a value as an MCP result instead."""
    return Ok(value)


def fail(failure: Failure | ToolFailure) -> Err:
    """Return a failure as the result of a step."""
    if isinstance(failure, ToolFailure):
        failure = failure.failure
    if not isinstance(failure, Failure):
        raise TypeError(f"fail takes a Failure or a ToolFailure, not {type(failure).__name__}")
    return Err(failure)
