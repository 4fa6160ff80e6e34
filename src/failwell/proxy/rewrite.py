"""`failwell rewrite`: one answer to a tool call on standard input, the structured one on standard output.

For gateways that run a program after each call. It needs no more than the package itself, and it never breaks a call:
what is not understood passes byte by byte.
"""

import argparse
import re
import sys
from collections.abc import Iterable
from typing import Any, BinaryIO, NoReturn

from failwell._help import help_page
from failwell._json import LONGEST_JSON, is_array, is_object, parse_json, write_json
from failwell.dialects import DIALECTS
from failwell.proxy.calls import ListedTools, ProxiedCall
from failwell.proxy.channels import is_failing
from failwell.proxy.rewriter import Rewriter

_RESULT_KEYS = ("result", "response")


def _meant(name: str, choices: Iterable[str]) -> str:
    from failwell._spelling import did_you_mean  # only when something is misspelt

    return did_you_mean(name, choices)


def _dialect(name: str) -> str:
    if name not in DIALECTS:
        said = f"unknown dialect {name!r}: choose one of {', '.join(DIALECTS)}"
        raise argparse.ArgumentTypeError(said + _meant(name, DIALECTS))
    return name


OPTIONS: dict[str, dict[str, Any]] = {
    "--dialect": {
        "type": _dialect,
        "default": "meta",
        "metavar": "NAME",
        "help": f"the format of failures: {', '.join(DIALECTS)}",
    },
    "--tool": {"metavar": "TOOL", "default": "", "help": "the tool that was called, if the input has no request"},
    "--flip-unflagged": {"action": "store_true", "help": "treat error texts as errors even if they are not flagged"},
    "--retry-safe": {"action": "store_true", "help": "the tool is safe to run twice, whatever its annotations say"},
}
"""The options, as the parser, the docs and the help show them."""


def run(argv: list[str], *, stdin: BinaryIO, stdout: BinaryIO) -> int:
    """Rewrite one answer and return the exit code; wrong options end the process with 2."""
    made = parser()
    options, unknown = made.parse_known_args(argv)
    if unknown:
        name = unknown[0].partition("=")[0]
        what = "unknown option" if name.startswith("-") else "unexpected argument"
        made.error(f"{what} {name!r}{_meant(name, OPTIONS)}")
    raw = stdin.read()
    stdout.write(rewritten(raw, options))
    stdout.flush()
    return 0


def rewritten(raw: bytes, options: argparse.Namespace) -> bytes:
    """Return what is to be written for what was read."""
    payload = _parse(raw)
    if payload is None:
        # Docker's gateway has no result for a JSON-RPC error, and would take `null` for an empty one in its place.
        return b"" if raw.strip() == b"null" else raw
    request = payload.get("request")
    answer: Any = next((payload[key] for key in _RESULT_KEYS if key in payload), None)
    # A pair of request and response, as gateways give it; else the answer itself, with or without its envelope.
    is_pair = is_object(request) and is_object(answer) and "jsonrpc" not in payload
    message = answer if is_pair else payload
    is_bare = "result" not in message and "error" not in message
    if is_bare and not is_array(message.get("content")):
        return b"" if is_pair else raw
    call = _call(request, message, options.tool)
    written = _rewrite(
        call,
        {"jsonrpc": "2.0", "id": call.id, "result": message} if is_bare else message,
        dialect=options.dialect,
        flip=options.flip_unflagged,
        is_safe=options.retry_safe,
    )
    if written is None:
        return b"" if is_pair else raw  # nothing on standard output: the gateway keeps what it has
    return (write_json(written["result"] if is_bare or is_pair else written) + "\n").encode()


class _RewriteParser(argparse.ArgumentParser):
    """A parser with the help and the refusals of the other commands."""

    def format_help(self) -> str:
        """Return what `--help` shows."""
        rows = [
            (f"{name} {how['metavar']}" if "metavar" in how else name, sentence(how)) for name, how in OPTIONS.items()
        ]
        return help_page(
            usage=["failwell rewrite [OPTIONS] < ANSWER"],
            about="Structure the failure in one answer, for gateways.\n\n"
            "Reads the answer to a tool call from standard input and writes it with its failure structured.",
            sections={"Options": [*rows, ("-h, --help", "Show this message and exit.")]},
            examples=[
                "failwell rewrite --tool search < result.json",
                "docker mcp gateway run --interceptor 'after:exec:failwell rewrite'",
            ],
        )

    def error(self, message: str) -> NoReturn:
        """End the process with one line."""
        said = re.sub(r"^argument --\w+: (?=unknown)", "", message)
        said = re.sub(r"^argument (\S+): expected one argument$", r"\1 needs a value", said)
        said = re.sub(r"^argument (\S+): ignored explicit argument .*", r"\1 takes no value", said)
        more = "" if said.endswith("?") else "; see failwell rewrite --help"
        self.exit(2, f"failwell: {said[:1].lower()}{said[1:]}{more}\n")


def sentence(option: dict[str, Any]) -> str:
    """Return what an option does, with its default."""
    default = f" [default: {option['default']}]" if option.get("default") else ""
    return f"{option['help'][0].upper()}{option['help'][1:]}.{default}"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    made = _RewriteParser(prog="failwell rewrite", allow_abbrev=False)
    for name, how in OPTIONS.items():
        made.add_argument(name, **how)
    return made


def _parse(raw: bytes) -> dict[str, Any] | None:
    if len(raw) > LONGEST_JSON:
        return None
    try:
        found = parse_json(raw.decode())
    except ValueError:
        return None
    return found if is_object(found) else None


def _call(request: Any, message: dict[str, Any], tool: str) -> ProxiedCall:
    """Return the call that was answered, as far as it is known."""
    id_ = message.get("id", 0)
    if is_object(request):
        found = ProxiedCall.of({"id": id_, "method": "tools/call", "params": request.get("params", request)})
        if found is not None:
            return found
    return ProxiedCall(id=id_, tool=tool, is_unread=True)


def rewrite_result(result: dict[str, Any], *, tool: str, dialect: str = "meta", flip: bool = False) -> Any:
    """Return a result of a tool with its failure structured; None if there is nothing to change."""
    call = ProxiedCall(id=0, tool=tool, is_unread=True)
    message = {"jsonrpc": "2.0", "id": 0, "result": result}
    written = _rewrite(call, message, dialect=dialect, flip=flip)
    return None if written is None else written["result"]


def _rewrite(
    call: ProxiedCall, message: dict[str, Any], *, dialect: str, flip: bool = False, is_safe: bool = False
) -> dict[str, Any] | None:
    named = (call.tool,)
    rewriter = Rewriter(
        dialect=dialect, flip_unflagged=named if flip else (), safe=named if is_safe else (), tools=ListedTools()
    )
    try:
        reading = rewriter.read_answer(call, message, is_failed=is_failing(message))
        return rewriter.write_answer(call, reading)[0]
    except Exception:  # the answer itself is better than none
        return None


def main() -> int:
    """Rewrite what the process is given."""
    return run(sys.argv[2:], stdin=sys.stdin.buffer, stdout=sys.stdout.buffer)
