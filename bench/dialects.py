"""Encoding and decoding beside `json.dumps` and `json.loads` of the same payload; redaction apart."""

import json
from collections.abc import Iterator

import failwell as fw
from bench.measure import Figure, compare
from bench.samples import SAMPLES
from failwell.dialects import DIALECTS


def run() -> Iterator[Figure]:
    """Measure each dialect on each sample."""
    for name, failure in SAMPLES.items():
        safe = fw.canonical(failure)
        for dialect, module in DIALECTS.items():
            wire = module.encode(safe)
            is_json = wire.text.startswith("{")
            # What is not JSON is measured beside the compact payload, which says the same.
            text = wire.text if is_json else DIALECTS["compact"].encode(safe).text
            payload = json.loads(text)
            text = json.dumps(payload)
            yield compare(
                "dialects",
                f"encode {dialect}, {name}",
                lambda module=module, safe=safe: module.encode(safe),
                "json.dumps",
                lambda payload=payload: json.dumps(payload),
            )
            yield compare(
                "dialects",
                f"decode {dialect}, {name}",
                lambda module=module, wire=wire: module.decode(wire),
                "json.loads",
                lambda text=text: json.loads(text),
            )
        yield compare(
            "redaction",
            f"canonical, {name}",
            lambda failure=failure: fw.canonical(failure),
            "json.dumps",
            lambda payload=payload: json.dumps(payload),
        )
        result = fw.encode(failure)
        line = json.dumps(result)
        yield compare(
            "reading",
            f"read a whole result, {name}",
            lambda result=result: fw.read(result),
            "json.loads of the line",
            lambda line=line: json.loads(line),
        )
