"""`ToolPolicies`: what the operator wants for each tool of one server, by the options and the policy file together."""

from collections.abc import Mapping
from copy import copy
from typing import Any

from msgspec.structs import replace

from failwell.advice import Hints, Policy, matching
from failwell.policy_file import PolicyFile, ServerRules, ToolRules
from failwell.proxy.options import ProxyOptions

_MOST_TOOLS = 4096
_NEVER = 1


class ToolPolicies:
    """What is wanted for each tool: the policy file's word, else that of the options.

    Args:
        options: the options of the proxy.
        file: the policy file.
        server: what the file calls the server.
    """

    def __init__(self, options: ProxyOptions, file: PolicyFile, *, server: str) -> None:
        self._options = copy(options)  # as they were given
        self._file, self._server = file, server
        self._of_server = file.server(server)
        self._safe = frozenset(options.retry_safe)
        self._base = Policy(
            attempts=options.attempts if options.retry else _NEVER,
            deadline=options.retry_deadline,
            timeout=options.timeout,
        )
        self._rules: dict[str, ToolRules] = {}
        self._policies: dict[str, Policy] = {}

    def rules(self, tool: str) -> ToolRules:
        """Return what the file says of a tool."""
        if (found := self._rules.get(tool)) is None:
            found = self._file.tool(self._server, tool)
            if len(self._rules) < _MOST_TOOLS:
                self._rules[tool] = found
        return found

    def policy(self, tool: str) -> Policy:
        """Return how calls of a tool are made: again only where that is wanted."""
        if (found := self._policies.get(tool)) is None:
            found = self._file.policy(self._server, tool, base=self._base)
            if self.rules(tool).retry and found.attempts == _NEVER and self.rules(tool).attempts is None:
                found = replace(found, attempts=self._options.attempts)
            if len(self._policies) < _MOST_TOOLS:
                self._policies[tool] = found
        return found

    def hints(self, tool: str, annotations: Mapping[str, Any] | None) -> Hints:
        """Return whether a tool may run twice: by the file, `--retry-safe`, or its annotations (None: not listed)."""
        if self._of_server.trust_annotations is False:
            annotations = {}
        known = Hints() if annotations is None else annotations
        found = self.policy(tool).hints(tool, known)
        return Hints(read_only=found.read_only, idempotent=True) if tool in self._safe else found

    def dialect(self, tool: str) -> str:
        """Return how failures of a tool are written."""
        return self.rules(tool).dialect or self._options.dialect

    def flips(self, tool: str) -> bool:
        """Return whether error texts of a tool are errors, flagged or not."""
        said = self.rules(tool).flip
        flipped = self._options.flip_unflagged
        return (tool in flipped or "*" in flipped) if said is None else said

    def flips_by_name(self, tool: str) -> bool:
        """Return whether that was said of the tool by its whole name."""
        named = (section.tools.get(tool) for section in self._sections())
        return any(rules is not None and rules.flip is True for rules in named)

    def validates(self, tool: str) -> bool:
        """Return whether wrong arguments of a tool are refused."""
        said = self.rules(tool).validate
        return self._options.validate if said is None else said

    def timeout(self, tool: str) -> float | None:
        """Return how long a try may take."""
        said = self.rules(tool).timeout
        return self._options.timeout if said is None else said

    def deadline(self, tool: str) -> float | None:
        """Return how long a call may take with all its tries."""
        said = self.rules(tool).deadline
        return self._options.deadline if said is None else said

    def response_size(self, tool: str) -> int | None:
        """Return how many bytes a result may have."""
        return self.rules(tool).response_size

    def values(self, key: str) -> list[Any]:
        """Return all that the file says under a key, of the server or whatever tool."""
        sections = self._sections()
        rules = [*sections, *(rules for one in sections for rules in one.tools.values())]
        return [value for one in rules if (value := getattr(one, key)) is not None]

    def _sections(self) -> list[ServerRules]:
        return [self._file, *matching(self._file.servers, self._server)]
