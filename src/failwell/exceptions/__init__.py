"""Turn exceptions and HTTP responses into failures, by rules that users can extend in one line."""
