"""Reading: the failure in anything a tool call can end with."""

from failwell.reader.flat_text import Reading
from failwell.reader.reading import convert, explain, read
from failwell.reader.returned import attempts_below, returned_failure

__all__ = ["Reading", "attempts_below", "convert", "explain", "read", "returned_failure"]
