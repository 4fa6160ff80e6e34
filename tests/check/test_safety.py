"""Tools that may change something are never run with valid arguments."""

import json
from pathlib import Path

import jsonschema_rs
import pytest

from failwell.check.probes.user_probes import UserProbe
from failwell.check.runner import CheckPlan
from tests.check.servers import PATIENT, checked, odd
from tests.data.check.odd_server_schema import SCHEMA

VALID = jsonschema_rs.validator_for(SCHEMA).is_valid


def executions(counts: Path) -> list[tuple[str, object]]:
    lines = counts.read_text().splitlines() if counts.exists() else []
    return [tuple(json.loads(line)) for line in lines]


@pytest.mark.parametrize("way", ["strict", "lenient", "careless"])
def test_a_writing_tool_is_never_run_with_valid_arguments(way: str, tmp_path: Path) -> None:
    checked(odd(way, str(tmp_path / "counts")))

    sent = [arguments for name, arguments in executions(tmp_path / "counts") if name == "send"]
    assert bool(sent) is (way == "careless")  # the others refuse what is sent, and run nothing
    assert not any(VALID(arguments) for arguments in sent)


@pytest.mark.parametrize("way", ["strict", "lenient"])
def test_a_writing_tool_that_checks_what_it_requires_is_not_run_at_all(way: str, tmp_path: Path) -> None:
    report = checked(odd(way, str(tmp_path / "counts")))

    assert [name for name, _ in executions(tmp_path / "counts") if name == "send"] == []
    assert any(probe.tool == "send" for probe in report.probes())


def test_a_writing_tool_that_checks_nothing_is_left_alone_after_the_first_call(tmp_path: Path) -> None:
    report = checked(odd("careless", str(tmp_path / "counts")))

    assert [arguments for name, arguments in executions(tmp_path / "counts") if name == "send"] == [{}]
    left = [one for one in report.not_probed if one.tool == "send" and "nothing more was sent" in one.reason]
    assert {one.probe for one in left} >= {"missing_field/to", "wrong_type/to"}


def test_what_is_not_sent_to_a_writing_tool_is_listed_with_its_reason() -> None:
    report = checked(odd("strict"))

    assert {(one.probe, one.reason) for one in report.not_probed} == {
        ("wrong_type/copies", "a server that ignores a wrong optional field would run the tool"),
        ("out_of_range/copies/maximum", "a server that ignores a wrong optional field would run the tool"),
        ("unknown_field/failwell_probe", "a server that ignores unknown fields would run the tool"),
    }


def test_a_tool_that_may_write_gets_every_probe() -> None:
    report = checked(odd("strict"), CheckPlan(allow_writes=frozenset(["send"]), limits=PATIENT))

    sent = {tool.name: [probe.id.partition("/")[2] for probe in tool.probes] for tool in report.tools}
    assert sent["send"] == sent["look"]
    assert report.not_probed == ()


def test_own_probes_with_valid_arguments_need_leave_to_write(tmp_path: Path) -> None:
    own = UserProbe(name="nobody there", tool="send", arguments={"to": "nobody"})
    checked(odd("strict", str(tmp_path / "refused")), CheckPlan(probes=(own,), limits=PATIENT))
    checked(
        odd("strict", str(tmp_path / "allowed")),
        CheckPlan(probes=(own,), allow_writes=frozenset(["send"]), limits=PATIENT),
    )

    assert executions(tmp_path / "refused") == []
    assert executions(tmp_path / "allowed") == [("send", {"to": "nobody"})]
