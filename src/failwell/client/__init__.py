"""Calling tools: decoded, retried where that is safe, repaired and replaced where the caller wants it. No SDK here."""

from failwell.client._caller import Answer, Caller
from failwell.client._descriptions import Described, Descriptions, Page
from failwell.client._install import Installation, install, uninstall, wrap

__all__ = ["Answer", "Caller", "Described", "Descriptions", "Installation", "Page", "install", "uninstall", "wrap"]
