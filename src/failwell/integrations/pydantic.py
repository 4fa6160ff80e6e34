"""Field problems from a pydantic `ValidationError`, and the flat error contract as a pydantic model.

Needs pydantic: `pip install 'failwell[pydantic]'`.
"""

from typing import Any, Self

from failwell.dialects import Wire, _flat, canonical
from failwell.dialects._flat import ErrorLiteral as MCPErrorCode
from failwell.failure import Failure
from failwell.schema.pydantic import failure_of, problems_of

try:
    from pydantic import BaseModel
except ImportError as missing:
    raise ImportError("this needs pydantic: pip install 'failwell[pydantic]'") from missing

__all__ = ["MCPError", "MCPErrorCode", "failure_of", "problems_of"]


class MCPError(BaseModel):
    """An error of the flat contract, for servers that embed it in models of their own."""

    error: MCPErrorCode
    message: str
    details: dict[str, Any] | None = None

    @classmethod
    def of(cls, failure: Failure) -> Self:
        """Return what the flat dialect says of a failure, redacted as everything that leaves."""
        return cls.model_validate_json(_flat.encode(canonical(failure)).text)

    def failure(self) -> Failure:
        """Return the failure that this error states."""
        found = _flat.decode(Wire(self.model_dump_json()))
        return found or Failure(message=self.message, origin="read")
