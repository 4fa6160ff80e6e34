# %% Failure
failure = fw.Failure(code="RATE_LIMITED", message="Only 10 searches a minute.", retry_after=30)

assert (failure.type, failure.retryable, failure.outcome) == ("TRANSIENT", True, "not_executed")
assert failure.replace(retry_after=60).retry_after == 60

# %% FieldProblem
problem = fw.FieldProblem(path="hours", message="must be positive", sent="-1")

assert fw.Failure(code="INVALID_ARGUMENT", message="Wrong hours.", fields=(problem,)).fields[0].path == "hours"

# %% ToolFailure
try:
    raise fw.ToolFailure("The printer is out of paper.", code="OUT_OF_PAPER", suggestion="Ask a person to refill it.")
except fw.ToolFailure as exc:
    assert exc.failure.code == "OUT_OF_PAPER"

# %% EXCEPTIONS

# %% error
assert fw.error("The printer is on fire.").type == "INTERNAL"

# %% required
assert fw.required("query").code == "MISSING_REQUIRED_FIELD"

# %% tool_error
conflict = fw.tool_error(
    "CONFLICT", message="Order 7 is closed.", suggestion="Reopen it first.", actions=["reopen_order"]
)

assert conflict.actions == ("reopen_order",)

# %% Validation
wrong = fw.Validation(tool="book_room")
wrong.add("hours", -1, "must be positive")
wrong.add("room", None, "is required", required=True)

try:
    wrong.raise_if_any()
except fw.Invalid as exc:
    assert [problem.path for problem in exc.failure.fields] == ["hours", "room"]


# %% Result, Ok, Err, succeed, fail
def find(order: int) -> fw.Result[str]:
    return fw.succeed("shipped") if order == 7 else fw.fail(fw.error("No such order.", "NOT_FOUND"))


assert find(7) == fw.Ok("shipped")
assert isinstance(find(8), fw.Err)
assert find(8).failure.type == "NOT_FOUND"

# %% success
assert fw.success({"id": 7})["isError"] is False

# %% from_exception
assert fw.from_exception(ConnectionRefusedError()).code == "CONNECTION_REFUSED"

# %% failure_of
result = fw.encode(fw.RateLimited("Too many requests.", retry_after=30))
failure = fw.failure_of(result)

assert failure is not None
assert failure.retry_after == 30
assert fw.failure_of({"content": [], "isError": False}) is None

# %% from_http
assert fw.from_http(429, headers={"Retry-After": "30"}).retry_after == 30


# %% rule
class OutOfStock(Exception):
    pass


added = fw.rule(OutOfStock, "CONFLICT")

assert fw.from_exception(OutOfStock()).type == "CONFLICT"
added.remove()

# %% check_arguments
schema = {"type": "object", "properties": {"hours": {"type": "integer"}}, "required": ["hours"]}

assert fw.check_arguments({"hours": 2}, schema) is None
assert fw.check_arguments({"hours": "two"}, schema).fields[0].path == "hours"

# %% repair, Repair
schema = {"type": "object", "properties": {"hours": {"type": "integer"}}, "required": ["hours"]}
sent = {"hours": "2"}
mended = fw.repair(fw.check_arguments(sent, schema), sent, schema)

assert isinstance(mended, fw.Repair)
assert mended.arguments == {"hours": 2}

# %% encode
result = fw.encode(fw.NotFound("There is no order 8."), dialect="compact")

assert result["isError"] is True

# %% read
flat = {"content": [{"type": "text", "text": "Rate limit exceeded, retry after 30 seconds"}], "isError": True}
failure = fw.read(flat)

assert (failure.code, failure.retry_after) == ("RATE_LIMITED", 30)
assert fw.read({"content": [{"type": "text", "text": "3 orders"}]}) is None

# %% convert
as_xml = fw.convert("Rate limit exceeded, retry after 30 seconds", to="xml")

assert as_xml["content"][0]["text"].startswith("<")

# %% render
text = fw.render(fw.RateLimited("Only 10 searches a minute.", retry_after=30).failure)

assert "30 seconds" in text

# %% decide, Decision
decision = fw.decide(fw.TimedOut("The mail service did not answer."))

assert isinstance(decision, fw.Decision)
assert decision.action == "verify"

# %% Hints
late = fw.TimedOut("The search did not answer.")

assert fw.decide(late, fw.Hints(read_only=True)).action == "retry"

# %% Policy, Tool
policy = fw.Policy(attempts=5, deadline=60, tools={"pay_*": fw.Tool(timeout=10)})

assert policy.tool("pay_invoice").timeout == 10

# %% PolicyFile
file = fw.PolicyFile.parse("""
[tools."pay_*"]
read_only = false
timeout = 10
""")

assert file.tools["pay_*"].timeout == 10

# %% is_terminal
assert fw.is_terminal(fw.NotFound("There is no order 8."))
assert not fw.is_terminal(fw.Unavailable("Try later."))

# %% call
answers = iter([fw.Busy("Too many calls."), "3 orders"])


def search() -> str:
    answer = next(answers)
    if isinstance(answer, Exception):
        raise answer
    return answer


with instant():
    assert fw.call(search, tool="search") == "3 orders"


# %% acall
async def search_later() -> str:
    return "3 orders"


assert asyncio.run(fw.acall(search_later, tool="search")) == "3 orders"


# %% guard
@fw.guard(dialect="compact")
def find_order(id: int) -> str:
    raise fw.NotFound(f"There is no order {id}.")


assert fw.read(find_order(id=8)).code == "NOT_FOUND"

# %% Group
billing = fw.Group("billing")


@billing.action("refund")
def refund(invoice: str) -> str:
    return f"refunded {invoice}"


assert billing.call({"action": "refund", "invoice": "inv_1"}) == "refunded inv_1"

# %% protect
server = MCPServer("shop")
protection = fw.protect(server)

assert protection.dialect == "meta"


# %% raises
@fw.raises(fw.NotFound, "DEADLOCK")
def cancel_order(id: int) -> str: ...


assert fw.server.declared(cancel_order) == ("NOT_FOUND", "DEADLOCK")


# %% verified_by
@fw.verified_by("list_mails")
def send_mail(to: str) -> str: ...


# %% idempotent
@fw.idempotent(fw.server.MemoryClaims())
def pay(invoice: str) -> str: ...


# %% wrap
async def find_note() -> str:
    async with Client(MCPServer("notes")) as client:
        session = fw.wrap(client.session)
        return (await session.call_tool("find_note", {})).failure.code


assert asyncio.run(find_note()) == "UNKNOWN_TOOL"

# %% install, uninstall
installation = fw.install(fw.Policy(attempts=2))

assert installation.says
assert fw.uninstall()
