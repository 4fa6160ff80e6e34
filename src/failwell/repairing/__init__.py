"""Repairing: corrected arguments, where the error and the schema alone determine them."""

from failwell.repairing.proposing import Change, Repair, repair

__all__ = ["Change", "Repair", "repair"]
