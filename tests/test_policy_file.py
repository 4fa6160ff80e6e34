"""`PolicyFile`: strict, merged from the general to the specific, and never read from where one happens to be."""

import json
import pickle
import re
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import get_args, get_type_hints

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import failwell as fw
from failwell.dialects import DIALECTS
from failwell.policy_file import KEYS, BadPolicyFile, PolicyFile, ServerRules, ToolRules, policy_schema

DOCS = Path(__file__).parents[1] / "docs"

EXAMPLE = """
attempts = 5
timeout = 3
trust_inferred = true

[tools."pay_*"]
read_only = false
attempts = 1

[tools.get_balance]
read_only = true
timeout = 2

[servers."git*"]
timeout = 10
trust_read_verbs = true

[servers.github]
dialect = "compact"
trust_annotations = false

[servers.github.tools."get_*"]
read_only = false
retry = false
"""


def test_the_more_specific_section_counts_field_by_field() -> None:
    file = PolicyFile.parse(EXAMPLE)

    assert file.tool("github", "get_balance") == ToolRules(
        attempts=5, timeout=2, trust_inferred=True, read_only=False, retry=False, dialect="compact"
    )
    assert file.tool("bank", "get_balance") == ToolRules(attempts=5, timeout=2, trust_inferred=True, read_only=True)
    assert file.tool("gitlab", "pay_card") == ToolRules(attempts=1, timeout=10, trust_inferred=True, read_only=False)
    assert file.server("github") == ServerRules(
        attempts=5, timeout=10, trust_inferred=True, trust_read_verbs=True, trust_annotations=False, dialect="compact"
    )
    assert file.server("") == ServerRules(attempts=5, timeout=3, trust_inferred=True)


def test_what_the_file_says_beats_the_policy_of_the_code() -> None:
    base = fw.Policy(
        attempts=9, deadline=60, tools={"pay_card": fw.Tool(read_only=True), "*": fw.Tool(idempotent=True)}
    )
    file = PolicyFile.parse(EXAMPLE)

    policy = file.policy("bank", "pay_card", base=base)

    assert (policy.attempts, policy.timeout, policy.deadline, policy.trust_inferred) == (1, 3, 60, True)
    assert policy.hints("pay_card", {"readOnlyHint": True}) == fw.Hints(idempotent=True)
    assert file.policy("github", "get_issue").attempts == 1
    assert not file.policy("bank", "list_accounts").trust_read_verbs
    assert file.policy("gitlab", "list_issues").hints("list_issues", None) == fw.Hints(read_only=True)


