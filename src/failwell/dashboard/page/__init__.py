"""The files that the browser loads."""
