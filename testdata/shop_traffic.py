"""What happens in the shop every day, as SQL: a random choice of transactions, the same for the same seed.

What differs between runs is what servers choose by themselves: UUIDs, commit times, thread ids.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime

SEED = 20260302
OPENING = 1_772_438_400  # 2026-03-02 08:00:00 UTC
CITIES = ("Malmö", "Köln", "São Paulo", "Kraków", "Zürich", "Leeds", "Ålesund", "Besançon")
NAMES = (
    "Ana",
    "Bjørn",
    "Chloé",
    "Dmitri",
    "Élodie",
    "Farid",
    "Grace",
    "Hiroko 浩子",
    "Ivo",
    "Jürgen",
    "Zoë 🌻",
)
NOTES = (
    "ring twice",
    "it's a gift 🎁",
    'leave at "Bob\'s" door',
    "línea\nnueva",
    "100% \\ back",
    "日本語のメモ",
    "",
)
METHODS = ("card", "cash", "transfer", "voucher")


@dataclass(slots=True)
class Part:
    """Statements that one session runs.

    Attributes:
        sql: the statements, without the database.
        marked: whether these are the one transaction that the demo cuts out.
    """

    sql: str
    marked: bool = False


@dataclass(slots=True)
class Order:
    """What the workload must remember of an order to change it later."""

    number: int
    status: str
    products: list[int] = field(default_factory=list)


class Traffic:
    """Writes everyday transactions and remembers what the shop holds.

    Args:
        mariadb: whether they are for MariaDB, which logs some things otherwise than MySQL.
    """

    def __init__(self, *, mariadb: bool) -> None:
        self.mariadb = mariadb
        self.random = random.Random(SEED)
        self.clock = OPENING
        self.microsecond = 0
        self.customers = 0
        self.products = 0
        self.last_order = 9_007_199_254_740_990  # above 2^53, where doubles lose the last digit
        self.last_payment = 0
        self.orders: list[Order] = []
        self.phones = False

    def traffic(self, transactions: int, session: str = "") -> list[Part]:
        """Everyday transactions, in sessions of up to 40 of them that begin with the statements given."""
        kinds = {
            self._place_order: 22,
            self._pay: 18,
            self._change_status: 12,
            self._change_product: 10,
            self._change_customer: 8,
            self._cancel: 5,
            self._delete_order: 3,
            self.visit: 4,
            self._move_line: 3,
            self._log_only: 4,
            self._discount: 2,
            self._one_customer: 3,
            self._several_statuses: 3,
        }
        chosen = self.random.choices(list(kinds), list(kinds.values()), k=transactions)
        written = [kind() for kind in chosen]
        sessions = [written[start : start + 40] for start in range(0, len(written), 40)]
        return [Part(session + "".join(statements)) for statements in sessions]

    def now(self) -> str:
        """The time of the transaction that `tick` begins, as an SQL string."""
        return f"'{datetime.fromtimestamp(self.clock, UTC):%F %T}.{self.microsecond:06d}'"

    def tick(self) -> str:
        """Begin a transaction, and let time pass after it.

        MariaDB's events tell no other time than the session's, so there it is set. MySQL's tell the time of
        the commit besides, which nothing can set: the two would lie months apart.
        """
        stamp = f"SET TIMESTAMP = {self.clock}.{self.microsecond:06d};\n"
        self.clock += self.random.randint(1, 900)
        self.microsecond = self.random.randint(0, 999_999)
        return stamp if self.mariadb else ""

    def transaction(self, *statements: str) -> str:
        """The statements as one transaction."""
        body = "".join(f"{statement};\n" for statement in statements)
        return f"{self.tick()}BEGIN;\n{body}COMMIT;\n"

    def new_customers(self, count: int) -> str:
        """One INSERT of some customers."""
        rows = []
        for _ in range(count):
            self.customers += 1
            rows.append(self._customer_row(self.customers))
        columns = "id, email, name, city, born, kind, tags, newsletter, credit, profile, created_at, seen_at"
        return self.transaction(f"INSERT INTO customers ({columns}) VALUES {', '.join(rows)}")

    def _customer_row(self, number: int) -> str:
        choose = self.random
        name = choose.choice(NAMES)
        born = choose.choice(
            ("NULL", "'0000-00-00'", "'1999-00-00'", f"'19{choose.randint(50, 99)}-02-2{number % 9}'")
        )
        tags = ",".join(tag for tag in ("new", "vip", "wholesale", "blocked") if choose.random() < 0.3)
        profile = {
            "lang": choose.choice(["sv", "de", "pt"]),
            "size": choose.randint(1, 9),
            "ratio": choose.random(),
        }
        if choose.random() < 0.3:
            profile["likes"] = [name, None, True, {"deep": [1, -2, 2**40, 0.1]}]
        document = "NULL" if choose.random() < 0.2 else quote(json.dumps(profile, ensure_ascii=False))
        seen = choose.choice(("NULL", self.now()))
        credit = choose.choice(("0", "-12.50", "9999999999.99", f"{choose.randint(0, 99999) / 100}"))
        return (
            f"({number}, 'c{number}@example.org', {quote(name)}, {quote(choose.choice(CITIES))}, {born}, "
            f"{number % 3 + 1}, {quote(tags)}, b'{number % 2}', {credit}, {document}, {self.now()}, {seen})"
        )

    def _one_customer(self) -> str:
        return self.new_customers(1)

    def new_products(self, count: int) -> str:
        """One INSERT of some products."""
        choose = self.random
        rows = []
        for _ in range(count):
            self.products += 1
            picture = "NULL" if choose.random() < 0.7 else f"x'{choose.randbytes(24).hex()}'"
            weight = choose.choice(("NULL", "0.1", "-0", "1e-38", "3.25"))
            text = "NULL" if choose.random() < 0.4 else quote(choose.choice(NOTES) * choose.randint(1, 20))
            rows.append(
                f"({self.products}, x'{self.products:06x}00', 'Product {self.products} é', {text}, "
                f"{choose.randint(1, 99999) / 100}, {weight}, {choose.random()}, "
                f"{choose.randint(0, 500)}, {picture}, "
                f"{choose.choice((0, 1901, 1999, 2026, 2155))}, "
                f"{choose.choice(quotes('-838:59:59', '00:00:00', '07:30:00', '838:59:59'))}, NULL)"
            )
        columns = (
            "id, sku, title, description, price, weight, volume, stock, picture, since, opens, attributes"
        )
        return self.transaction(f"INSERT INTO products ({columns}) VALUES {', '.join(rows)}")

    def _place_order(self) -> str:
        return self._order_of(self.random.randint(1, 3))

    def _order_of(self, lines: int) -> str:
        self.last_order += self.random.randint(1, 3)
        customer = self.random.randint(1, self.customers)
        order = Order(self.last_order, "new", self.some_products(lines))
        self.orders.append(order)
        note = "NULL" if self.random.random() < 0.6 else quote(self.random.choice(NOTES))
        total = self.random.randint(100, 90000) / 100
        items = ", ".join(
            f"({order.number}, {line}, {product}, {self.random.randint(1, 9)}, "
            f"{self.random.randint(1, 99999) / 100})"
            for line, product in enumerate(order.products, 1)
        )
        return self.transaction(
            "INSERT INTO orders (id, customer_id, status, placed_at, total, note, changed_at) "
            f"VALUES ({order.number}, {customer}, 'new', {self.now()}, {total}, {note}, {self.now()})",
            f"INSERT INTO order_items VALUES {items}",
        )

    def some_products(self, count: int) -> list[int]:
        """Numbers of different products, in order."""
        return sorted(self.random.sample(range(1, self.products + 1), count))

    def an_order(self, *statuses: str) -> Order | None:
        """An order that has one of the statuses, if any has."""
        fitting = [order for order in self.orders if order.status in statuses]
        return self.random.choice(fitting) if fitting else None

    def _pay(self) -> str:
        order = self.an_order("new")
        if order is None:
            return self._place_order()
        order.status = "paid"
        return self.transaction(
            f"UPDATE orders SET status = 'paid', changed_at = {self.now()} WHERE id = {order.number}",
            f"INSERT INTO payments VALUES ({self.payment(order)})",
        )

    def payment(self, order: Order) -> str:
        """The values of a payment's row."""
        self.last_payment += 1
        reference = 2**64 - self.last_payment if self.last_payment % 2 else self.last_payment
        answer = (
            "NULL" if self.random.random() < 0.5 else quote(json.dumps({"ok": True, "id": self.last_payment}))
        )
        method = self.random.choice(METHODS)
        return f"{self.last_payment}, {order.number}, 12.34, '{method}', {reference}, {self.now()}, {answer}"

    def _change_status(self) -> str:
        order = self.an_order("paid")
        if order is None:
            return self._place_order()
        order.status = "shipped"
        return self.transaction(
            f"UPDATE orders SET status = 'shipped', note = NULL WHERE id = {order.number}",
            f"INSERT INTO audit_log VALUES ({self.now()}, 'packer', 'ship', "
            f"JSON_OBJECT('order', {order.number}))",
        )

    def _change_product(self) -> str:
        product = self.random.randint(1, self.products)
        change = self.random.choice(
            (
                f"price = {self.random.randint(1, 99999) / 100}",
                f"stock = stock - {self.random.randint(1, 5)}",
                f"attributes = JSON_OBJECT('colour', 'red', 'n', {product})",
                "weight = NULL, description = 'sold out 😢'",
                f"picture = x'{self.random.randbytes(9).hex()}'",
            )
        )
        return self.tick() + f"UPDATE products SET {change} WHERE id = {product};\n"

    def _change_customer(self) -> str:
        customer = self.random.randint(1, self.customers)
        change = self.random.choice(
            (
                f"credit = credit - 1.01, seen_at = {self.now()}",
                "profile = JSON_SET(COALESCE(profile, '{}'), '$.visits', 7)",
                "tags = 'vip,blocked', newsletter = b'1'",
                f"city = {quote(self.random.choice(CITIES))}",
                "profile = NULL",
                *(["phone = '+46 70 123 45 67'", f"phone = {quote('(0)7 ' * 4)}"] if self.phones else []),
            )
        )
        return self.tick() + f"UPDATE customers SET {change} WHERE id = {customer};\n"

    def _cancel(self) -> str:
        order = self.an_order("new")
        if order is None:
            return self._place_order()
        order.status = "cancelled"
        order.products = []
        return self.transaction(
            f"DELETE FROM order_items WHERE order_id = {order.number}",
            f"UPDATE orders SET status = 'cancelled', total = 0 WHERE id = {order.number}",
        )

    def _delete_order(self) -> str:
        """MySQL deletes the items by the foreign key's cascade, which MariaDB would not log."""
        order = self.an_order("new", "cancelled")
        if order is None:
            return self._place_order()
        self.orders.remove(order)
        statements = [f"DELETE FROM orders WHERE id = {order.number}"]
        if self.mariadb:
            statements.insert(0, f"DELETE FROM order_items WHERE order_id = {order.number}")
        return self.transaction(*statements)

    def visit(self) -> str:
        """Rows in a table without transactions."""
        visits = f"INSERT INTO visits (page, seen_at) VALUES ('/', {self.now()}), ('/cart', {self.now()});\n"
        return self.tick() + visits

    def _move_line(self) -> str:
        """Changes primary keys."""
        order = self.an_order("new", "paid", "shipped")
        if order is None:
            return self._place_order()
        return (
            self.tick()
            + f"UPDATE order_items SET line = (line + 10) % 100 WHERE order_id = {order.number};\n"
        )

    def _log_only(self) -> str:
        line = f"INSERT INTO audit_log VALUES ({self.now()}, 'cron', 'tick', NULL);\n"
        return self.tick() + line

    def _discount(self) -> str:
        low = self.random.randint(1, self.products - 10)
        return self.transaction(
            f"UPDATE products SET price = price * 0.9 WHERE id BETWEEN {low} AND {low + 9}"
        )

    def _several_statuses(self) -> str:
        waiting = [order for order in self.orders if order.status == "paid"][:8]
        for order in waiting:
            order.status = "shipped"
        numbers = ", ".join(str(order.number) for order in waiting) or "0"
        return self.transaction(f"UPDATE orders SET status = 'shipped' WHERE id IN ({numbers})")


def quote(text: str) -> str:
    """Text as an SQL string."""
    escaped = text.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n")
    return f"'{escaped}'"


def quotes(*texts: str) -> tuple[str, ...]:
    """Texts as SQL strings."""
    return tuple(quote(text) for text in texts)
