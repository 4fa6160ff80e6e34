"""Every failure, on every kind of server, in every dialect and protocol era: exactly what `encode` makes of it."""

import asyncio
import functools
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from tests.matrix import probes, sdks, servers, tables
from tests.matrix.cases import CASES, expected, settled

SIDES = [(kind, era) for kind in sdks.KINDS for era in sdks.ERAS]
COMBINATIONS = [(kind, era, name) for kind, era in SIDES for name, case in CASES.items() if kind in case.kinds]


@functools.cache
def answers(kind: str, era: str, dialect: str | None, **options: Any) -> dict[str, Any]:
    """Return what a client gets from each failing call; without a dialect the server is not protected."""
    server = servers.protected(kind, {"dialect": dialect}, **options) if dialect else servers.bare(kind, **options)

    async def ask() -> dict[str, Any]:
        found: dict[str, Any] = {}
        async with sdks.client(kind, server, era) as call:
            for name, case in CASES.items():
                if kind in case.kinds:
                    try:
                        found[name] = await call(case.tool, case.arguments)
                    except Exception as exc:
                        found[name] = probes.raised(exc)
        return found

    return asyncio.run(ask())


PROBED = [
    (kind, era, name)
    for kind, era in SIDES
    for name, probe in probes.PROBES.items()
    if kind in probe.kinds and era in probe.eras
    # Each is two processes: a quick run of all SDKs together has one pair, a matrix of each alone has all.
    if probe.what != "encoding" or len(sdks.KINDS) < 3 or (kind, era) == ("mcp", "handshake")
]


@functools.cache
def probed(kind: str, era: str, name: str, *, is_protected: bool) -> dict[str, Any]:
    """Return what a client gets where something else fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sampling and roots are deprecated
        return asyncio.run(probes.PROBES[name].ask(kind, era, is_protected))


@pytest.mark.parametrize(("kind", "era", "name"), PROBED)
def test_whatever_fails_is_structured_and_tells_no_secret(kind: str, era: str, name: str) -> None:
    found = probed(kind, era, name, is_protected=True)

    assert probes.verdict(found) == WANTED.get(probes.PROBES[name].what, "structured"), found


# A call that was cancelled is not answered, as the protocol wants it.
WANTED = {"cancel": "cancelled"}


@pytest.mark.parametrize("dialect", fw.dialects.DIALECTS)
@pytest.mark.parametrize(("kind", "era", "name"), COMBINATIONS)
def test_a_failure_arrives_as_it_is_encoded(kind: str, era: str, name: str, dialect: str) -> None:
    assert settled(answers(kind, era, dialect)[name]) == expected(CASES[name], dialect)


@pytest.mark.parametrize(("kind", "era"), SIDES)
def test_no_secret_leaves(kind: str, era: str) -> None:
    assert servers.SECRET not in json.dumps(answers(kind, era, "compact"))


@pytest.mark.skipif("fastmcp" not in sdks.KINDS, reason="only fastmcp masks errors")
@pytest.mark.parametrize("mask_error_details", [True, False], ids=["masked", "unmasked"])
@pytest.mark.parametrize("era", sdks.ERAS)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "fastmcp" in case.kinds])
def test_masking_changes_nothing(era: str, name: str, mask_error_details: bool) -> None:
    found = answers("fastmcp", era, "meta", mask_error_details=mask_error_details)

    assert settled(found[name]) == expected(CASES[name])


@pytest.mark.parametrize(("kind", "era"), SIDES)
def test_the_table_of_failures_in_the_docs_is_current(kind: str, era: str, tmp_path: Path) -> None:
    package = sdks.package_of(kind)
    side = {
        "sdk": package,
        "version": ".".join(map(str, sdks.version(package))),
        "server": kind,
        "era": era,
    }
    found = {
        name: (answers(kind, era, None)[name], answers(kind, era, "meta")[name]) for name in answers(kind, era, None)
    }
    whats = dict.fromkeys(found, "tool") | {"a result that breaks its schema": "output"}
    for probed_kind, probed_era, name in PROBED:
        if (probed_kind, probed_era) == (kind, era):
            found[name] = probed(kind, era, name, is_protected=False), probed(kind, era, name, is_protected=True)
            whats[name] = probes.PROBES[name].what
    rows = [
        {
            **side,
            "what": whats[name],
            "failure": name,
            "without": shown(before),
            "with": shown(after),
            "bare": probes.verdict(before),
            "protected": probes.verdict(after),
        }
        for name, (before, after) in sorted(found.items())
    ]

    assert tables.recorded("servers.json", rows, tmp_path) == rows, tables.ADVICE


def shown(result: dict[str, Any]) -> str:
    """Return what a model or a client sees of an answer, in one line."""
    if "error" in result:
        text = f"the client raises {result['error']}"
        if number := result.get("rpc", {}).get("code"):
            text += f" ({number})"
    elif "silence" in result:
        text = result["silence"]
    elif "content" in result:
        flag = "error" if result.get("isError") else "success"
        text = f"{flag}: " + " ".join(block.get("text", "") for block in settled(result)["content"])
    else:
        text = result.get("success") or f"error: {result['task'].get('statusMessage', '')}"
    if "task" in result:
        text = f"{result['task']['status']}, {text}"
    return text.replace(servers.SECRET, "<a secret>")
