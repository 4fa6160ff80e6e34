"""Several actions as one tool."""

from failwell.routing.group import Group, missing_discriminator, unknown_action

__all__ = ["Group", "missing_discriminator", "unknown_action"]
