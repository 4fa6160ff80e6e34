# %% Protection
server = MCPServer("shop")
protection = fw.protect(server, timeout=30)

assert isinstance(protection, fw.server.Protection)
assert protection.says

# %% Limit
database = fw.server.Limit(1, retry_after=2)


@fw.guard(limit=database)
def report() -> str:
    return "3 orders"


assert fw.read(report()) is None

# %% Checker
checker = fw.server.Checker({"type": "object", "properties": {"hours": {"type": "integer"}}})

assert checker.check({"hours": "two"}).type == "VALIDATION"


# %% declared, enforce, BrokenContract
@fw.raises(fw.NotFound)
def find_order(id: int) -> str:
    raise fw.Conflict("Order 8 is closed.")


assert fw.server.declared(find_order) == ("NOT_FOUND",)
try:
    fw.server.enforce(find_order)(id=8)
except fw.server.BrokenContract as exc:
    assert "CONFLICT" in str(exc)

# %% Idempotency, MemoryClaims, Resolution, current_claim, Claim, ClaimStore
from failwell.server import Claim, ClaimStore, Idempotency, MemoryClaims, Resolution, current_claim


def look_up(key: str, arguments: dict[str, object]) -> Resolution | None:
    return None  # no payment with this key: the effect did not happen


store: ClaimStore = MemoryClaims()
settings = Idempotency(store, resolve=look_up, required=True)


@fw.idempotent(settings.store, required=True)
def pay(invoice: str) -> str:
    claim: Claim | None = current_claim()
    return f"paid {invoice} with key {claim.key if claim else 'none'}"


assert pay("inv_1") == "paid inv_1 with key none"  # outside a protected server there is no claim

# %% open_claims
import tempfile

with tempfile.TemporaryDirectory() as folder:
    claims = fw.server.open_claims(f"sqlite:///{folder}/effects.db")
    claims.close()
