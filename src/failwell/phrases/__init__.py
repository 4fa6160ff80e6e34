"""How failures are worded and numbered by others: one phrase language, tables by family of software, delays, codes."""
