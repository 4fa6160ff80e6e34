"""`ProxiedCall` and `ListedTools`: what a proxy knows of a tool call, and of the tools that a server lists."""

from threading import Lock
from typing import Any

from msgspec import Struct

from failwell._json import is_array, is_object
from failwell.proxy.bounds import MAX_PINNED_TOOLS

_MODERN_KEY = "io.modelcontextprotocol/protocolVersion"


class ProxiedCall(Struct, frozen=True, kw_only=True):
    """A `tools/call` request: its id, the tool, the arguments, and the token of its progress.

    `is_modern` says that results carry `resultType` (2026-07-28 on), `is_task` that the client asked for a task and
    waits for its handle. `is_unread` says that nothing but the id and the tool is known: the call was too long to be
    kept, or cannot be decoded here.
    """

    id: Any
    tool: str
    arguments: Any = None
    token: Any = None
    is_modern: bool = False
    is_task: bool = False
    is_unread: bool = False

    @classmethod
    def of(cls, message: Any) -> "ProxiedCall | None":
        """Return the call in a JSON-RPC message, or None if it is anything else."""
        if not is_object(message) or message.get("method") != "tools/call":
            return None
        id, params = message.get("id"), message.get("params")
        if not isinstance(id, int | float | str) or not is_object(params) or not isinstance(params.get("name"), str):
            return None
        meta: Any = params.get("_meta")
        meta = meta if is_object(meta) else {}
        return cls(
            id=id,
            tool=params["name"],
            arguments=params.get("arguments"),
            token=meta.get("progressToken"),
            is_modern=_MODERN_KEY in meta,
            is_task="task" in params,
        )


class ListedTool(Struct, frozen=True):
    """What `tools/list` says of a tool; of its annotations, those that were true each time the session saw them."""

    input_schema: Any = None
    annotations: frozenset[str] = frozenset()
    has_output_schema: bool = False


_UNKNOWN = ListedTool()
_NONE: frozenset[str] = frozenset()


class ListedTools:
    """The tools that a server has listed, by name; shared between threads.

    Annotations are pinned for the whole session, even when the server says that its tools changed: a tool promises only
    what it promised each time it was listed.
    """

    def __init__(self) -> None:
        self._known: dict[str, ListedTool] = {}
        self._pinned: dict[str, frozenset[str]] = {}
        self._lock = Lock()

    def learn(self, result: Any, *, is_whole: bool) -> None:
        """Take in a `tools/list` result; a whole list replaces what was known, a page is added to it."""
        listed = result.get("tools") if is_object(result) else None
        if not is_array(listed):
            return
        named = [tool for tool in listed if is_object(tool) and isinstance(tool.get("name"), str)]
        with self._lock:
            found = {
                tool["name"]: ListedTool(
                    tool.get("inputSchema"),
                    self._pin(tool["name"], tool.get("annotations")),
                    is_object(tool.get("outputSchema")),
                )
                for tool in named
            }
            self._known = found if is_whole else {**self._known, **found}

    def _pin(self, name: str, annotations: Any) -> frozenset[str]:
        """Return which annotations of a tool have been true so far; of tools beyond the bound, none."""
        found = (
            frozenset(key for key, value in annotations.items() if value is True) if is_object(annotations) else _NONE
        )
        if name in self._pinned:
            found &= self._pinned[name]
        elif len(self._pinned) >= MAX_PINNED_TOOLS:
            return _NONE
        self._pinned[name] = found
        return found

    def forget(self) -> None:
        """Forget all tools: the server said that they changed, and an old schema may refuse what is right now."""
        with self._lock:
            self._known = {}

    def names(self) -> tuple[str, ...]:
        """Return the names of all tools that are known."""
        return tuple(self._known)

    def get(self, name: str) -> ListedTool:
        """Return what is known of a tool: nothing, if the server has not listed it."""
        return self._known.get(name, _UNKNOWN)
