"""The least a proxy can cost that is written in Python: `pump.c` again, line by line. Run by bench/proxy.py.

With `--decoder`, msgspec is loaded too, which a proxy needs that looks at what it passes.
"""

import os
import select
import sys


def main(command: list[str]) -> None:
    """Pass bytes, unread, until one of the ends closes."""
    its_stdin, stdin = os.pipe()
    stdout, its_stdout = os.pipe()
    ends = ((os.POSIX_SPAWN_DUP2, its_stdin, 0), (os.POSIX_SPAWN_DUP2, its_stdout, 1))
    os.posix_spawnp(command[0], command, os.environ, file_actions=ends)
    os.close(its_stdin)
    os.close(its_stdout)
    targets = {0: stdin, stdout: 1}
    waiting = select.poll()
    for source in targets:
        waiting.register(source, select.POLLIN)
    while True:
        for source, _ in waiting.poll():
            data = os.read(source, 1 << 16)
            if not data:
                return
            while data:
                data = data[os.write(targets[source], data) :]


if __name__ == "__main__":
    if sys.argv[1] == "--decoder":
        import msgspec  # noqa: F401  # only its cost counts

        del sys.argv[1]
    main(sys.argv[1:])
