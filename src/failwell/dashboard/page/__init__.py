"""The files that a browser gets."""
