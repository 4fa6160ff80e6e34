"""The wire text, `decide` and the retry engine agree, for every code, outcome, kind of tool, attempt and policy."""
