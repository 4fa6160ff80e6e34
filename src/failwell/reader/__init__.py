"""Reading: the failure in anything a tool call can end with."""

from failwell.reader.reading import convert, read

__all__ = ["convert", "read"]
