# %% instant
def search() -> str:
    raise fw.Unavailable("The index is down.", retry_after=10)


with fw.testing.instant() as clock:
    try:
        fw.call(search, tool="search", hints=fw.Hints(read_only=True))
    except fw.Unavailable:
        assert clock() >= 20  # two retries, ten seconds apart, and no time spent

# %% EventLog
log = fw.testing.EventLog()
fw.call(lambda: "ok", tool="search", hook=log)

log.assert_kinds("success")
log.assert_not_retried()

# %% FakeClock
clock = fw.testing.FakeClock()
clock.sleep(30)

assert clock() == 30
