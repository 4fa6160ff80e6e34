"""Many agents against a server that fails, throttles and recovers, in simulated time: `python -m bench.simulation`."""
