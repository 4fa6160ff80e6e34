"""The five dialects: `encode` writes a failure in one of them; `canonical` makes the redacted form they write."""

from failwell.dialects._placement import encode
from failwell.dialects._registry import DIALECTS, get
from failwell.dialects._wire import Dialect, Wire
from failwell.redact.canonical import RedactedFailure, canonical

__all__ = ["DIALECTS", "Dialect", "RedactedFailure", "Wire", "canonical", "encode", "get"]
