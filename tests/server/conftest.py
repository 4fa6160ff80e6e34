"""Real stores for the claims of idempotency keys."""

from tests.exceptions.servers import postgres, redis_server

__all__ = ["postgres", "redis_server"]
