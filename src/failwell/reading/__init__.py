"""Reading: the failure in anything a tool call can end with."""
