"""Exceptions and HTTP answers become failures, by rules that users extend in one line."""
