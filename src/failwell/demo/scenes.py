"""The scenes: calls that fail, one in each way, and what shows that the caller got what it wanted after all."""

from typing import Any

from msgspec import Struct


class Scene(Struct, frozen=True, kw_only=True):
    """One call that fails at first. The answer that holds the *proof* is the one that was wanted."""

    title: str
    tool: str
    arguments: dict[str, Any]
    proof: str
    effect: str | None = None
    """The name of what happens for good if the tool runs, in the journal of the server."""


SCENES = (
    Scene(
        title="a record that does not exist",
        tool="read_order",
        arguments={"order": "o-1O2"},
        proof="1 desk for Ann",
    ),
    Scene(
        title="a misspelt argument",
        tool="set_quantity",
        arguments={"order": "o-102", "quantiy": 2},
        proof="o-102: 2 pieces",
        effect="set_quantity",
    ),
    Scene(
        title="a misspelt choice",
        tool="set_speed",
        arguments={"order": "o-102", "speed": "expres"},
        proof="o-102: express",
        effect="set_speed",
    ),
    Scene(
        title="a value of the wrong type",
        tool="tag_order",
        arguments={"order": "o-102", "tags": "gift"},
        proof="o-102: gift",
        effect="tag_order",
    ),
    Scene(title="a misspelt tool", tool="list_order", arguments={}, proof="o-101 o-102 o-240"),
    Scene(
        title="a rate limit that asks for 15 s",
        tool="find_products",
        arguments={"words": "desk"},
        proof="desk, 12 pieces",
    ),
    Scene(
        title="a database that is locked for a moment",
        tool="set_stock",
        arguments={"product": "desk", "pieces": 3},
        proof="desk: 3 pieces",
        effect="set_stock",
    ),
    Scene(
        title="a time-out while reading",
        tool="exchange_rate",
        arguments={"currency": "NOK"},
        proof="1 EUR = 11.42 NOK",
    ),
    Scene(
        title="a time-out after the mail was sent",
        tool="send_email",
        arguments={"to": "ann@example.com"},
        proof="ann@example.com",
        effect="mails",
    ),
    Scene(
        title="a time-out after the card was charged",
        tool="charge_card",
        arguments={"order": "o-102", "cents": 4900},
        proof="charged",
        effect="charges",
    ),
    Scene(
        title="an order that somebody else edits",
        tool="edit_order",
        arguments={"order": "o-102", "note": "ring twice"},
        proof="o-102: ring twice",
        effect="edit_order",
    ),
    Scene(title="not allowed", tool="delete_customer", arguments={"customer": "c-7"}, proof="deleted"),
    Scene(title="a crash with a password in its text", tool="export_customers", arguments={}, proof="exported"),
    Scene(
        title="an error sent as a success",
        tool="track_parcel",
        arguments={"parcel": "p-1"},
        proof="p-1 is in Oslo",
    ),
)
