"""Known wordings and codes of failures: the phrase language, tables by kind of software, delays and codes."""
