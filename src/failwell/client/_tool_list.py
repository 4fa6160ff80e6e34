"""What a server says of its tools: `tools/list` is fetched once, and only after a call failed."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

from msgspec import Struct

from failwell._json import is_object
from failwell._log import log

_MOST_PAGES = 100
_MOST_TRIES = 3
_SCHEMA_NAMES = ("inputSchema", "input_schema", "parameters")


class ToolDescription(Struct, frozen=True):
    """A tool's annotations and input schema, as far as they are known."""

    annotations: dict[str, Any] | None = None
    input_schema: dict[str, Any] | None = None

    @classmethod
    def of(cls, tool: Any) -> "ToolDescription":
        """Return what a tool of any SDK says of itself: an object or a wire-shaped dict."""
        if tool is None or isinstance(tool, ToolDescription):
            return tool or cls()
        said = _plain(tool)
        schema = next((said[name] for name in _SCHEMA_NAMES if is_object(said.get(name))), None)
        return cls(_plain(said.get("annotations")) or None, schema)


Describe = Callable[[], Awaitable[Any]]


class ToolPage(NamedTuple):
    """One page of `tools/list`."""

    tools: list[Any]
    next_cursor: str | None


class ToolListCache:
    """The tools of one session, by name. The list is fetched when the first call failed, with all its pages, and kept.

    A list that cannot be fetched gives no hints and raises nothing; after three tries it is not fetched again.
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
        self._tries = 0

    async def of(self, tool: str) -> ToolDescription:
        """Return what is known of a tool; nothing is known of one that is not listed."""
        if self._tools is None and self._tries < _MOST_TRIES:
            if self._lock is None:
                self._lock = asyncio.Lock()
            async with self._lock:
                if self._tools is None and self._tries < _MOST_TRIES:
                    await self._fetch()
        return (self._tools or {}).get(tool) or ToolDescription()

    def forget(self) -> None:
        """Fetch the list again when it is needed next: the server said that it changed."""
        self._tools = None
        self._tries = 0

    async def _fetch(self) -> None:
        self._tries += 1
        tools: dict[str, ToolDescription] = {}
        cursor: str | None = None
        try:
            for _ in range(_MOST_PAGES):
                found, cursor = await self._page(cursor)
                tools |= {name: ToolDescription.of(tool) for tool in found if (name := _name(tool))}
                if not cursor:
                    break
        except Exception as exc:
            log.info("the tools of a server could not be listed, so nothing is known of them: %s", type(exc).__name__)
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
