"""Reading: the failure in anything a tool call can end with."""

from failwell.reader.reading import convert, read
from failwell.reader.returned import attempts_below, returned_failure

__all__ = ["attempts_below", "convert", "read", "returned_failure"]
