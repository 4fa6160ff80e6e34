"""Run the simulations, and write their figures and pictures to docs/data, their tables to agents.md and fleet.md here.

`python -m bench.simulation fleet` runs one of them.
"""

import sys

from bench.simulation import fleet_report, report

SIMULATIONS = {"agents": report.write, "fleet": fleet_report.write}

for name in sys.argv[1:] or SIMULATIONS:
    SIMULATIONS[name]()
