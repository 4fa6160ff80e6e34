"""Exceptions and HTTP answers become failures, by rules that users extend in one line."""

from failwell.mapping.engine import from_exception
from failwell.mapping.http import from_http
from failwell.mapping.rules import rule, unrule

__all__ = ["from_exception", "from_http", "rule", "unrule"]
