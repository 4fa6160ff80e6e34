# %% Recorder
import tempfile

folder = tempfile.TemporaryDirectory()
address = f"sqlite:///{folder.name}/calls.db"

with fw.records.Recorder(address, server="shop") as recorder:

    @fw.guard(observers=[recorder])
    def find_order(id: int) -> str:
        raise fw.NotFound(f"There is no order {id}.")

    find_order(id=8)

# %% RecordStore, Record
with fw.records.RecordStore(address) as store:
    [record] = store.records(tool="find_order")

assert isinstance(record, fw.records.Record)
assert (record.kind, record.code) == ("failure", "NOT_FOUND")

# %% open_reader, RecordReader, RecordFilter
reader: fw.records.RecordReader = fw.records.open_reader(address)
found = reader.newest(10, fw.records.RecordFilter(equal={"code": "NOT_FOUND"}))

assert len(found) == 1

# %% failures, RecordedFailure
[failure] = fw.records.failures(found)

assert isinstance(failure, fw.records.RecordedFailure)
assert failure.tool == "find_order"

# %% recovery, Recovery
figures = fw.records.recovery(found)

assert isinstance(figures, fw.records.Recovery)
assert (figures.calls, figures.failed) == (1, 1)

# %% open_sink, Sink
sink: fw.records.Sink = fw.records.open_sink(f"jsonl:{folder.name}/calls.jsonl")
sink.close()

# %% Retention
assert not fw.records.Retention()  # keeps everything
assert fw.records.Retention(age=7 * 86_400)

# %% Meter, Usage
meter = fw.records.Meter()
fw.call(lambda: "ok", tool="search", hook=meter)

assert isinstance(meter.snapshot()["search"], fw.records.Usage)
assert meter.snapshot()["search"].calls == 1

# %% failure_fields
assert fw.records.failure_fields(fw.error("No such order.", "NOT_FOUND"))["code"] == "NOT_FOUND"

# %% Unreadable, NoStore, WrongVersion
try:
    fw.records.open_reader(f"sqlite:///{folder.name}/nothing.db").newest(1)
except (fw.records.NoStore, fw.records.WrongVersion, fw.records.Unreadable) as exc:
    assert "\n" not in str(exc)
