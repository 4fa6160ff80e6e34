"""Programs for people who work on failwell."""
