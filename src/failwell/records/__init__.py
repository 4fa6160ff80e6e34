"""What became of tool calls: records, the stores that keep them, and whether agents recovered."""

from failwell._lazy import TYPE_CHECKING
from failwell._lazy import exports as _exports

if TYPE_CHECKING:
    from failwell.event import Observation
    from failwell.records._meter import Meter, Usage
    from failwell.records._reader import RecordReader, Unreadable, open_reader
    from failwell.records._record import Record, described
    from failwell.records._recorder import Recorder
    from failwell.records._recovery import Recovery, Trouble, recovery, troubles
    from failwell.records._retention import Retention
    from failwell.records._sink import Sink, open_sink
    from failwell.records._store import RecordStore

__all__ = [
    "Meter",
    "Observation",
    "Record",
    "RecordReader",
    "RecordStore",
    "Recorder",
    "Recovery",
    "Retention",
    "Sink",
    "Trouble",
    "Unreadable",
    "Usage",
    "described",
    "open_reader",
    "open_sink",
    "recovery",
    "troubles",
]

__getattr__, __dir__ = _exports(
    __name__,
    {
        "failwell.event": "Observation",
        "_meter": "Meter Usage",
        "_reader": "RecordReader Unreadable open_reader",
        "_record": "Record described",
        "_recorder": "Recorder",
        "_recovery": "Recovery Trouble recovery troubles",
        "_retention": "Retention",
        "_sink": "Sink open_sink",
        "_store": "RecordStore",
    },
)
