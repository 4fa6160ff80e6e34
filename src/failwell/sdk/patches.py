"""Attributes put in place of others, and put back exactly as they were."""

from typing import Any

_ABSENT = object()


class Patches:
    """Replaces attributes of classes or objects; `undo` restores each, unless somebody replaced it once more."""

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any]] = []

    def put(self, owner: Any, name: str, new: Any) -> None:
        """Replace an attribute; remember what the owner itself had there, or that it only inherited it."""
        self._done.append((owner, name, owner.__dict__.get(name, _ABSENT), new))
        setattr(owner, name, new)

    def undo(self) -> list[str]:
        """Put everything back; return the names of what others have replaced since, which stays as it is."""
        kept: list[str] = []
        while self._done:
            owner, name, before, new = self._done.pop()
            if owner.__dict__.get(name) is not new:
                kept.append(name)
            elif before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        return kept
