# %% Metrics
metrics = Metrics(server="shop")


@fw.guard(tool="pay", observers=[metrics])
def pay(amount: int) -> str:
    return "paid"


pay(5)
labels = {"source": "server", "server": "shop", "tool": "pay", "result": "success"}
assert metrics.registry.get_sample_value("failwell_calls_total", labels) == 1.0

# %% MetricsServer
from urllib.request import urlopen

server = MetricsServer(("127.0.0.1", 0), Metrics().registry)
with urlopen(f"http://127.0.0.1:{server.port}/healthz") as response:
    assert response.read() == b"ok\n"
server.close()
