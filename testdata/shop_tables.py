"""The shop's tables.

`STATE_NOT_FROM_ROWS` names the tables whose final state does not follow from row changes alone, and why:
programs that replay row changes need not arrive at what SELECT said about those.
"""

from __future__ import annotations

STATE_NOT_FROM_ROWS = {
    "shop.lottery": "filled by statement-based logging",
    "shop.visits": "truncated",
    "shop.vouchers": "has a row of an XA transaction that was rolled back after it had been logged",
    "shop.audit_log": "has no primary key",
}

TABLES = {
    "customers": """CREATE TABLE customers (
  id INT UNSIGNED NOT NULL PRIMARY KEY,
  email VARCHAR(120) NOT NULL UNIQUE,
  name VARCHAR(80) NOT NULL,
  city VARCHAR(60) CHARACTER SET latin1 NULL,
  born DATE NULL,
  kind ENUM('person', 'company', 'school') NOT NULL DEFAULT 'person',
  tags SET('new', 'vip', 'wholesale', 'blocked') NOT NULL DEFAULT '',
  newsletter BIT(1) NOT NULL DEFAULT b'0',
  credit DECIMAL(12,2) NOT NULL DEFAULT 0,
  profile JSON NULL,
  created_at DATETIME(6) NOT NULL,
  seen_at TIMESTAMP(3) NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
""",
    "products": """CREATE TABLE products (
  id SMALLINT UNSIGNED NOT NULL PRIMARY KEY,
  sku BINARY(4) NOT NULL,
  title VARCHAR(120) NOT NULL,
  description TEXT NULL,
  price DECIMAL(9,2) NOT NULL,
  weight FLOAT NULL,
  volume DOUBLE NULL,
  stock INT NOT NULL DEFAULT 0,
  picture BLOB NULL,
  since YEAR NULL,
  opens TIME NULL,
  attributes JSON NULL,
  cents BIGINT AS (price * 100) STORED
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
""",
    "orders": """CREATE TABLE orders (
  id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  customer_id INT UNSIGNED NOT NULL,
  status ENUM('new', 'paid', 'shipped', 'cancelled') NOT NULL,
  placed_at DATETIME(6) NOT NULL,
  total DECIMAL(12,2) NOT NULL,
  note TEXT NULL,
  changed_at TIMESTAMP NULL,
  FOREIGN KEY (customer_id) REFERENCES customers (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
""",
    "order_items": """CREATE TABLE order_items (
  order_id BIGINT UNSIGNED NOT NULL,
  line TINYINT UNSIGNED NOT NULL,
  product_id SMALLINT UNSIGNED NOT NULL,
  quantity MEDIUMINT NOT NULL,
  price DECIMAL(9,2) NOT NULL,
  PRIMARY KEY (order_id, line),
  FOREIGN KEY (order_id) REFERENCES orders (id)%CASCADE%
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
""",
    "payments": """CREATE TABLE payments (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  order_id BIGINT UNSIGNED NOT NULL,
  amount DECIMAL(10,2) NOT NULL,
  method ENUM('card', 'cash', 'transfer', 'voucher') NOT NULL,
  reference BIGINT UNSIGNED NOT NULL,
  paid_at TIMESTAMP(6) NULL,
  answer JSON NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
""",
    "audit_log": """CREATE TABLE audit_log (
  at DATETIME(3) NOT NULL,
  actor VARCHAR(40) NOT NULL,
  action CHAR(10) NOT NULL,
  detail JSON NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
""",
    "visits": """CREATE TABLE visits (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  page VARCHAR(40) NOT NULL,
  seen_at DATETIME NOT NULL
) ENGINE=MyISAM DEFAULT CHARSET=utf8mb4;
""",
    "vouchers": """CREATE TABLE vouchers (
  code VARCHAR(20) NOT NULL PRIMARY KEY,
  worth DECIMAL(5,2) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
""",
    "lottery": """CREATE TABLE lottery (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  number DOUBLE NOT NULL,
  label VARCHAR(60) NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
""",
    "scratch": """CREATE TABLE scratch (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  text VARCHAR(60) NULL
) ENGINE=MyISAM DEFAULT CHARSET=utf8mb4;
""",
    "shipments": """CREATE TABLE shipments (
  code CHAR(8) NOT NULL PRIMARY KEY,
  order_id BIGINT UNSIGNED NOT NULL,
  firm VARCHAR(20) NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
""",
    "stock_movements": """CREATE TABLE stock_movements (
  id INT UNSIGNED NOT NULL PRIMARY KEY,
  product_id SMALLINT UNSIGNED NOT NULL,
  amount TINYINT NOT NULL,
  place DECIMAL(7,3) NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
""",
}

LATER_TABLES = ("shipments", "stock_movements")


def create_tables(*, mariadb: bool) -> str:
    """The statements that make the database and the tables that are there from the first day.

    In MySQL the order's items go with their order by a foreign key; its row changes are in the log since 9.6.
    MariaDB logs none, so there the workload deletes the items itself.
    """
    cascade = "" if mariadb else " ON DELETE CASCADE"
    first = [text for name, text in TABLES.items() if name not in LATER_TABLES]
    statements = "".join(first).replace("%CASCADE%", cascade)
    return f"CREATE DATABASE shop DEFAULT CHARACTER SET utf8mb4;\nUSE shop;\n{statements}"
