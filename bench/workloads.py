"""Logs of workloads that others know: sysbench's tables, TPC-C's mix of transactions, a table of documents.

sysbench is the program itself. TPC-C is its specification's (revision 5.11) nine tables and five transactions
in their proportions, as procedures; its initial orders are left out, and nobody thinks or waits. The two
transactions that only read leave nothing in a log.
"""

from __future__ import annotations

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from textwrap import dedent

from bench.recipe import (
    COMPRESSED,
    FAST_MARIADB,
    FAST_MYSQL,
    MEGABYTE,
    Recipe,
    call_procedure,
    log_size,
    numbers,
    work_procedure,
)
from testdata.programs import MissingServerError
from testdata.servers import MariaDBServer, MySQLServer, Server, ServerError

_SESSIONS = 3
_LATIN1 = "--character-set-server=latin1"
"""MariaDB's own default up to 11.5, which servers for tests override."""

_SYSBENCH_BYTES = 1_900
_SYSBENCH_LARGEST_STEP = 200_000
_READ_WRITE_PART = 10
"""One of so many transactions is of ``oltp_read_write``, whose log differs by its pauses alone."""


def _record_sysbench(server: Server, size: int, *sizes: str) -> None:
    """Fill tables, then change them by three clients; the rows that fill them are logged, too.

    Args:
        sizes: sysbench's options for the number of tables and their rows; four tables by default.
    """
    sizes = sizes or ("--tables=4",)
    _sysbench(server, "oltp_write_only", *sizes, "prepare")
    while (missing := size * MEGABYTE - log_size(server)) > 0:
        events = max(100, min(_SYSBENCH_LARGEST_STEP, missing // _SYSBENCH_BYTES))
        _sysbench(server, "oltp_read_write", *sizes, f"--events={events // _READ_WRITE_PART}", "run")
        _sysbench(server, "oltp_write_only", *sizes, f"--events={events - events // _READ_WRITE_PART}", "run")


def _record_many_tables(server: Server, size: int) -> None:
    # Prepared statements of so many tables are more than a server allows.
    _record_sysbench(server, size, "--tables=800", "--table-size=100", "--db-ps-mode=disable")


def _sysbench(server: Server, test: str, *words: str) -> None:
    program = shutil.which("sysbench")
    if program is None:
        raise MissingServerError("sysbench is not on the PATH: install it (apt-get install sysbench)")
    command = [program, test, f"--mysql-socket={server.socket}", "--mysql-user=root", "--mysql-db=bench"]
    command += ["--db-driver=mysql", f"--threads={_SESSIONS}", "--time=0", "--rand-seed=1"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ServerError(f"sysbench {test} failed: {(done.stderr or done.stdout)[-1000:]}")


_WAREHOUSES = 2
_ITEMS = 100_000

TPCC_TABLES = dedent("""\
    CREATE TABLE warehouse (w_id SMALLINT NOT NULL PRIMARY KEY, w_name VARCHAR(10), w_street_1 VARCHAR(20),
      w_street_2 VARCHAR(20), w_city VARCHAR(20), w_state CHAR(2), w_zip CHAR(9), w_tax DECIMAL(4,4),
      w_ytd DECIMAL(12,2)) ENGINE=InnoDB;
    CREATE TABLE district (d_id TINYINT NOT NULL, d_w_id SMALLINT NOT NULL, d_name VARCHAR(10),
      d_street_1 VARCHAR(20), d_street_2 VARCHAR(20), d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9),
      d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), d_next_o_id INT, PRIMARY KEY (d_w_id, d_id)) ENGINE=InnoDB;
    CREATE TABLE customer (c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id SMALLINT NOT NULL,
      c_first VARCHAR(16), c_middle CHAR(2), c_last VARCHAR(16), c_street_1 VARCHAR(20),
      c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), c_phone CHAR(16),
      c_since DATETIME, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4),
      c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt SMALLINT,
      c_delivery_cnt SMALLINT, c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id)) ENGINE=InnoDB;
    CREATE TABLE history (h_c_id INT, h_c_d_id TINYINT, h_c_w_id SMALLINT, h_d_id TINYINT, h_w_id SMALLINT,
      h_date DATETIME, h_amount DECIMAL(6,2), h_data VARCHAR(24)) ENGINE=InnoDB;
    CREATE TABLE new_orders (no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id SMALLINT NOT NULL,
      PRIMARY KEY (no_w_id, no_d_id, no_o_id)) ENGINE=InnoDB;
    CREATE TABLE orders (o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id SMALLINT NOT NULL, o_c_id INT,
      o_entry_d DATETIME, o_carrier_id TINYINT, o_ol_cnt TINYINT, o_all_local TINYINT,
      PRIMARY KEY (o_w_id, o_d_id, o_id)) ENGINE=InnoDB;
    CREATE TABLE order_line (ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id SMALLINT NOT NULL,
      ol_number TINYINT NOT NULL, ol_i_id INT, ol_supply_w_id SMALLINT, ol_delivery_d DATETIME,
      ol_quantity TINYINT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24),
      PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)) ENGINE=InnoDB;
    CREATE TABLE item (i_id INT NOT NULL PRIMARY KEY, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2),
      i_data VARCHAR(50)) ENGINE=InnoDB;
    CREATE TABLE stock (s_i_id INT NOT NULL, s_w_id SMALLINT NOT NULL, s_quantity SMALLINT,
      s_dist_01 CHAR(24), s_dist_02 CHAR(24), s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24),
      s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24), s_dist_09 CHAR(24), s_dist_10 CHAR(24),
      s_ytd DECIMAL(8,0), s_order_cnt SMALLINT, s_remote_cnt SMALLINT, s_data VARCHAR(50),
      PRIMARY KEY (s_w_id, s_i_id)) ENGINE=InnoDB;
    """)


def _text(most: int, least: int | None = None) -> str:
    """An expression of random letters and digits; where a least length is given, of a random length."""
    parts = ", ".join(["sha2(rand(), 256)"] * (most // 64 + 1))
    text = f"concat({parts})" if most > 64 else parts
    return f"left({text}, {most if least is None else f'{least} + floor(rand() * {most - least + 1})'})"


_ADDRESS = (
    f"{_text(20, 10)}, {_text(20, 10)}, {_text(20, 10)}, 'CA', concat(left(rand() * 10000, 4), '11111')"
)
_DISTRICTS = ", ".join([_text(24)] * 10)
TPCC_PREPARE = numbers(6) + dedent(f"""\
    INSERT INTO warehouse SELECT number + 1, {_text(10, 6)}, {_ADDRESS}, rand() / 5, 300000
      FROM numbers WHERE number < {_WAREHOUSES};
    INSERT INTO district SELECT number % 10 + 1, number DIV 10 + 1, {_text(10, 6)}, {_ADDRESS}, rand() / 5,
        30000, 1
      FROM numbers WHERE number < {_WAREHOUSES} * 10;
    INSERT INTO customer SELECT number % 3000 + 1, number DIV 3000 % 10 + 1, number DIV 30000 + 1,
        {_text(16, 8)}, 'OE', elt(1 + number % 10, 'BARBAROUGHT', 'ABLEPRIESE', 'PRICALLY', 'ESEANTI',
          'PRESATION', 'EINGBAR', 'OUGHTABLE', 'ABLEPRI', 'CALLYATION', 'ANTIPRES'),
        {_ADDRESS}, left(rand() * 1e16, 16), '2026-01-01', if(rand() < 0.1, 'BC', 'GC'), 50000, rand() / 2,
        -10, 10, 1, 0, {_text(500, 300)}
      FROM numbers WHERE number < {_WAREHOUSES} * 30000;
    INSERT INTO item SELECT number + 1, 1 + floor(rand() * 10000), {_text(24, 14)}, 1 + rand() * 99,
        {_text(50, 26)}
      FROM numbers WHERE number < {_ITEMS};
    INSERT INTO stock SELECT number % {_ITEMS} + 1, number DIV {_ITEMS} + 1, 10 + floor(rand() * 91),
        {_DISTRICTS}, 0, 0, 0, {_text(50, 26)}
      FROM numbers WHERE number < {_WAREHOUSES} * {_ITEMS};
    DELIMITER //
    CREATE FUNCTION nurand(a INT, low INT, high INT) RETURNS INT NOT DETERMINISTIC NO SQL
      RETURN ((floor(rand() * (a + 1)) | (low + floor(rand() * (high - low + 1)))) + 42)
        % (high - low + 1) + low //
    CREATE PROCEDURE new_order(w INT, d INT)
    BEGIN
      DECLARE o, line, i, supply, quantity INT DEFAULT 1;
      DECLARE ol_cnt INT DEFAULT 5 + floor(rand() * 11);
      DECLARE price DECIMAL(5,2);
      DECLARE dist CHAR(24);
      DECLARE EXIT HANDLER FOR 1205, 1213 ROLLBACK;
      START TRANSACTION;
      SELECT d_next_o_id INTO o FROM district WHERE d_w_id = w AND d_id = d FOR UPDATE;
      UPDATE district SET d_next_o_id = o + 1 WHERE d_w_id = w AND d_id = d;
      INSERT INTO orders VALUES (o, d, w, nurand(1023, 1, 3000), now(), NULL, ol_cnt, 1);
      INSERT INTO new_orders VALUES (o, d, w);
      WHILE line <= ol_cnt DO
        SET i = nurand(8191, 1, {_ITEMS}), quantity = 1 + floor(rand() * 10),
          supply = if(rand() < 0.01, 1 + floor(rand() * {_WAREHOUSES}), w);
        SELECT i_price INTO price FROM item WHERE i_id = i;
        SELECT s_dist_01 INTO dist FROM stock WHERE s_w_id = supply AND s_i_id = i FOR UPDATE;
        UPDATE stock SET s_quantity = if(s_quantity >= quantity + 10, s_quantity - quantity,
            s_quantity - quantity + 91),
          s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (supply <> w)
          WHERE s_w_id = supply AND s_i_id = i;
        INSERT INTO order_line VALUES (o, d, w, line, i, supply, NULL, quantity, quantity * price, dist);
        SET line = line + 1;
      END WHILE;
      IF rand() < 0.01 THEN ROLLBACK; ELSE COMMIT; END IF;
    END //
    CREATE PROCEDURE payment(w INT, d INT)
    BEGIN
      DECLARE c INT DEFAULT nurand(1023, 1, 3000);
      DECLARE amount DECIMAL(6,2) DEFAULT 1 + rand() * 4999;
      DECLARE EXIT HANDLER FOR 1205, 1213 ROLLBACK;
      START TRANSACTION;
      UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w;
      UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d;
      UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
          c_payment_cnt = c_payment_cnt + 1,
          c_data = if(c_credit = 'BC', left(concat_ws(' ', c, d, w, d, w, amount, c_data), 500), c_data)
        WHERE c_w_id = w AND c_d_id = d AND c_id = c;
      INSERT INTO history SELECT c, d, w, d, w, now(), amount, concat(w_name, '    ', d_name)
        FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = w AND d_id = d;
      COMMIT;
    END //
    CREATE PROCEDURE delivery(w INT)
    BEGIN
      DECLARE d INT DEFAULT 1;
      DECLARE o, c INT;
      DECLARE total DECIMAL(12,2);
      DECLARE carrier INT DEFAULT 1 + floor(rand() * 10);
      DECLARE EXIT HANDLER FOR 1205, 1213 ROLLBACK;
      START TRANSACTION;
      WHILE d <= 10 DO
        SET o = NULL;
        SELECT no_o_id INTO o FROM new_orders WHERE no_w_id = w AND no_d_id = d ORDER BY no_o_id LIMIT 1;
        IF o IS NOT NULL THEN
          DELETE FROM new_orders WHERE no_w_id = w AND no_d_id = d AND no_o_id = o;
          SELECT o_c_id INTO c FROM orders WHERE o_w_id = w AND o_d_id = d AND o_id = o;
          UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = o;
          UPDATE order_line SET ol_delivery_d = now() WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
          SELECT sum(ol_amount) INTO total FROM order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
          UPDATE customer SET c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = w AND c_d_id = d AND c_id = c;
        END IF;
        SET d = d + 1;
      END WHILE;
      COMMIT;
    END //
    CREATE PROCEDURE mix(transactions INT)
    BEGIN
      DECLARE w, d, turn INT;
      WHILE transactions > 0 DO
        SET w = 1 + floor(rand() * {_WAREHOUSES}), d = 1 + floor(rand() * 10), turn = floor(rand() * 100);
        IF turn < 45 THEN CALL new_order(w, d);
        ELSEIF turn < 88 THEN CALL payment(w, d);
        ELSEIF turn < 92 THEN CALL delivery(w);
        END IF;
        SET transactions = transactions - 1;
      END WHILE;
    END //
    DELIMITER ;
    """)

_TPCC_BYTES = 5_400
_DOCUMENTS_BYTES = 900
"""What a transaction takes in the log, roughly; only the size of each step depends on it."""


def _record_tpcc(server: Server, size: int) -> None:
    while (missing := size * MEGABYTE - log_size(server)) > 0:
        calls = max(20, min(4_000, missing // (_TPCC_BYTES * _SESSIONS)))
        with ThreadPoolExecutor(_SESSIONS) as sessions:
            list(sessions.map(partial(server.script, db="bench"), [f"CALL mix({calls});\n"] * _SESSIONS))


DOCUMENTS_TABLES = dedent("""\
    CREATE TABLE documents (id BIGINT PRIMARY KEY, pieces INT NOT NULL, price DECIMAL(10,2) NOT NULL,
      weight DOUBLE NULL, name VARCHAR(100) NOT NULL, status VARCHAR(12) NOT NULL, doc JSON NOT NULL)
      ENGINE=InnoDB;
    """)

DOCUMENTS_PREPARE = work_procedure(
    dedent("""\
    INSERT INTO documents VALUES (number, floor(rand() * 1000), rand() * 10000,
      if(number % 7 = 0, NULL, rand() * 100),
      concat(elt(1 + number % 5, 'Jürgen Groß, Köln ', 'Пётр Иванов, Москва ', '王小明, 北京 ',
        'Ann Lee, Leeds ', 'Ζωή Παππά, Αθήνα '), number),
      elt(1 + floor(rand() * 4), 'new', 'paid', 'sent', 'returned'),
      json_merge_preserve(
        json_object('sku', concat('SKU-', left(sha2(number, 256), 10)), 'count', floor(rand() * 100000),
          'score', rand(), 'tags', json_array('a', number % 13, json_array(rand() * 90, 'nested'))),
        if(number % 2, json_object('lat', rand() * 180 - 90, 'lon', rand() * 360 - 180, 'city', 'Zürich'),
          '{}'),
        if(number % 3, json_object('comment', 'to be left with the neighbour', 'open', true), '{}'),
        if(number % 5, json_object('size', json_object('w', number % 97, 'h', number % 89 / 8.0),
          'rank', floor(rand() * 5000000000), 'parent', null), '{}')));
    IF done % 2 = 1 THEN
      UPDATE documents SET status = 'paid', doc = json_set(doc, '$.count', floor(rand() * 100000),
          '$.score', rand())
        WHERE id = number - step;
    END IF;
    """)
)


def _record_documents(server: Server, size: int) -> None:
    """Insert documents and change every second one; one of three sessions logs changes as differences."""
    partial_json = "SET SESSION binlog_row_value_options = 'PARTIAL_JSON';\n"
    call_procedure(server, size, _DOCUMENTS_BYTES, ["", "", partial_json])


WORKLOADS = (
    Recipe(
        kind="sysbench",
        title="sysbench's oltp_read_write and oltp_write_only, four tables",
        version=1,
        server=MySQLServer,
        options=FAST_MYSQL,
        tables="",
        prepare="",
        record=_record_sysbench,
    ),
    Recipe(
        kind="sysbench-zstd",
        title="the same in compressed payloads",
        version=1,
        server=MySQLServer,
        options=(*FAST_MYSQL, COMPRESSED),
        tables="",
        prepare="",
        record=_record_sysbench,
    ),
    Recipe(
        kind="sysbench-tables",
        title="the same on 800 tables of 100 rows",
        version=1,
        server=MySQLServer,
        options=FAST_MYSQL,
        tables="",
        prepare="",
        record=_record_many_tables,
    ),
    Recipe(
        kind="sysbench-mariadb",
        title="the same on MariaDB, in latin1",
        version=1,
        server=MariaDBServer,
        options=(*FAST_MARIADB, _LATIN1),
        tables="",
        prepare="",
        record=_record_sysbench,
    ),
    Recipe(
        kind="tpcc",
        title="TPC-C's mix of transactions, two warehouses",
        version=1,
        server=MySQLServer,
        options=FAST_MYSQL,
        tables=TPCC_TABLES,
        prepare=TPCC_PREPARE,
        record=_record_tpcc,
    ),
    Recipe(
        kind="documents",
        title="a table with a JSON document a row",
        version=1,
        server=MySQLServer,
        options=FAST_MYSQL,
        tables=DOCUMENTS_TABLES,
        prepare=DOCUMENTS_PREPARE,
        record=_record_documents,
    ),
    Recipe(
        kind="documents-zstd",
        title="the same in compressed payloads",
        version=1,
        server=MySQLServer,
        options=(*FAST_MYSQL, COMPRESSED),
        tables=DOCUMENTS_TABLES,
        prepare=DOCUMENTS_PREPARE,
        record=_record_documents,
    ),
)
"""Recipes of these logs. A log of compressed payloads is as long as the others, and so holds more."""
