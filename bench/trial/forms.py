"""The forms in which readers are told of the same failures, and the file that shows them."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median

from bench.trial import protected, proxied
from bench.trial.cases import Case, Server, cases, servers

SEED = 16
_AT_ONCE = 4

Texts = dict[str, str]


def original() -> Texts:
    """Return what the servers say by themselves."""
    found: Texts = {}
    for server, group in _groups():
        if server.kind == "protected":
            found |= protected.answered(server, group, None)
        else:
            found |= {case.id: proxied.original(case) for case in group}
    return found


def in_dialect(dialect: str, *options: str) -> Texts:
    """Return what the library makes of them: the proxy, run with *options*, or `protect`."""
    found: Texts = {}
    chosen = ["--dialect", dialect, *options]
    groups = list(_groups())
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        running = [
            pool.submit(proxied.rewritten, server, group, chosen)
            for server, group in groups
            if server.kind != "protected"
        ]
        for server, group in groups:
            if server.kind == "protected":
                found |= protected.answered(server, group, {"dialect": dialect})
        for one in running:
            found |= one.result()
    return found


# To try another form, give it a row: a function that returns the text for each case by its id.
FORMS: dict[str, Callable[[], Texts]] = {
    "original": original,
    "compact": partial(in_dialect, "compact"),
    "meta": partial(in_dialect, "meta"),
    "xml": partial(in_dialect, "xml"),
}


def page(texts: Texts) -> str:
    """Return what a reader gets to see: every case with its text in one form, in the order that all forms share."""
    return "\n".join(_shown(case, texts[case.id]) for case in shuffled())


def shuffled() -> list[Case]:
    """Return the cases in the order in which readers see them."""
    found = list(cases())
    random.Random(SEED).shuffle(found)
    return found


def ratio(texts: Texts, originals: Texts) -> float:
    """Return how long a text is beside the original, in the median."""
    return median(len(texts[id]) / len(text) for id, text in originals.items())


def _groups() -> Iterator[tuple[Server, Sequence[Case]]]:
    for server in servers().values():
        group = [case for case in cases() if case.server == server.name]
        if group:
            yield server, group


def _shown(case: Case, text: str) -> str:
    server = servers()[case.server]
    tool = server.tool(case.tool)
    fence = "```" if "```" not in text else "~~~~"
    lines = [
        f"## {case.id}",
        "",
        case.situation,
        "",
        f"- Your tools: {', '.join(one['name'] for one in server.tools)}",
        f"- You called: {case.tool}",
        f"- Its description: {tool['description'] if tool else '(not listed)'}",
        f"- Its annotations: {json.dumps(tool.get('annotations'), ensure_ascii=False) if tool else '(not listed)'}",
        f"- Arguments: {json.dumps(case.arguments, ensure_ascii=False)}",
        "- Result:",
        "",
        fence,
        text.rstrip("\n"),
        fence,
        "",
    ]
    return "\n".join(lines)
