"""Reports of a check for CI and for people: `junit`, `sarif` and `html`, each with `write(report) -> str`."""
