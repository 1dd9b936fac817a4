"""The shop's story, chapter by chapter; each chapter fills one binary log."""

from __future__ import annotations

from collections.abc import Iterator

from testdata.shop_tables import TABLES, create_tables
from testdata.shop_traffic import Order, Part, Traffic

BULK_ROWS = 2_000


class Shop(Traffic):
    """Everyday traffic, with what happens once in between: DDL, bulk changes, other ways of logging."""

    def chapters(self) -> Iterator[list[Part]]:
        """The parts of each binary log, in order."""
        yield self._opening_day()
        yield self._growing()
        yield self._busy_weeks()
        yield self._stocktaking()
        yield self._last_days()

    def _opening_day(self) -> list[Part]:
        parts = [Part(create_tables(mariadb=self.mariadb))]
        parts.append(Part("".join(self.new_products(count) for count in (1, 2, 37))))
        parts.append(Part("".join(self.new_customers(count) for count in (1, 3, 5, 20, 60))))
        return parts + self.traffic(360)

    def _growing(self) -> list[Part]:
        add_phone = "ALTER TABLE customers ADD COLUMN phone VARCHAR(20) NULL AFTER email;\n"
        shipments = TABLES["shipments"]
        rename = (
            "ALTER TABLE shipments RENAME COLUMN firm TO carrier, ADD COLUMN weight DECIMAL(6,3) NULL;\n"
            "RENAME TABLE shipments TO deliveries;\n"
        )
        parts = [Part(self.tick() + add_phone)]
        self.phones = True
        parts += self.traffic(120)
        parts.append(Part(self.tick() + shipments))
        parts.append(Part("".join(self._shipment() for _ in range(12))))
        parts.append(Part(self.tick() + rename))
        parts.append(Part(self.transaction("UPDATE deliveries SET weight = 1.250 WHERE weight IS NULL")))
        parts += self.traffic(160)
        parts.append(Part("".join(self._savepoints() for _ in range(4))))
        parts.append(Part(self._rolled_back()))
        parts.append(
            Part(self.tick() + "ALTER TABLE products MODIFY COLUMN stock BIGINT NOT NULL DEFAULT 0;\n")
        )
        return parts + self.traffic(160)

    def _busy_weeks(self) -> list[Part]:
        parts = self.traffic(80)
        if self.mariadb:
            parts.append(Part("SET GLOBAL binlog_row_metadata = FULL;\n"))
            parts += self.traffic(110)
        else:
            parts += self.traffic(110, session="SET SESSION binlog_transaction_compression = ON;\n")
        parts.append(Part(self._demo_transaction(), marked=True))
        parts += self.traffic(80, session="SET SESSION binlog_row_image = MINIMAL;\n")
        parts += self.traffic(50, session="SET SESSION binlog_row_image = NOBLOB;\n")
        parts.append(Part(self._prepared_transactions()))
        annotate = "binlog_annotate_row_events" if self.mariadb else "binlog_rows_query_log_events"
        parts += self.traffic(80, session=f"SET SESSION {annotate} = {'OFF' if self.mariadb else 'ON'};\n")
        if self.mariadb:
            parts.append(Part("SET GLOBAL binlog_row_metadata = NO_LOG;\n"))
        return parts

    def _stocktaking(self) -> list[Part]:
        movements = ", ".join(
            f"({number}, {number % self.products + 1}, {self.random.randint(-50, 50)}, "
            f"{self.random.randint(0, 10**6) / 1000:.3f})"
            for number in range(1, BULK_ROWS + 1)
        )
        best = (
            "CREATE TABLE best_customers (PRIMARY KEY (customer_id)) SELECT customer_id, COUNT(*) AS orders, "
            "SUM(total) AS total FROM orders GROUP BY customer_id HAVING COUNT(*) > 3;\n"
        )
        parts = [Part(self.tick() + TABLES["stock_movements"])]
        parts.append(Part(self.transaction(f"INSERT INTO stock_movements VALUES {movements}")))
        correct = self.transaction(
            "UPDATE stock_movements SET amount = amount + 1 WHERE id % 5 = 0",
            "DELETE FROM stock_movements WHERE id % 50 = 7",
            "UPDATE stock_movements SET id = id + 100000 WHERE id % 100 = 3",
        )
        parts.append(Part(correct))
        parts += self.traffic(70)
        parts.append(Part(self.tick() + best))
        parts.append(Part(self._statements()))
        parts.append(Part(self.tick() + "TRUNCATE TABLE visits;\nDROP TABLE scratch;\n" + self.visit()))
        drop = "ALTER TABLE products DROP COLUMN volume, ADD INDEX by_title (title);\n"
        parts.append(Part(self.tick() + drop))
        parts.append(Part(self._archive()))
        return parts + self.traffic(160)

    def _last_days(self) -> list[Part]:
        parts = self.traffic(110)
        parts.append(Part(self.transaction("UPDATE customers SET credit = credit + 0.01")))
        return parts + self.traffic(80)

    def _shipment(self) -> str:
        order = self.an_order("paid", "shipped")
        number = order.number if order else 1
        code = f"{self.random.randrange(16**8):08X}"
        return self.transaction(
            f"INSERT INTO shipments (code, order_id, firm) VALUES ('{code}', {number}, 'Post')"
        )

    def _savepoints(self) -> str:
        customer = self.random.randint(1, self.customers)
        return self.transaction(
            f"UPDATE customers SET credit = credit + 5 WHERE id = {customer}",
            "SAVEPOINT before_the_mistake",
            "UPDATE customers SET credit = 0, name = 'a mistake'",
            "ROLLBACK TO SAVEPOINT before_the_mistake",
            "SAVEPOINT second",
            f"INSERT INTO audit_log VALUES ({self.now()}, 'clerk', 'credit', '[5]')",
            "RELEASE SAVEPOINT second",
        )

    def _rolled_back(self) -> str:
        """Leaves no trace in the log."""
        return f"{self.tick()}BEGIN;\nDELETE FROM payments;\nDELETE FROM order_items;\nROLLBACK;\n"

    def _prepared_transactions(self) -> str:
        """One XA transaction that commits, and one that is in the log but never happened."""
        order = self.an_order("shipped")
        assert order is not None
        commit = f"INSERT INTO payments VALUES ({self.payment(order)})"
        undone = "INSERT INTO vouchers VALUES ('NEVER', 50.00)"
        done = "INSERT INTO vouchers VALUES ('SPRING', 10.00)"
        return (
            f"{self.tick()}XA START 'payment', 'branch', 7;\n{commit};\nXA END 'payment', 'branch', 7;\n"
            f"XA PREPARE 'payment', 'branch', 7;\nXA COMMIT 'payment', 'branch', 7;\n"
            f"{self.tick()}XA START x'00ff';\n{undone};\nXA END x'00ff';\nXA PREPARE x'00ff';\n"
            f"XA ROLLBACK x'00ff';\n{self.transaction(done)}"
        )

    def _statements(self) -> str:
        """Statement-based logging, with values that statements take from their session."""
        statements = (
            "SET SESSION binlog_format = STATEMENT;\n"
            + self.tick()
            + "SET @bonus := 7, @luck := 'Glück 🍀', @rate := 1.25, @nothing := NULL;\n"
            + "INSERT INTO lottery (number, label) VALUES (RAND(), @luck), (@bonus * @rate, @nothing);\n"
            + self.transaction(
                "INSERT INTO lottery (number, label) VALUES (RAND(3), CONCAT('p''q', @luck))",
                "INSERT INTO lottery (number, label) SELECT LAST_INSERT_ID(), 'after the last'",
                "UPDATE lottery SET label = 'first' WHERE id = 1",
            )
        )
        if self.mariadb:  # With GTIDs, MySQL refuses to mix engines in a transaction.
            statements += (
                f"{self.tick()}BEGIN;\nINSERT INTO lottery (number, label) VALUES (1, 'rolled back');\n"
                "INSERT INTO scratch (text) VALUES ('stays, for MyISAM knows no rollback');\nROLLBACK;\n"
            )
        return statements

    def _archive(self) -> str:
        """Names that file systems, URLs and shells stumble over."""
        table = "`shop-archive`.`closed orders/2026 100%`"
        return (
            self.tick()
            + "CREATE DATABASE `shop-archive`;\n"
            + f"CREATE TABLE {table} "
            + "(`order no.` BIGINT UNSIGNED PRIMARY KEY, `größe` INT, `a``b` VARCHAR(20));\n"
            + self.transaction(
                f"INSERT INTO {table} SELECT id, LENGTH(note), status FROM orders WHERE status = 'cancelled'",
                f"UPDATE {table} SET `a``b` = 'x=y&z' WHERE `größe` IS NULL",
            )
        )

    def _demo_transaction(self) -> str:
        """One order in all its tables: placed with 3 lines, paid, taken from stock, logged."""
        self.last_order += 1
        order = Order(self.last_order, "paid", self.some_products(3))
        self.orders.append(order)
        items = ", ".join(
            f"({order.number}, {n}, {product}, {n}, 19.99)" for n, product in enumerate(order.products, 1)
        )
        products = ", ".join(str(product) for product in order.products)
        return self.transaction(
            "INSERT INTO orders (id, customer_id, status, placed_at, total, note, changed_at) "
            f"VALUES ({order.number}, 42, 'new', {self.now()}, 119.94, 'it''s a gift 🎁', {self.now()})",
            f"INSERT INTO order_items VALUES {items}",
            f"UPDATE products SET stock = stock - 1 WHERE id IN ({products})",
            f"DELETE FROM order_items WHERE order_id = {order.number} AND line = 2",
            f"INSERT INTO payments VALUES ({self.payment(order)})",
            f"UPDATE orders SET status = 'paid' WHERE id = {order.number}",
            f"INSERT INTO audit_log VALUES ({self.now()}, 'till', 'sold', JSON_OBJECT('gift', TRUE))",
        )
