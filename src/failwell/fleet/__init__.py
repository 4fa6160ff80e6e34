"""Limits that many processes share: one budget, one breaker and one guard for a whole fleet, in Redis or Valkey."""

from failwell.fleet.limits import FleetLimits

__all__ = ["FleetLimits"]
