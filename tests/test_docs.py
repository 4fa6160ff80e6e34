"""Prose and tables agree with the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools import generate_docs
from tools.dialect_prose import ABOUT, FIELDS

import failwell as fw
from failwell.codes import ROWS, TYPES, Row
from failwell.dialects import DIALECTS
from tests.dialects.limits import CANNOT_SAY

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CODES = (DOCS / "reference/codes.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # In a process of its own: other tests may have added rows to the catalog.
    folder = tmp_path_factory.mktemp("docs")
    subprocess.run([sys.executable, "-m", "tools.generate_docs", folder], cwd=ROOT, timeout=60, check=True)
    return folder


@pytest.mark.table
@pytest.mark.parametrize("page", sorted(generate_docs.pages()))
def test_generated_pages_are_current(generated: Path, page: str) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == (generated / page).read_text(encoding="utf-8"), (
        "write them anew: python -m tools.generate_docs"
    )


def test_the_headings_of_the_codes_page_are_the_codes() -> None:
    assert re.findall(r"^### (.+)$", CODES, re.MULTILINE) == [
        row.code for type_ in TYPES for row in ROWS if row.type == type_
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.code)
def test_a_code_is_raised_as_the_page_says(row: Row) -> None:
    [with_class, with_code] = re.findall(r"`(raise fw.+?)`", CODES.partition("\n## ")[0], re.DOTALL)
    section = CODES.partition(f"### {row.code}\n")[2].partition("\n### ")[0]
    named = re.findall(r"^- Exception: `(.+)`$", section, re.MULTILINE)
    example = with_class.replace("fw.NotFound", named[0]) if named else with_code.replace("FILE_NOT_FOUND", row.code)

    with pytest.raises(fw.ToolFailure) as raised:
        exec(example, {"fw": fw})

    own = {cls.code for cls in vars(fw).values() if isinstance(cls, type) and issubclass(cls, fw.ToolFailure)}
    assert bool(named) == (row.code in own)

    assert (raised.value.failure.code, raised.value.failure.type) == (row.code, row.type)


def test_every_dialect_is_described_and_has_a_line_of_limits() -> None:
    assert set(ABOUT) == set(FIELDS) == set(CANNOT_SAY) == set(DIALECTS)


@pytest.mark.parametrize("name", [name for name, module in DIALECTS.items() if hasattr(module, "json_schema")])
def test_the_fields_of_a_dialect_s_page_are_those_of_its_schema(name: str) -> None:
    assert list(FIELDS[name]) == list(DIALECTS[name].json_schema()["properties"])  # type: ignore[attr-defined]  # see above


def test_the_tree_in_the_docs_is_the_one_in_the_code() -> None:
    from failwell import errors

    def tree(text: str | None) -> list[str]:
        return re.findall(r"^ *((?:[│├└─ ]*)[A-Z]\w+)(?:  .*)?$", text or "", re.MULTILINE)

    page = (DOCS / "reference/errors.md").read_text(encoding="utf-8")
    drawn = page.partition("```text\n")[2].partition("```")[0]
    classes = [line.split()[-1] for line in tree(drawn)]

    assert tree(drawn) == tree((errors.__doc__ or "").partition("A subclass")[0].partition("\n\n")[2])
    assert set(classes) == {
        name for name in fw.__all__ if isinstance(cls := getattr(fw, name), type) and issubclass(cls, fw.ToolFailure)
    }


def test_decision_records_are_short_and_numbered_without_gaps() -> None:
    records = sorted((DOCS / "decisions").glob("[0-9]*.md"))

    assert [int(record.name[:4]) for record in records] == list(range(1, len(records) + 1))
    assert len(records) > 10
    for record in records:
        lines = record.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 40, record.name
        assert lines[0].startswith(f"# {int(record.name[:4])}. "), record.name


def test_a_decision_record_says_why_what_and_at_what_cost() -> None:
    records = {record.name: record.read_text(encoding="utf-8") for record in (DOCS / "decisions").glob("[0-9]*.md")}

    parts = {
        name: [text.find(f"\n**{part}") for part in ("Context.", "Choice", "Cost.")] for name, text in records.items()
    }
    assert [name for name, places in parts.items() if min(places) < 0 or places != sorted(places)] == []


def test_all_public_names_exist_and_are_sorted() -> None:
    assert fw.__all__ == sorted(set(fw.__all__))
    assert [name for name in fw.__all__ if not hasattr(fw, name)] == []


def test_every_public_name_that_is_imported_is_exported() -> None:
    public = {
        name
        for name, value in vars(fw).items()
        if not name.startswith("_") and (getattr(value, "__module__", None) or "").startswith("failwell")
    }

    assert len(public) > 30
    assert public - set(fw.__all__) == set()


def test_the_bounds_on_the_pages_are_those_of_the_code() -> None:
    from failwell._json import LONGEST_JSON
    from failwell.failure import FIELDS, PROBLEM_LENGTHS
    from failwell.proxy import bounds
    from failwell.redact.canonical import DEEPEST, MOST_CHARACTERS, MOST_NODES

    page = (DOCS / "reference/bounds.md").read_text(encoding="utf-8")
    security = (DOCS / "explanation/security.md").read_text(encoding="utf-8")
    policy, budget, breaker = fw.Policy(), fw.retry.Budget(), fw.retry.Breaker()

    for line in (
        f"| a message | {FIELDS['message'].longest:,} characters, a suggestion {FIELDS['suggestion'].longest}; ",
        f"| field problems of a failure | {FIELDS['fields'].most} |",
        f"| {MOST_CHARACTERS:,} characters in {MOST_NODES} values, nested {DEEPEST} levels deep |",
        f"| JSON that `read` parses | {LONGEST_JSON:,} characters; ",
        f"| tries of one call | `attempts`, {policy.attempts} |",
        f"| one wait | `max_wait`, {policy.max_wait:.0f} s; ",
        f"| a budget of {budget.capacity:.0f} tokens ",
        f"| a breaker: after {breaker.most} failures in a row, none for {breaker.pause:.0f} s |",
        f"| unanswered requests of one proxied session | {bounds.MAX_PENDING:,}; ",
        f"| sessions of a gateway | {bounds.MAX_SESSIONS:,}; ",
        f"| a call that the proxy can make again | {bounds.MAX_RETRIED_CALL >> 20} MiB; ",
        f"| {bounds.MAX_LEARNT >> 20} MiB; sessions are forgotten as above |",
        f"| connections to a gateway | {bounds.MAX_CONNECTIONS:,}, ",
        f"| {bounds.MAX_STREAMS:,}, of one client {bounds.MAX_STREAMS_OF_CLIENT}; ",
        f"| {bounds.MAX_HEADER >> 10} KiB (431) within {bounds.HEAD_TIMEOUT:.0f} s (408) |",
        f"| {bounds.MAX_POSTED_BODY >> 20} MiB within {bounds.BODY_TIMEOUT:.0f} s, {bounds.MAX_RATIO} times ",
        f"| messages in one posted body | {bounds.MAX_BATCH:,}; ",
        f"or an event in its stream | {bounds.MAX_ANSWER >> 20} MiB; ",
        f"| a message that a proxy decodes in full | {bounds.MAX_DECODED >> 20} MiB; ",
        f"| {bounds.MAX_HELD >> 20} MiB; another one is refused ",
        f"Up to {bounds.MAX_SMALL_BODY >> 10} KiB are never refused |",
        f"| {bounds.READ_TIMEOUT:.0f} s, then it is disconnected |",
        f"| {bounds.MAX_PINNED_TOOLS:,}; others promise nothing |",
        f"| the body of an HTTP error that is read | {bounds.MAX_ERROR_BODY >> 20} MiB |",
        f"| restarts of a server by `--restart` | {bounds.MAX_RESTARTS} in {bounds.RESTART_WINDOW:.0f} s |",
    ):
        assert line in page
    assert f"echoed in a field problem, up to {PROBLEM_LENGTHS['sent']} characters |" in security
