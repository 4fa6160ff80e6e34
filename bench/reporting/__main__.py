"""Write everything that follows from the results, without measuring anything: `python -m bench.reporting`."""

from bench.reporting.writing import write
from bench.results import load

write(load())
