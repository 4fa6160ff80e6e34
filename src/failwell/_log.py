"""The logger that failwell writes to. `logging` is imported when the first line is logged."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logging import Logger


class _Log:
    _logger: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._logger is None:
            import logging  # only now: most programs get no line of ours, and it takes a tenth of the first failure

            self._logger = logging.getLogger("failwell")
        found = getattr(self._logger, name)
        if callable(found):
            setattr(self, name, found)  # the next line finds it at once
        return found


_log: Any = _Log()
log: "Logger" = _log
