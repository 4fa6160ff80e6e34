"""Records of tool calls, the stores that keep them, and whether agents recovered from failures."""

from failwell._lazy import TYPE_CHECKING
from failwell._lazy import exports as _exports

if TYPE_CHECKING:
    from failwell.event import Event
    from failwell.records._meter import Meter, Usage
    from failwell.records._reader import RecordFilter, RecordReader, Unreadable, open_reader
    from failwell.records._record import Record, failure_fields
    from failwell.records._recorder import Recorder
    from failwell.records._recovery import RecordedFailure, Recovery, failures, recovery
    from failwell.records._retention import Retention
    from failwell.records._sink import Sink, open_sink
    from failwell.records._store import RecordStore
    from failwell.records._tables import NoStore, WrongVersion

__all__ = [
    "Event",
    "Meter",
    "NoStore",
    "Record",
    "RecordFilter",
    "RecordReader",
    "RecordStore",
    "RecordedFailure",
    "Recorder",
    "Recovery",
    "Retention",
    "Sink",
    "Unreadable",
    "Usage",
    "WrongVersion",
    "failure_fields",
    "failures",
    "open_reader",
    "open_sink",
    "recovery",
]

__getattr__, __dir__ = _exports(
    __name__,
    {
        "failwell.event": "Event",
        "_meter": "Meter Usage",
        "_reader": "RecordFilter RecordReader Unreadable open_reader",
        "_record": "Record failure_fields",
        "_recorder": "Recorder",
        "_recovery": "RecordedFailure Recovery failures recovery",
        "_retention": "Retention",
        "_sink": "Sink open_sink",
        "_store": "RecordStore",
        "_tables": "NoStore WrongVersion",
    },
)
