"""A blind trial: what does an agent do next after a failing call, told in one form or another?

`cases.jsonl` holds failing calls of recorded servers and of servers in the wording of their libraries, `servers.jsonl`
the tools that those servers list, and `labels.jsonl` what each case is and which next steps are right. Readers see none
of the labels: `python -m bench.trial forms FOLDER` writes one file per form, and each reader gets one of them with
`READERS.md`. They write `answers-<form>-<reader>.json`, and `python -m bench.trial score FOLDER` compares.
"""