def test_an_empty_file_changes_nothing() -> None:
    assert PolicyFile.parse("") == PolicyFile()
    assert PolicyFile().policy("s", "t", base=fw.Policy(attempts=7)).attempts == 7
    assert PolicyFile().policy("s", "t").hints("t", {"idempotentHint": True}) == fw.Hints(idempotent=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("atempts = 3", "f:1: there is no key \"atempts\" at the top level; did you mean 'attempts'?"),
        ("\n\ntimeout = '5'", 'f:3: timeout must be a number of seconds greater than 0, not "5"'),
        ("timeout = 0", "f:1: timeout must be a number of seconds greater than 0, not 0"),
        ("deadline = nan", "f:1: deadline must be a number of seconds, not nan"),
        ("attempts = 1.5", "f:1: attempts must be a whole number from 1 to 100, not 1.5"),
        ("attempts = true", "f:1: attempts must be a whole number from 1 to 100, not true"),
        ("flip = 1", "f:1: flip must be true or false, not 1"),
        ("dialect = 'x'", 'f:1: dialect must be one of compact, envelope, flat, meta, xml, not "x"'),
        ("read_only = true", 'f:1: there is no key "read_only" at the top level'),
        ("\n[tool.x]\nretry = true", "f:2: there is no key \"tool\" at the top level; did you mean 'tools'?"),
        ("[servers.a.tool.x]\nretry = true", "f:1: there is no key \"tool\" in [servers.a]; did you mean 'tools'?"),
        ("limits = ['redis://:secret@h']", "f:1: limits must be the address of a Redis or Valkey server"),
        ("tools = 5", "f:1: tools must be a table, such as [tools.NAME], not 5"),
        ("[[tools.x]]", "f:1: [tools.x] must be a table, not [{}]"),
        ("[servers.a]\nlimits = 'x'", 'f:2: there is no key "limits" in [servers.a]'),
        (
            '[servers."a b".tools.x]\n  idempotant = true',
            "f:2: there is no key \"idempotant\" in [servers.\"a b\".tools.x]; did you mean 'idempotent'?",
        ),
        ("servers.a.tools.x.retry = 1", "f:1: retry must be true or false, not 1"),
        ("tools = { x = { retry = 1 } }", "f:1: retry must be true or false, not 1"),
        ("attempts = ", "f is not valid TOML: Invalid value (at end of document)"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(BadPolicyFile) as refused:
        PolicyFile.parse(text, source="f")

    assert str(refused.value) == said


def test_everything_that_is_wrong_is_said_at_once_but_not_without_end() -> None:
    with pytest.raises(BadPolicyFile) as refused:
        PolicyFile.parse("\n".join(f"x{number} = 1" for number in range(100)))

    assert len(refused.value.problems) == 20
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


@given(st.text(max_size=200) | st.lists(st.sampled_from(["[", "]", "tools", ".", '"', "=", "\n", "a"])).map("".join))
def test_no_text_does_more_than_being_refused(text: str) -> None:
    with suppress(BadPolicyFile):
        PolicyFile.parse(text)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_text("#" * (1 << 20) + "\n")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 10_000)

    for name, said in (
        ("absent.toml", "cannot be read: No such file"),
        ("large.toml", "is too large"),
        ("latin.toml", "is not UTF-8 text"),
        ("deep.toml", "is nested too deeply"),
    ):
        with pytest.raises(BadPolicyFile, match=re.escape(f"{name} {said}")):
            PolicyFile.load(tmp_path / name)


def test_the_user_s_folder_is_read_and_the_working_directory_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    for folder in (home / ".config" / "failwell", here / "failwell", here / ".config" / "failwell"):
        folder.mkdir(parents=True)
        (folder / "policy.toml").write_text("attempts = 9")
    (here / "policy.toml").write_text("attempts = 9")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)

    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert PolicyFile.load().attempts == 9
    (home / ".config" / "failwell" / "policy.toml").unlink()
    for relative in ("", ".", "here", "failwell/.."):
        monkeypatch.setenv("XDG_CONFIG_HOME", relative)
        assert PolicyFile.load() == PolicyFile()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "here"))
    assert PolicyFile.load().attempts == 9


def test_an_address_takes_its_secrets_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    file = PolicyFile.parse('limits = "redis://:${LIMITS_PASSWORD}@localhost/0"')

    monkeypatch.setenv("LIMITS_PASSWORD", "a/b")
    assert file.limits_url == "redis://:a%2Fb@localhost/0"
    monkeypatch.delenv("LIMITS_PASSWORD")
    with pytest.raises(BadPolicyFile, match="needs the variable LIMITS_PASSWORD, which is not set"):
        _ = file.limits_url


def test_the_schema_accepts_what_is_read_and_refuses_what_is_not() -> None:
    schema = policy_schema()
    fine = [EXAMPLE, "", 'limits = "redis://localhost"', "response_size = 1000"]
    wrong = ["x = 1", "timeout = 0", "read_only = true", "[tools.x]\nreadonly = true", "dialect = 'x'", "attempts = 0"]

    assert [jsonschema_rs.is_valid(schema, tomllib.loads(text)) for text in fine] == [True] * len(fine)
    assert [jsonschema_rs.is_valid(schema, tomllib.loads(text)) for text in wrong] == [False] * len(wrong)
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.table
def test_every_key_is_in_the_table_and_on_the_page() -> None:
    page = (DOCS / "howto" / "policy_file.md").read_text(encoding="utf-8")

    assert {*PolicyFile.__struct_fields__, *ToolRules.__struct_fields__} == set(KEYS)
    for name, key in KEYS.items():
        assert f"| `{name}` | {key.must} | {key.description} |" in page
    assert len(re.findall(r"^\| `\w+` \|", page, re.MULTILINE)) == len(KEYS)


@pytest.mark.table
def test_the_dialects_of_a_file_are_those_that_there_are() -> None:
    [dialects] = [kind for kind in get_args(get_type_hints(ToolRules)["dialect"]) if get_args(kind)]

    assert set(get_args(dialects)) == set(DIALECTS)
