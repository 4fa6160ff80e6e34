# %% Caller, CallResult
async def search(arguments: dict[str, object]) -> str:
    raise fw.NotFound("There is no order 8.", actions=["list_orders"])


result = asyncio.run(fw.client.Caller(fw.Policy(attempts=2)).run(search, tool="search", arguments={"id": 8}))

assert isinstance(result, fw.client.CallResult)
assert (result.failure.code, result.attempts) == ("NOT_FOUND", 1)
assert "list_orders" in result.text

# %% Installation
installation = fw.install()

assert isinstance(installation, fw.client.Installation)
fw.uninstall()

# %% ToolDescription
described = fw.client.ToolDescription.of({"name": "search", "annotations": {"readOnlyHint": True}})

assert described.annotations == {"readOnlyHint": True}

# %% ToolListCache, ToolPage, ToolLookup
from functools import partial

from failwell.client import ToolListCache, ToolLookup, ToolPage


async def list_page(cursor: str | None) -> ToolPage:
    return ToolPage([{"name": "search", "annotations": {"readOnlyHint": True}}], next_cursor=None)


tools = ToolListCache(list_page)
lookup = ToolLookup(partial(tools.of, "search"), partial(tools.known, "search"))

assert lookup.known() is None
assert asyncio.run(lookup()).annotations == {"readOnlyHint": True}

# %% approved
with fw.client.approved():  # a person has seen these arguments: they are sent as they are
    result = asyncio.run(fw.client.Caller().run(search, tool="search", arguments={"id": 8}))

assert result.repaired is None
