"""A server that answers at once: what a proxy adds is seen best in front of it. Run by bench/proxy.py."""

import os
import sys

ANSWER = b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}],"isError":%s}}\n'
LARGE = b"x" * 1_000_000
# What the proxy makes of the failing answer, as it is sent by the server itself to find out what its size alone costs.
REWRITTEN = sys.argv[1].encode() if len(sys.argv) > 1 else b"{}"


def answer(line: bytes) -> bytes:
    """Return the answer to a request, found without decoding it."""
    start = line.index(b'"id":') + 5
    end = start
    while line[end : end + 1].isdigit():
        end += 1
    id = line[start:end]
    if b'"initialize"' in line:
        return (
            b'{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},' % id
            + (b'"serverInfo":{"name":"bench","version":"1"}}}\n')
        )
    if b'"tools/list"' in line:
        schema = b'{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}'
        names = (b"small", b"large", b"failing", b"rewritten")
        tools = b",".join(b'{"name":"%s","inputSchema":%s}' % (name, schema) for name in names)
        return b'{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}\n' % (id, tools)
    if b'"large"' in line:
        return ANSWER % (id, LARGE, b"false")
    if b'"failing"' in line:
        return ANSWER % (id, b"ENOENT: no such file or directory, open '/srv/data/missing.txt'", b"true")
    if b'"rewritten"' in line:
        return b'{"jsonrpc":"2.0","id":%s,"result":%s}\n' % (id, REWRITTEN)
    return ANSWER % (id, b"fine", b"false")


def main() -> None:
    """Answer until the client hangs up."""
    held = b""
    while chunk := os.read(0, 1 << 16):
        *lines, held = (held + chunk).split(b"\n")
        answers = b"".join(answer(line) for line in lines if b'"id":' in line)
        while answers:
            answers = answers[os.write(1, answers) :]


if __name__ == "__main__":
    sys.exit(main())
