"""Play all sessions and compare them with their records: `python -m tests.proxy.sessions [--write] [PART]`."""

import argparse
import asyncio
import sys
import time

from tests.proxy.sessions import agreement, store
from tests.proxy.sessions.launcher import Launcher
from tests.proxy.sessions.table import SESSIONS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proxy.sessions", description=__doc__)
    parser.add_argument("part", nargs="?", default="", help="only sessions with this in their name")
    parser.add_argument("--write", action="store_true", help="record them anew")
    parser.add_argument("--show", action="store_true", help="show them as they are now")
    parser.add_argument("--at-once", type=int, default=4, help="how many are played at the same time")
    parser.add_argument(
        "--disagreements", nargs=2, metavar="TRANSPORT", help="show what two transports recorded differently"
    )
    wanted = parser.parse_args()
    if wanted.disagreements:
        sys.stdout.write(agreement.shown(agreement.disagreements(store.recorded(), *wanted.disagreements)))
        return 0
    chosen = [session for name, session in SESSIONS.items() if wanted.part in name]
    launcher, started = Launcher(), time.monotonic()
    try:
        found = asyncio.run(store.play_all(chosen, launcher, at_once=wanted.at_once))
    finally:
        launcher.close()
    broken = {name: record for name, record in found.items() if isinstance(record, str)}
    known = store.recorded()
    differing = {
        session.name: shown
        for session in chosen
        if (shown := store.difference(known.get(session.name), found[session.name]))
    }
    gone = [name for name in known if name not in SESSIONS]
    for name in found if wanted.show else differing:
        shown = "\n".join(store.readable(found[name])) if wanted.show else differing[name]
        sys.stdout.write(f"\n== {name}\n{shown}\n")
    sys.stdout.writelines(f"\n== {name}\nis recorded, and there is no such session\n" for name in gone)
    sys.stdout.write(
        f"\n{len(chosen)} sessions in {time.monotonic() - started:.1f} s: {len(differing)} differ from their records,"
        f" {len(broken)} broke\n"
    )
    sys.stdout.writelines(f"broke: {name}\n" for name in broken)
    if wanted.write:
        found = {name: record for name, record in found.items() if name not in broken}
        kept = {name: record for name, record in known.items() if name in SESSIONS} | found
        store.write({name: kept[name] for name in SESSIONS if name in kept})
        return int(bool(broken))
    return int(bool(differing or gone))


if __name__ == "__main__":
    sys.exit(main())
