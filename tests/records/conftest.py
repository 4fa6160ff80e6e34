"""One PostgreSQL for all tests of records: starting one takes longer than most of them."""

from tests.exceptions.servers import postgres

__all__ = ["postgres"]
