"""Which libraries an exception passed through on its way."""

from collections.abc import Set as AbstractSet

from failwell.mapping.rules import peek

_MOST_FRAMES = 200


def passed_through(exc: BaseException, packages: AbstractSet[str]) -> bool:
    """Return whether a frame of one of these top-level packages stands in the exception's traceback."""
    traceback = peek(exc, "__traceback__")
    for _ in range(_MOST_FRAMES):
        if traceback is None:
            return False
        module = traceback.tb_frame.f_globals.get("__name__")
        if isinstance(module, str) and module.partition(".")[0] in packages:
            return True
        traceback = traceback.tb_next
    return False
