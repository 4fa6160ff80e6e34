"""Calling tools: decoded, retried where that is safe, repaired and replaced where the caller wants it. No SDK here."""

from failwell.client.answer import Answer
from failwell.client.caller import Caller
from failwell.client.descriptions import Described, Descriptions, Page
from failwell.client.hooking import Installation, install, uninstall, wrap

__all__ = ["Answer", "Caller", "Described", "Descriptions", "Installation", "Page", "install", "uninstall", "wrap"]
