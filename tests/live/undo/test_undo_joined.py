"""Many rows that one statement undoes: what the client prints, and the rows, are as by a statement each."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.undo import joined_rows
from binx.undo.options import OnConflict
from testdata.servers import Server, ServerError
from tests.live.logs import logs_of
from tests.live.undo.test_undo import undo_of

KEYS = {
    "small numbers": ("TINYINT", "{n} - 20"),
    "numbers without sign": ("BIGINT UNSIGNED", "IF({n} % 2, {n}, 18446744073709551615 - {n})"),
    "decimals": ("DECIMAL(30, 5)", "{n} / 4 + 12345678901234567890"),
    "text": ("VARCHAR(20) CHARACTER SET utf8mb4", "CONCAT('ä', {n}, ' ')"),
    "latin text": ("VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_german1_ci", "CONCAT('é\\'', {n})"),
    "narrow text": ("VARCHAR(9) CHARACTER SET utf8mb3", "CONCAT('é日', {n})"),
    "wide text": ("CHAR(9) CHARACTER SET utf16", "CONCAT('日', {n})"),
    "bytes": ("BINARY(4)", "LPAD(CHAR({n}), 3, CHAR(0))"),
    "dates": ("DATE", "'2024-02-01' + INTERVAL {n} DAY"),
    "moments": ("DATETIME(3)", "'2024-02-01 10:00:00.125' + INTERVAL {n} HOUR"),
}
COLUMNS = """
    i MEDIUMINT, u BIGINT UNSIGNED, p DECIMAL(40, 10), f FLOAT, d DOUBLE, b BIT(33), t BIT(1), y YEAR,
    e ENUM('x', '2', 'é') CHARACTER SET latin1, s SET('p', 'q', 'é'), c CHAR(9) CHARACTER SET latin1,
    l TEXT CHARACTER SET utf8mb4, g VARCHAR(9) CHARACTER SET gbk, z TEXT CHARACTER SET utf8mb3,
    o BLOB, q VARBINARY(9), h TIME(4), a DATE, m DATETIME(6), w TIMESTAMP(2) NULL, j JSON,
    r INT AS (i * 2), v INT, no INT
"""
VALUES = (
    "-5, 18446744073709551615, 12345678901234567890.5, -0e0, 0.1, 8589934591, 1, 2024, 'é', 'p,é', 'é ',"
    " '日本\\n''x''', '中', 'ß', x'00ff', x'', '-838:59:59.5', '2024-02-29', '9999-12-31 23:59:59.999999',"
    " '2037-01-19 03:14:07.25', '{\"a\": [1, \"é\", 1.5]}', 1",
    "0, 0, -0.0000000001, 3.4e38, 1e300, 0, 0, 1901, '2', '', '', '', '', '', '', 'abc', '00:00:00',"
    " '1000-01-01', '1000-01-01 00:00:00', '2000-01-01 00:00:01', '[]', 2",
    f"{', '.join(['NULL'] * 21)}, 3",
)
ROWS = 24
UPDATE = """UPDATE small.t SET i = no, u = u DIV 2, p = p / 2, f = IF(no % 2, 0e0, -0e0),
    d = IFNULL(d, -0e0), b = 5, t = NULL, y = 0, e = no % 4, s = no % 8, c = CONCAT(no, 'É'),
    l = REPEAT('ß', no), g = '字', z = NULL, o = x'80', q = NULL, h = '10:11:12.3456', a = NULL,
    m = '2020-01-01', w = NULL, j = '{"n": 1}', v = no"""
SINCE = """DELETE FROM small.t WHERE no % 6 = 1; UPDATE small.t SET l = 'since' WHERE no % 6 = 2;
    UPDATE small.t SET d = -d WHERE no % 6 = 3;
    UPDATE small.t SET i = 7, w = '2024-01-01' WHERE no % 6 = 4; UPDATE small.t SET v = v WHERE no % 6 = 5"""
ALL_ROWS = (
    "SELECT no, HEX(id), i, u, p, f, d, HEX(b), HEX(t), y, e, e + 0, s, HEX(c), HEX(l), HEX(g), HEX(z),"
    " HEX(o), HEX(q), h, a, m, w, j, r, v FROM small.t ORDER BY no"
)


NAMES = "id, i, u, p, f, d, b, t, y, e, s, c, l, g, z, o, q, h, a, m, w, j, v, no"
CHANGES = {"update": UPDATE, "insert": f"INSERT INTO small.t ({NAMES}) SELECT {NAMES} FROM small.u"}
SESSION = "SET NAMES utf8mb4; SET sql_mode = '', time_zone = '+00:00'"
FORMS = {"a statement each": 1_000_000, "one statement": 1}


def made_with(server: Server, key: str, change: str) -> list[Path]:
    """The logs that make a table, and change its rows."""
    kind, value = KEYS[key]
    table = f"(id {kind} PRIMARY KEY, {COLUMNS}) ENGINE=InnoDB"
    rows = ", ".join(f"({value.format(n=n)}, {VALUES[n % 3]}, {n})" for n in range(1, ROWS + 1))
    source = "u" if change == "insert" else "t"
    return logs_of(
        server,
        f"{SESSION}; CREATE DATABASE small; USE small; CREATE TABLE t {table}; CREATE TABLE u {table};"
        f" INSERT INTO {source} ({NAMES}) VALUES {rows}",
        f"{SESSION}; {CHANGES[change]}",
    )


def undone_with(server: Server, key: str, change: str, since: str, on_conflict: OnConflict) -> list[object]:
    """What the client prints, and the rows after it."""
    made, log = made_with(server, key, change)
    server.sql(f"{SESSION}; {since}")
    script = undo_of(log, tables=made, on_conflict=on_conflict)
    assert (b"UNION ALL VALUES" in script) == (joined_rows.FEWEST == 1)
    try:
        lines = server.script(script).splitlines()
    except ServerError as error:
        lines = [str(error).splitlines()[-1]]
    keys = sorted(lines[0].split("; "))
    return [keys, lines[1:], server.query(ALL_ROWS)]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("key", KEYS)
def test_what_is_printed_and_left_is_as_by_a_statement_for_each_row(
    server: Server, monkeypatch: pytest.MonkeyPatch, key: str, change: str
) -> None:
    for on_conflict, since in ((OnConflict.STOP, ""), (OnConflict.SKIP, SINCE), (OnConflict.FORCE, SINCE)):
        results = []
        for fewest in FORMS.values():
            monkeypatch.setattr(joined_rows, "FEWEST", fewest)
            results.append(undone_with(server, key, change, since or "DO 0", on_conflict))
        assert results[0] == results[1]


def test_many_rows_take_few_statements(server: Server) -> None:
    made, log = logs_of(
        server,
        "CREATE DATABASE small; USE small; CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t"
        " WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, i FROM n",
        "USE small; UPDATE t SET v = v + 1; INSERT INTO t SELECT id + 1000, v FROM t;"
        "DELETE FROM t WHERE id > 9",
    )
    script = undo_of(log, tables=made)
    assert sum(script.count(word) for word in (b"\nUPDATE ", b"\nDELETE ", b"\nINSERT ")) < 10
    assert server.script(script) == "small.t\t3591\t0\n"
    assert server.query("SELECT COUNT(*), SUM(v), SUM(id) FROM small.t") == [("900", "405450", "405450")]
