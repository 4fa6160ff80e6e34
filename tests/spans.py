"""Spans of a test, kept in memory: import the fixture into a test module, and look at `EXPORTER`."""

import logging
from collections.abc import Iterator
from functools import cache

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

EXPORTER = InMemorySpanExporter()


@cache
def _record() -> None:
    """Keep all spans of this process, once."""
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))


@pytest.fixture(autouse=True)
def recorded_spans(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Begin each test without spans."""
    _record()
    caplog.set_level(logging.CRITICAL, logger="failwell")
    EXPORTER.clear()
    yield
    EXPORTER.clear()
