"""`pass_on`: an answer as it came, with no more of it in memory than the client has not taken yet."""

from aiohttp import ClientResponse

from failwell.proxy.http.headers import to_client
from failwell.proxy.http.replying import Reply

_SMALL = 1 << 16


async def pass_on(response: ClientResponse, reply: Reply) -> None:
    """Write an answer to the client as it comes."""
    length, headers = response.content_length, to_client(response.headers.items())
    if response.method == "HEAD":
        headers.extend({} if length is None else {"Content-Length": str(length)})
        await reply.begin(response.status, headers)
        return
    if length is not None and length <= _SMALL:
        await reply.whole(response.status, headers, await response.read())
        return
    if length is not None and "Content-Encoding" not in response.headers:
        headers["Content-Length"] = str(length)
    await reply.begin(response.status, headers)
    async for chunk in response.content.iter_any():
        await reply.write(chunk)
