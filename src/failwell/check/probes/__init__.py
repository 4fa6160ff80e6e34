"""Probes: calls that must fail, made from a tool's input schema. Each is a row of a table, and proven before use."""

from failwell.check.probes.probe import Probe, Subject
from failwell.check.probes.table import ROWS, probes_of

__all__ = ["ROWS", "Probe", "Subject", "probes_of"]
