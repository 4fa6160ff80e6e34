"""Published error codes of vendors, one module per kind of service."""
