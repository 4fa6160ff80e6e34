"""Encoding and decoding beside `json.dumps` and `json.loads` of the same payload; redaction apart."""

import json
from collections.abc import Iterator

import msgspec

import failwell as fw
from bench.measure import Figure, compare
from bench.samples import SAMPLES
from failwell.dialects import DIALECTS


def run() -> Iterator[Figure]:
    """Measure each dialect on each sample."""
    for name, failure in SAMPLES.items():
        for dialect in DIALECTS:
            yield from _coded(dialect, name, fw.dialects.canonical(failure))
        yield from _whole(name, failure)


def _coded(dialect: str, name: str, safe: fw.Failure) -> Iterator[Figure]:
    module = DIALECTS[dialect]
    wire = module.encode(safe)
    # What is not JSON is measured beside the compact payload, which says the same.
    payload = json.loads(wire.text if wire.text.startswith("{") else DIALECTS["compact"].encode(safe).text)
    text = json.dumps(payload)
    what = f"{dialect}, {name}"
    yield compare("dialects", f"encode {what}", lambda: module.encode(safe), "json.dumps", lambda: json.dumps(payload))
    # The least that ends in the same value: all of its fields under their own names, by the fastest decoder there is.
    fields, decoder = msgspec.json.encode(safe), msgspec.json.Decoder(fw.Failure)
    yield compare(
        "dialects",
        f"decode {what}",
        lambda: module.decode(wire),
        "json.loads",
        lambda: json.loads(text),
        floor=lambda: decoder.decode(fields),
    )


def _whole(name: str, failure: fw.Failure) -> Iterator[Figure]:
    payload = json.loads(DIALECTS["compact"].encode(fw.dialects.canonical(failure)).text)
    yield compare(
        "redaction",
        f"canonical, {name}",
        lambda: fw.dialects.canonical(failure),
        "json.dumps",
        lambda: json.dumps(payload),
    )
    result = fw.encode(failure)
    line = json.dumps(result)
    whole = result["_meta"]["dev.failwell/failure"]
    yield compare(
        "reading",
        f"read a whole result, {name}",
        lambda: fw.read(result),
        "json.loads of the line",
        lambda: json.loads(line),
        floor=lambda: msgspec.convert(whole, fw.Failure),
    )
