"""Failures in the terms of other libraries: one module per library, imported by whoever uses it."""
