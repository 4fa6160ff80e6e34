"""Failures that the proxy itself detects: a server that disappears, an answer that is invalid or unreadable."""

from failwell.failure import Failure, in_seconds
from failwell.proxy.bounds import MAX_ANSWER

CONNECTION_LOST = Failure(
    code="CONNECTION_LOST",
    message="The server disconnected before it answered.",
    origin="mapped",
)
PROXY_ENDED = CONNECTION_LOST.replace(message="The proxy was stopped before the server answered.")
CALL_CANCELLED = Failure(
    type="INTERNAL",
    message="The call was cancelled before the server got it.",
    retryable=False,
    outcome="not_executed",
    origin="mapped",
)
NO_ANSWER = Failure(
    code="BAD_UPSTREAM_RESPONSE",
    message="The server sent something that is not an answer to the call.",
    origin="mapped",
)


def timed_out(seconds: float) -> Failure:
    """Return the failure of a call that the server did not answer in time."""
    return Failure(
        code="TIMEOUT",
        message=f"The server did not answer within {in_seconds(seconds)}, and the call was cancelled.",
        origin="mapped",
    )


ANSWER_TOO_LONG = NO_ANSWER.replace(message=f"The server's answer is longer than {MAX_ANSWER >> 20} MiB.")
UNREADABLE_ANSWER = NO_ANSWER.replace(message="The server's answer is too long or too deeply nested to read.")
PROXY_FULL = Failure(
    code="SERVER_BUSY",
    message="The proxy is holding too many long answers to accept another.",
    outcome="unknown",
    origin="mapped",
)
BOUND_FAILURES = (ANSWER_TOO_LONG, UNREADABLE_ANSWER, PROXY_FULL)
"""What goes beyond a bound of the proxy: the client who asked for it gets one of these."""
