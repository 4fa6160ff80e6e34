"""Reading: find the failure in anything that a tool call can return or raise."""
