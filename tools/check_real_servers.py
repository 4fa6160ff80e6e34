"""Check real servers, as they are and behind the proxy, and record how well they fail.

python -m tools.check_real_servers --bin ENV/bin --bin node_modules/.bin --work EMPTY
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from failwell.check.peers import BadServer
from failwell.check.peers.stdio import StdioPeer
from failwell.check.report import Report
from failwell.check.runner import CheckPlan, check
from failwell.check.session import CallLimits
from tools import real_servers

_OUT = Path(__file__).parent.parent / "docs" / "data" / "check.json"
_PROXY = (sys.executable, "-m", "failwell", "proxy", "--quiet")
WAYS: dict[str, tuple[str, ...]] = {
    "before": (),
    "proxy": (*_PROXY, "--"),
    "strict proxy": (*_PROXY, "--validate", "--flip-unflagged", "*", "--"),
}
"""How a server is reached; the last two are what an operator writes in front of its command."""


def main() -> int:
    """Check every server that is there and write the file."""
    options = real_servers.options().parse_args()
    os.environ |= real_servers.ENVIRONMENT
    rows = []
    for name, server in real_servers.SERVERS.items():
        work = options.work / name
        work.mkdir(parents=True, exist_ok=True)
        real_servers.run("git", "init", "--quiet", cwd=work)
        command = real_servers.command_of(server, options.bin, work)
        if command is None:
            sys.stderr.write(f"{name}: not installed\n")
            continue
        try:
            ways = {way: _figures(_checked([*before, *command], work)) for way, before in WAYS.items()}
        except BadServer as bad:
            sys.stderr.write(f"{name}: {bad}\n")
            continue
        rows.append({"server": server.command[0], "tools": ways["before"].pop("tools"), **ways})
        sys.stderr.write(f"{name}: {[figures['score'] for figures in ways.values()]}\n")
    rows.sort(key=lambda row: str(row["server"]))
    _OUT.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


def _checked(command: list[str], work: Path) -> Report:
    plan = CheckPlan(limits=CallLimits(start=60, call=30))
    return asyncio.run(check(lambda: StdioPeer.start(command, cwd=work), plan))


def _figures(report: Report) -> dict[str, Any]:
    share = report.totals.repairable_share
    return {
        "tools": len(report.tools) - 1,
        "score": report.score,
        "grade": report.grade,
        "calls": report.totals.probes,
        "unflagged": report.totals.unflagged,
        "accepted": report.totals.accepted,
        "repairable": None if share is None else round(share, 3),
        "text": report.channels["text"],
        "machine": report.channels["machine"],
    }


if __name__ == "__main__":
    sys.exit(main())
