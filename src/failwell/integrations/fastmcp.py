"""Servers and clients of fastmcp: protection as a middleware, and the error that failed calls raise.

Needs fastmcp: `pip install 'failwell[fastmcp]'`. `fw.protect`, `fw.wrap` and `fw.install` need no name from here.
"""

from failwell.sdk.fastmcp_client import FailedCall
from failwell.sdk.fastmcp_server import FailwellMiddleware

__all__ = ["FailedCall", "FailwellMiddleware"]
