# %% DIALECTS, get, Dialect
assert sorted(fw.dialects.DIALECTS) == ["compact", "envelope", "flat", "meta", "xml"]

xml: fw.dialects.Dialect = fw.dialects.get("xml")
assert xml.name == "xml"

# %% canonical, RedactedFailure
failure = fw.Failure(code="CONFIG_ERROR", message="Bad URL: postgres://app:hunter2@db/orders")
redacted: fw.dialects.RedactedFailure = fw.dialects.canonical(failure)

assert "hunter2" not in redacted.message

# %% Wire
wire = fw.dialects.get("compact").encode(fw.dialects.canonical(fw.error("No such order.", "NOT_FOUND")))

assert isinstance(wire, fw.dialects.Wire)
assert fw.dialects.get("compact").decode(wire).code == "NOT_FOUND"
