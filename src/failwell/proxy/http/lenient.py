"""`read`: a message as lenient clients read it. What only the strict reader refuses is no failure of a call."""

import json
from typing import Any

from failwell.proxy.watching import decoded


def read(data: bytes) -> Any:
    """Return a message, or None if it is not JSON: half a surrogate pair, NaN or a wrong byte in it do no harm.

    Raises:
        RecursionError: it is too deep to be read here, which says nothing of the client.
    """
    message = decoded(data)
    if message is not None:
        return message
    try:
        return json.loads(data.decode("utf-8-sig", "replace"), strict=False)
    except ValueError:
        return None
