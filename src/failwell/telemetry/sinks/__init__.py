"""Where records go: `open_sink` finds it by its address."""

from failwell.telemetry.sinks.sink import Sink, open_sink

__all__ = ["Sink", "open_sink"]
