# %% get, Row
row = fw.codes.get("RATE_LIMITED")

assert isinstance(row, fw.codes.Row)
assert (row.type, row.http_status) == ("TRANSIENT", 429)
assert fw.codes.get("NO_SUCH_CODE") is None

# %% explain
try:
    fw.codes.explain("RATE_LIMITTED")
except LookupError as exc:
    assert "RATE_LIMITED" in str(exc)

# %% rows
assert len(list(fw.codes.rows())) > 80

# %% TYPES, TypeRow
transient = fw.codes.TYPES["TRANSIENT"]

assert isinstance(transient, fw.codes.TypeRow)
assert transient.retryable is True

# %% is_code
assert fw.codes.is_code("OUT_OF_PAPER")
assert not fw.codes.is_code("out of paper")

# %% add
fw.codes.add("PAPER_JAM", type="CONFLICT", title="The printer has a paper jam")

assert fw.Failure(code="PAPER_JAM", message="Jam in tray 2.").type == "CONFLICT"
