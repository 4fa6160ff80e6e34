"""The contract of a server as test cases: each tool rejects wrong calls well and fails with each declared code."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from failwell._json import is_array, is_object
from failwell.check.agent import repair_call
from failwell.check.evidence import read_evidence
from failwell.check.grades import grade_call
from failwell.check.probes.probe import CheckedTool, Probe
from failwell.check.probes.table import make_probes
from failwell.check.probes.user_probes import UserProbe
from failwell.check.runner import CheckPlan, checked_tools
from failwell.pytest_plugin.assertions import assert_fails_well, explain_broken, first_broken
from failwell.pytest_plugin.connection import ServerConnection
from failwell.server._contract import META_KEY

Provocation = Mapping[str, Any] | Callable[[], Mapping[str, Any]]
"""Arguments that make a tool fail, or a function that prepares the failure and returns them."""

_UNGUARDED = "may change something, and an earlier wrong call was not refused, so no more calls are sent to it"


class Case(Struct, frozen=True, kw_only=True):
    """One thing that the contract of a server says: a wrong call that is refused, or a code that is declared."""

    id: str
    tool: str
    probe: Probe | None = None
    checked_tool: CheckedTool | None = None
    code: str | None = None
    user_probes: tuple[UserProbe, ...] = ()


class BoundCase:
    """A case with the server to try it on, and the ways to provoke what tools declare."""

    def __init__(
        self,
        case: Case,
        connection: ServerConnection,
        provocations: Mapping[tuple[str, str], Provocation],
        *,
        unguarded: set[str],
        skip: Callable[[str], object],
    ) -> None:
        self.case = case
        self._connection = connection
        self._provocations = provocations
        self._unguarded = unguarded
        self._skip = skip

    def __repr__(self) -> str:
        return f"<{self.case.id}>"

    def check(self) -> None:
        """Make the call and see whether it fails as the contract says; skip it if it could change something.

        Raises:
            AssertionError: it does not; the text names the one expectation that is broken.
        """
        __tracebackhide__ = True
        if self.case.probe is not None and self.case.checked_tool is not None:
            self._refuses(self.case.probe, self.case.checked_tool)
        else:
            self._fails_as_declared(self.case.tool, str(self.case.code))

    def _refuses(self, probe: Probe, tool: CheckedTool) -> None:
        __tracebackhide__ = True
        if probe.tool in self._unguarded:
            self._skip(f"{probe.tool} {_UNGUARDED}")
            return
        answer = self._connection.answer(probe.tool, probe.arguments)
        evidence = read_evidence(probe, answer, fields=tool.field_names)
        evidence = replace(evidence, repaired=repair_call(evidence, tool))
        failure = evidence.failure
        if tool.careful and not (evidence.ending == "refused" and failure and failure.type == "VALIDATION"):
            self._unguarded.add(probe.tool)
        broken = first_broken(grade_call(evidence))
        if broken is not None:
            call = f"{probe.tool}({_arguments_text(probe.arguments)}), {probe.violates}: "
            raise AssertionError(explain_broken(broken, evidence, call=call))

    def _fails_as_declared(self, tool: str, code: str) -> None:
        __tracebackhide__ = True
        ways: list[Provocation] = [probe.arguments for probe in self.case.user_probes]
        if (tool, code) in self._provocations:
            ways.append(self._provocations[tool, code])
        if not ways:
            raise AssertionError(
                f"{tool} declares {code}, and nothing provokes it\n"
                f'  fix: give arguments in the fixture failwell_provocations: {{("{tool}", "{code}"): {{…}}}}'
            )
        for way in ways:
            arguments = dict(way() if callable(way) else way)
            assert_fails_well(self._connection.call(tool, arguments), code=code)


def cases_of(tools: Sequence[dict[str, Any]], plan: CheckPlan) -> list[Case]:
    """Return what the contract of a server says, tool by tool.

    Raises:
        BadServer: a tool's schema is invalid.
    """
    checked = checked_tools(tools, plan)
    return [case for tool in tools for case in _cases(tool, checked[tool["name"]], plan)]


def declared_codes(tool: dict[str, Any]) -> list[str]:
    """Return the codes that a tool declares in `tools/list`."""
    meta = tool.get("_meta")
    rows = meta.get(META_KEY) if is_object(meta) else None
    found = [row.get("code") for row in rows if is_object(row)] if is_array(rows) else []
    return [code for code in found if isinstance(code, str)]


def _cases(tool: dict[str, Any], checked: CheckedTool, plan: CheckPlan) -> Iterator[Case]:
    name = checked.name
    for probe in make_probes(checked)[0]:
        yield Case(id=probe.id, tool=name, probe=probe, checked_tool=checked)
    for code in declared_codes(tool):
        user_probes = tuple(probe for probe in plan.probes if probe.tool == name and probe.expect.code == code)
        yield Case(id=f"{name}/declares/{code}", tool=name, code=code, user_probes=user_probes)


def _arguments_text(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())
