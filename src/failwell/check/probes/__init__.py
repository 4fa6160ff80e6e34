"""Probes: calls that must fail, made from a tool's input schema. Each is a row of `table`, and proven before use."""
