"""Run the simulation and write docs/data/retries.json, docs/data/retries.svg and the table of docs/retrying.md."""

from bench.simulation.report import write

write()
