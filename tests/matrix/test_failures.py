"""Every failure, on every kind of server, in every dialect and protocol era: exactly what `encode` makes of it."""

import asyncio
import fcntl
import functools
import json
import os
from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from tests.matrix import sdks, servers
from tests.matrix.cases import CASES, expected, settled

TABLE = Path(__file__).parents[2] / "docs" / "data" / "servers.json"

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
                        found[name] = {"error": f"{type(exc).__name__}: {exc}"}
        return found

    return asyncio.run(ask())


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
    rows = [
        {
            "sdk": package,
            "version": ".".join(map(str, sdks.version(package))),
            "server": kind,
            "era": era,
            "failure": name,
            "without": shown(answers(kind, era, None)[name]),
            "with": shown(answers(kind, era, "meta")[name]),
        }
        for name, case in sorted(CASES.items())
        if kind in case.kinds
    ]
    todo = os.environ.get("FAILWELL_TABLE", "")
    path = TABLE if todo else tmp_path / "servers.json"

    if todo != "compare":
        write(path, rows)

    assert [row for row in json.loads(path.read_text()) if _key(row) == _key(rows[0])] == rows, (
        "write it anew: FAILWELL_TABLE=write make matrix, then python -m tools.generate_docs"
    )


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Put the rows of one server in place of its old ones; other processes may write theirs at the same time."""
    path.touch()
    with path.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        others = [row for row in json.loads(file.read() or "[]") if _key(row) != _key(rows[0])]
        text = json.dumps(sorted(others + rows, key=lambda row: (*_key(row), row["failure"])), indent=1)
        file.seek(0)
        file.truncate()
        file.write(text + "\n")


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["version"], row["server"], row["era"]


def shown(result: dict[str, Any]) -> str:
    """Return what a model sees of a result, in one line."""
    if "error" in result:
        text = f"the client raises {result['error']}"
    else:
        flag = "error" if result.get("isError") else "success"
        text = f"{flag}: " + " ".join(block.get("text", "") for block in settled(result)["content"])
    return text.replace(servers.SECRET, "<a secret>")
