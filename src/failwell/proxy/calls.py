"""`ProxiedCall` and `ListedTools`: what a proxy knows about a tool call, and about the tools that a server lists."""

from threading import Lock
from typing import Any

from msgspec import Struct

from failwell._json import is_array, is_object
from failwell.proxy.bounds import MAX_PINNED_TOOLS

PROTOCOL_KEY = "io.modelcontextprotocol/protocolVersion"
_CLIENT_KEY = "io.modelcontextprotocol/clientInfo"


class ProxiedCall(Struct, frozen=True, kw_only=True):
    """A `tools/call` request: its id, the tool, the arguments, and the token of its progress.

    `is_modern` says that results carry `resultType` (2026-07-28 on), `is_task` that the client asked for a task and
    waits for its handle. `is_unread` says that nothing but the id and the tool is known: the call was too long to be
    kept, or cannot be decoded here. `agent` is the client, as it names itself in the request (2026-07-28 on).
    """

    id: Any
    tool: str
    arguments: Any = None
    token: Any = None
    is_modern: bool = False
    is_task: bool = False
    is_unread: bool = False
    agent: str = ""

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
            is_modern=PROTOCOL_KEY in meta,
            is_task="task" in params,
            agent=agent_name(meta[_CLIENT_KEY]) if _CLIENT_KEY in meta else "",
        )


_LONGEST_AGENT = 100


def agent_name(info: Any) -> str:
    """Return a client's name and version as it describes itself, or an empty text."""
    if not is_object(info):
        return ""
    parts = (info.get("name"), info.get("version"))
    return " ".join(part[:_LONGEST_AGENT] for part in parts if isinstance(part, str) and part)


class ListedTool(Struct, frozen=True):
    """What `tools/list` says of a tool; of its annotations, those that were true each time the session saw them.

    `stated` has the names of all annotations that the tool has now, true or not.
    """

    input_schema: Any = None
    annotations: frozenset[str] = frozenset()
    has_output_schema: bool = False
    stated: frozenset[str] = frozenset()

    @property
    def promises(self) -> dict[str, bool]:
        """What the annotations say of the tool's effects: nothing, if there are none."""
        from failwell.advice import has_promises  # only now: it brings what a session without failures does not need

        is_annotated = has_promises(dict.fromkeys(self.stated, True))
        return {"readOnlyHint": False, **dict.fromkeys(self.annotations, True)} if is_annotated else {}


def _names_only(schema: Any) -> Any:
    """Return a schema with nothing but the names of the arguments."""
    known = schema.get("properties") if is_object(schema) else None
    if not is_object(known):
        return None
    names: dict[str, Any] = {name: {} for name in known}
    return {"properties": names, "additionalProperties": True}


_UNKNOWN = ListedTool()
_NONE: frozenset[str] = frozenset()


def _stated(annotations: Any) -> frozenset[str]:
    if not is_object(annotations):
        return _NONE
    return frozenset(key for key, value in annotations.items() if value is not None)


class ListedTools:
    """The tools that a server has listed, by name; shared between threads.

    Annotations are pinned for the whole session, even when the server says that its tools changed: a tool promises only
    what it promised each time it was listed. Until it lists them again, only the names of its arguments and whether it
    has an output schema are still used: an old schema proves nothing, and an old promise is none.
    """

    def __init__(self) -> None:
        self._known: dict[str, ListedTool] = {}
        self._old: dict[str, ListedTool] = {}
        self._pinned: dict[str, frozenset[str]] = {}
        self._candidates: tuple[dict[str, ListedTool], tuple[str, ...]] = ({}, ())
        self._lock = Lock()
        self.is_empty = True
        """Whether no tool is known, or only what was listed before the server said that its tools changed."""

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
                    _stated(tool.get("annotations")),
                )
                for tool in named
            }
            self._known = found if is_whole else {**self._known, **found}
            self._old = {}
            self.is_empty = not self._known

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

    def outdate(self) -> None:
        """Note that the server said that its tools changed: they are to be listed again."""
        with self._lock:
            old = {
                name: ListedTool(_names_only(tool.input_schema), _NONE, tool.has_output_schema)
                for name, tool in self._known.items()
            }
            self._old, self._known = {**self._old, **old}, {}
            self.is_empty = True

    def names(self) -> tuple[str, ...]:
        """Return the names of all tools that are known."""
        return tuple(self._known)

    def candidates(self) -> tuple[str, ...]:
        """Return the names of the tools that may help where something is missing.

        A tool that creates something and takes no argument that would say what does not create what is missing.
        """
        of, found = self._candidates
        if of is not self._known:  # another thread may have learnt other tools meanwhile
            from failwell.schema.tool_names import ToolName  # only now: most failures have no use for other tools

            of = self._known
            found = tuple(
                name
                for name, tool in of.items()
                if not (is_object(tool.input_schema) and tool.input_schema.get("properties") == {})
                or ToolName(name).kind != "create"
            )
            self._candidates = of, found
        return found

    def find(self, name: str) -> ListedTool | None:
        """Return what the server lists of a tool; None: it has not listed it."""
        return self._known.get(name)

    def get(self, name: str) -> ListedTool:
        """Return what is known of a tool: nothing, if the server has not listed it; little, if it may have changed."""
        return self._known.get(name) or self._old.get(name, _UNKNOWN)
