"""The agents of examples/agents, run for real against their server."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "examples" / "agents"
LONGEST_PROGRAM = 60

# Retried once after a rate limit; told of a timeout once and not sent again; and the mail that was sent is found.
SHOWN = (
    "T-7: the printer is on fire (search 2)",
    "TRANSIENT, TIMEOUT in send_mail: The mail server took the mail and did not confirm it.",
    "Next: The call may have taken effect. If this tool changes anything, check before calling it again.",
    "the application gets: TIMEOUT, outcome unknown",
    "1 mail sent, to ada",
)


def program(name: str) -> Path:
    return FOLDER / f"{name}_agent.py"


def output_of(name: str) -> str:
    """Return what an agent prints, which must end well."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program(name)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
