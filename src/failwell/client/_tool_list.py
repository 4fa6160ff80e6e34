"""What a server says about its tools: `tools/list`, fetched once, after a call failed; `Pins`: what may be trusted."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from failwell._json import is_object
from failwell._log import log
from failwell.advice import NO_HINTS, Hints
from failwell.retry._call_key import VERIFIED_BY, declared_retention

_MOST_PAGES = 100
_MOST_TRIES = 3
_MOST_PINS = 10_000
_SCHEMA_NAMES = ("inputSchema", "input_schema", "parameters")


class ToolDescription(Struct, frozen=True):
    """A tool's annotations and input schema, as far as they are known.

    `is_pinned`: the annotations promise no more than they did at first. `has_new_schema`: the schema has changed.
    `retention`: for how many seconds the tool remembers idempotency keys, if it takes any. `verified_by` names the
    tool that tells whether this one took effect.
    """

    annotations: dict[str, Any] | None = None
    input_schema: dict[str, Any] | None = None
    is_pinned: bool = False
    has_new_schema: bool = False
    retention: float | None = None
    verified_by: "VerifyingTool | None" = None

    @property
    def is_known(self) -> bool:
        """Whether the tool was described at all; else it is unknown what it promises."""
        return self.annotations is not None or self.input_schema is not None

    @classmethod
    def of(cls, tool: Any) -> "ToolDescription":
        """Return the description of a tool of any SDK: an object or a wire-shaped dict."""
        if tool is None or isinstance(tool, ToolDescription):
            return tool or cls()
        said = _plain(tool)
        schema = next((said[name] for name in _SCHEMA_NAMES if is_object(said.get(name))), None)
        meta = said.get("_meta", said.get("meta"))
        return cls(
            _plain(said.get("annotations")) or None,
            schema,
            retention=declared_retention(meta),
            verified_by=VerifyingTool.of(meta),
        )


class VerifyingTool(Struct, frozen=True):
    """The tool that tells whether an effect happened; `arguments` maps its arguments to those of the call."""

    tool: str
    arguments: dict[str, str] = {}

    @classmethod
    def of(cls, meta: Any) -> "VerifyingTool | None":
        """Return the one that a tool's `_meta` names."""
        try:
            return msgspec.convert(meta.get(VERIFIED_BY), cls) if is_object(meta) and VERIFIED_BY in meta else None
        except msgspec.ValidationError:
            return None

    def arguments_for(self, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Return what to ask it after a call with these arguments; None if the call lacks one."""
        if not all(name in arguments for name in self.arguments.values()):
            return None
        return {name: arguments[source] for name, source in self.arguments.items()}


class _Pin(NamedTuple):
    hints: Hints
    schema: int
    has_new_schema: bool = False
    retention: float | None = None
    verified_by: VerifyingTool | None = None


class Pins:
    """What was said of tools first. What is said later may take the right to repeat a call away, and gives none."""

    def __init__(self) -> None:
        self._pins: dict[Hashable, _Pin] = {}

    def pin(self, key: Hashable, said: ToolDescription) -> ToolDescription:
        """Return what counts of a tool's description now; beyond 10,000 tools no promise counts."""
        hints, schema = Hints.of(said.annotations), _fingerprint(said.input_schema)
        first = self._pins.get(key)
        if first is None:
            first = _Pin(hints, schema, retention=said.retention, verified_by=said.verified_by)
            if len(self._pins) >= _MOST_PINS:
                first = _Pin(NO_HINTS, 0)
        now = _Pin(
            narrowed(first.hints, hints),
            first.schema,
            first.has_new_schema or first.schema != schema,
            min(first.retention, said.retention) if first.retention and said.retention else None,
            first.verified_by if first.verified_by == said.verified_by else None,
        )
        if key in self._pins or len(self._pins) < _MOST_PINS:
            self._pins[key] = now
        annotations = said.annotations
        if annotations is not None and hints != now.hints:
            kept = {name: value for name, value in annotations.items() if name not in ("read_only", "idempotent")}
            annotations = {**kept, "readOnlyHint": now.hints.read_only, "idempotentHint": now.hints.idempotent}
        return ToolDescription(
            annotations,
            said.input_schema,
            is_pinned=True,
            has_new_schema=now.has_new_schema,
            retention=now.retention,
            verified_by=now.verified_by,
        )


def narrowed(first: Hints, now: Hints) -> Hints:
    """Return what both promise."""
    if first == now:
        return first
    return Hints(read_only=first.read_only and now.read_only, idempotent=first.idempotent and now.idempotent)


def untrusted(said: ToolDescription) -> ToolDescription:
    """Return what is left of the description of a server that is not trusted: its schema, and what it warns of."""
    warns = said.annotations is not None and said.annotations.get("readOnlyHint") is False
    return replace(said, annotations={"readOnlyHint": False} if warns else None, retention=None, verified_by=None)


def _fingerprint(schema: dict[str, Any] | None) -> int:
    try:
        return hash(msgspec.json.encode(schema, order="deterministic"))
    except Exception:  # it holds what JSON does not know
        return hash(repr(schema))


Describe = Callable[[], Awaitable[Any]]


class ToolLookup(NamedTuple):
    """Looks up what a server says about a tool: calling it may ask the server, `known` never does."""

    fetch: Describe
    known: Callable[[], ToolDescription | None]

    def __call__(self) -> Awaitable[Any]:
        """Return what the server says."""
        return self.fetch()


class ToolPage(NamedTuple):
    """One page of `tools/list`."""

    tools: list[Any]
    next_cursor: str | None


class ToolListCache:
    """The tools of one session, by name.

    The list is fetched after the first failed call, with all its pages, and kept. If it can't be fetched, the list that
    the application got counts. Nothing is raised, and there are at most three tries.
    """

    def __init__(
        self,
        page: Callable[[str | None], Awaitable[ToolPage]],
        *,
        lock: AbstractAsyncContextManager[Any] | None = None,
    ) -> None:
        self._page = page
        self._lock = lock
        self._tools: dict[str, ToolDescription] | None = None
        self._noted: dict[str, ToolDescription] = {}
        self._tries = 0
        self._pins = Pins()

    def note(self, tools: Iterable[Any]) -> None:
        """Note what the server told the application about some tools."""
        for tool in tools:
            if name := _name(tool):
                described = self._noted[name] = self._pins.pin(name, ToolDescription.of(tool))
                if self._tools is not None:
                    self._tools[name] = described

    async def of(self, tool: str) -> ToolDescription:
        """Return what is known about a tool; an unlisted one is unknown."""
        if self._tools is None and self._tries < _MOST_TRIES:
            if self._lock is None:
                self._lock = asyncio.Lock()
            async with self._lock:
                if self._tools is None and self._tries < _MOST_TRIES:
                    await self._fetch()
        return (self._noted if self._tools is None else self._tools).get(tool) or ToolDescription()

    def known(self, tool: str) -> ToolDescription | None:
        """Return what is known about a tool without asking the server."""
        return None if self._tools is None else self._tools.get(tool)

    def forget(self) -> None:
        """Fetch the list again when it is needed next: the server said that it changed."""
        self._tools = None
        self._noted.clear()
        self._tries = 0

    async def _fetch(self) -> None:
        self._tries += 1
        tools: dict[str, ToolDescription] = {}
        cursor: str | None = None
        try:
            for _ in range(_MOST_PAGES):
                found, cursor = await self._page(cursor)
                tools |= {
                    name: self._pins.pin(name, ToolDescription.of(tool)) for tool in found if (name := _name(tool))
                }
                if not cursor:
                    break
        except Exception as exc:
            known = "only what the application listed" if self._noted else "nothing"
            log.info(
                "the tools of a server could not be listed, so %s is known about them: %s", known, type(exc).__name__
            )
            return
        self._tools = tools


def _name(tool: Any) -> str | None:
    name = tool.get("name") if is_object(tool) else getattr(tool, "name", None)
    return name if isinstance(name, str) else None


def _plain(model: Any) -> dict[str, Any]:
    if is_object(model):
        return model
    if hasattr(model, "model_dump"):
        found: Any = model.model_dump(mode="json", by_alias=True, exclude_none=True)
        return found if is_object(found) else {}
    found = getattr(model, "__dict__", None)
    return dict(found) if is_object(found) else {}
