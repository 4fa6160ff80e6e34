"""Calls through the proxy to a server that goes wrong in every way: `python -m tests.proxy.soak [CALLS]`.

Every call must get exactly one answer, its own, and the proxy's memory must stay flat.
"""

import io
import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

FAULTY = [sys.executable, "-I", str(Path(__file__).with_name("faulty.py"))]
IN_FLIGHT = 64
LONGEST_SILENCE = 60.0


class Outcome(NamedTuple):
    """What came of a soak: answers by kind, what went wrong, and the memory in megabytes, early and late."""

    answered: int
    failed: int
    strays: int
    wrong: list[str]
    early: float
    late: float


class Soak:
    """A client with many calls on their way, which checks each answer."""

    def __init__(self, calls: int, seed: str) -> None:
        command = [
            sys.executable,
            "-m",
            "failwell",
            "proxy",
            "--quiet",
            "--restart",
            "--",
            *FAULTY,
            seed,
            str(calls // 4),
        ]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin, io.BufferedReader(self.process.stdout, 1 << 18)
        self._calls = calls
        self._places = threading.Semaphore(IN_FLIGHT)
        self._open: set[int] = set()
        self._chance = random.Random(seed)
        self.failed = self.strays = 0
        self.wrong: list[str] = []

    def run(self) -> Outcome:
        """Make all calls and return what came of them."""
        sender = threading.Thread(target=self._send, daemon=True)
        sender.start()
        watchdog = threading.Timer(LONGEST_SILENCE + self._calls / 500, self.process.kill)
        watchdog.start()
        early, answered = 0.0, 0
        while answered < self._calls:
            line = self._out.readline()
            if not line:
                code, left = self.process.wait(), sorted(self._open)
                self.wrong.append(f"the proxy ended with {code} after {answered} answers, without those to {left}")
                break
            answered += self._is_answer(line)
            if not early and answered > self._calls // 4:
                early = self._resident()
            if self._chance.random() < 0.0005:
                time.sleep(0.02)  # a slow reader
        late = self._resident()
        watchdog.cancel()
        self._in.close()
        answered += sum(self._is_answer(line) for line in self._out)
        self.process.wait()
        self._out.close()
        return Outcome(answered, self.failed, self.strays, self.wrong, early, late)

    def _send(self) -> None:
        for number in range(1, self._calls + 1):
            self._places.acquire()
            self._open.add(number)
            params = {"name": "n", "arguments": {"number": number}}
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            try:
                self._in.write(json.dumps(message).encode() + b"\n")
            except OSError:
                return

    def _is_answer(self, line: bytes) -> bool:
        try:
            message: dict[str, Any] = json.loads(line)
        except ValueError:
            self.strays += 1
            return False
        id, result = message.get("id"), message["result"]
        if isinstance(id, int) and id > 10**9:
            self.strays += 1
            return False
        if id not in self._open:
            self.wrong.append(f"{id} was answered again, or never asked")
            return False
        self._open.discard(id)
        self._places.release()
        told = result["content"][0]["text"]
        if result.get("isError"):
            self.failed += 1
            ours = result["_meta"]["dev.failwell/failure"]
            if ours["type"] == "NOT_FOUND" and f"number {id}" not in ours["message"]:
                self.wrong.append(f"{id} got the failure of another call: {ours['message']}")
        elif json.loads(told) != {"number": id}:
            self.wrong.append(f"{id} got {told}")
        return True

    def _resident(self) -> float:
        try:
            text = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0.0
        found = text.partition("VmRSS:")[2].split()
        return int(found[0]) / 1024 if found else 0.0


def main() -> int:
    """Run the soak and tell what came of it."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    found = Soak(calls, seed=sys.argv[2] if len(sys.argv) > 2 else "1").run()
    sys.stdout.write(
        f"{found.answered} answers to {calls} calls, {found.failed} of them failures, {found.strays} stray lines; "
        f"memory {found.early:.1f} MB early, {found.late:.1f} MB late\n"
    )
    sys.stdout.writelines(f"wrong: {line}\n" for line in found.wrong[:20])
    return 1 if found.wrong or found.answered != calls else 0


if __name__ == "__main__":
    sys.exit(main())
