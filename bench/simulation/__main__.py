"""Run the simulations, and write figures, pictures and tables: agents to docs/retrying.md, a fleet to docs/fleet.md.

`python -m bench.simulation fleet` runs one of them.
"""

import sys

from bench.simulation import fleet_report, report

SIMULATIONS = {"agents": report.write, "fleet": fleet_report.write}

for name in sys.argv[1:] or SIMULATIONS:
    SIMULATIONS[name]()
