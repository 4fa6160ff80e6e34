"""The tools of the demo: a shop that uses SQLite and HTTP services.

They are the same on both servers, to the letter. Where the author knows what went wrong, an exception says it in a
sentence that tells a reader all; everything else flies as the library raised it.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Literal
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import failwell as fw
from failwell.demo.scenes import story_time
from failwell.demo.services import record_effect

SECRET = "hunter2"
"""What an exception of `export_customers` holds, and nobody may see."""

_TIMEOUT = 0.3
_LOCKED_FOR = 0.5
_EDITED_FOR = 10
_SCHEMA = "CREATE TABLE effects (effect, about); CREATE TABLE orders (id, holds); CREATE TABLE stock (product, pieces);"
_ORDERS = (("o-101", "2 lamps for Bob"), ("o-102", "1 desk for Ann"), ("o-240", "3 chairs for Eve"))


class Shop:
    """The tools, over one database file and the services at one address."""

    def __init__(self, file: Path, services: str) -> None:
        self._file = file
        self._services = services
        self._lock_holder: sqlite3.Connection | None = None
        self._held_until = 0.0
        self._edited_until: float | None = None
        with closing(sqlite3.connect(file)) as database, database:
            database.executescript(_SCHEMA)
            database.executemany("INSERT INTO orders VALUES (?, ?)", _ORDERS)

    def list_orders(self) -> str:
        """List the numbers of all orders."""
        return " ".join(number for (number,) in self._select("SELECT id FROM orders"))

    def read_order(self, order: str) -> str:
        """Say what an order holds."""
        found = self._select("SELECT holds FROM orders WHERE id = ?", order)
        if not found:
            sentence = f"Order {order} does not exist; list_orders shows which do."
            raise fw.NotFound(sentence, details={"order": order}, actions=["list_orders"])
        return found[0][0]

    def set_quantity(self, order: str, quantity: int) -> str:
        """Set how many pieces of it an order holds."""
        return self._write("set_quantity", f"{order}: {quantity} pieces")

    def set_speed(self, order: str, speed: Literal["standard", "express", "overnight"]) -> str:
        """Set how quickly an order is sent."""
        return self._write("set_speed", f"{order}: {speed}")

    def tag_order(self, order: str, tags: list[str]) -> str:
        """Set the tags of an order."""
        return self._write("tag_order", f"{order}: {', '.join(tags)}")

    def find_products(self, words: str) -> str:
        """Search the catalogue."""
        return self._request("/products", words=words)

    def exchange_rate(self, currency: str) -> str:
        """Return what a euro is worth."""
        return self._request("/rates", currency=currency)

    def set_stock(self, product: str, pieces: int) -> str:
        """Set how many pieces of a product there are."""
        self._hold_write_lock()
        with closing(sqlite3.connect(self._file, timeout=0)) as database, database:
            database.execute("INSERT INTO stock VALUES (?, ?)", (product, pieces))
            database.execute("INSERT INTO effects VALUES (?, ?)", ("set_stock", product))
        return f"{product}: {pieces} pieces"

    def edit_order(self, order: str, note: str) -> str:
        """Write a note on an order."""
        if self._edited_until is None:
            self._edited_until = story_time() + _EDITED_FOR
        if story_time() < self._edited_until:
            raise fw.Locked(f"Bob is editing {order} for {_EDITED_FOR} more seconds.", retry_after=_EDITED_FOR)
        return self._write("edit_order", f"{order}: {note}")

    def send_email(self, to: str) -> str:
        """Send the bill by e-mail."""
        try:
            return self._request("/mails", to=to)
        except TimeoutError as late:
            sentence = f"The mail to {to} timed out; list_sent shows whether it left."
            raise fw.TimedOut(sentence, actions=["list_sent"]) from late

    def list_sent(self) -> str:
        """List the e-mails that were sent."""
        return " ".join(about for (about,) in self._select("SELECT about FROM effects WHERE effect = 'mails'"))

    def charge_card(self, order: str, cents: int) -> str:
        """Charge the card of an order."""
        return self._request("/charges", order=order, cents=str(cents))

    def delete_customer(self, customer: str) -> str:
        """Delete a customer."""
        raise fw.Denied(f"Only owners may delete {customer}.")

    def export_customers(self) -> str:
        """Write all customers to a file."""
        raise RuntimeError(f"connection to postgresql://shop:{SECRET}@db.internal/customers failed")

    def track_parcel(self, parcel: str) -> str:
        """Say where a parcel is."""
        try:
            return self._request("/parcels", parcel=parcel)
        except HTTPError as refused:
            return f"Error: the carrier answered {refused.code} {refused.reason}"

    def _request(self, path: str, **what: str) -> str:
        with urlopen(f"{self._services}{path}?{urlencode(what)}", timeout=_TIMEOUT) as answer:
            return str(answer.read().decode())

    def _select(self, query: str, *values: str) -> list[tuple[str]]:
        with closing(sqlite3.connect(self._file)) as database:
            return database.execute(query, values).fetchall()

    def _write(self, effect: str, about: str) -> str:
        record_effect(self._file, effect, about)
        return about

    def _hold_write_lock(self) -> None:
        """Hold the write lock of the database from another connection, for a moment."""
        if self._lock_holder is None:
            self._lock_holder = sqlite3.connect(self._file, isolation_level=None, check_same_thread=False)
            self._lock_holder.execute("BEGIN IMMEDIATE")
            self._held_until = story_time() + _LOCKED_FOR
        elif story_time() >= self._held_until and self._lock_holder.in_transaction:
            self._lock_holder.execute("ROLLBACK")
