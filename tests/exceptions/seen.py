"""What an exception became, in one line."""

import msgspec

from failwell import Failure, from_exception

PLANTED = "planted"
"""In every secret, parameter and text of a server that the tests send around; in no failure."""


def mapped(exc: BaseException) -> Failure:
    """Return the failure of an exception, after a look for what must not be in it."""
    failure = from_exception(exc)
    assert PLANTED not in msgspec.json.encode(failure).decode()
    assert failure.origin == "mapped"
    return failure


def seen(exc: BaseException) -> str:
    """Return type, code and outcome of the failure of an exception."""
    failure = mapped(exc)
    return f"{failure.type} {failure.code} {failure.outcome}"
