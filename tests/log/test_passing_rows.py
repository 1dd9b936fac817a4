"""A walk that looks for statements only counts the transactions that have none."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.log.scanning import OnDamage
from tests.conftest import TESTDATA
from tests.log.building import event, gtid, mariadb_gtid, query, rows, scanner, table_map, xid

LOGS = sorted(path for names in ("*/small/*.binlog", "*/shop/*-bin.0*") for path in TESTDATA.glob(names))

CHANGE = table_map() + rows(1, 2)


def walked(path: Path, *, passes_rows: bool) -> tuple[dict[int, tuple[int, int]], int, int]:
    """End and statements of each transaction that a walk gives, by start; how many it left out; its end."""
    found = {}
    with BinlogFile.open(str(path)) as file:
        scan = file.scan(Level.LEVEL_EVENTS, verify=False, on_damage=OnDamage.STOP)
        if passes_rows:
            scan.pass_rows()
        for table in scan:
            for index in range(len(table)):
                start, end, statements = (table.value(name, index) for name in ("start", "end", "statements"))
                found[start] = end, statements
        return found, scan.left_out, scan.position


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}{path.suffix}")
def test_what_is_left_out_has_no_statement_and_all_else_is_the_same(path: Path) -> None:
    every, none, end = walked(path, passes_rows=False)
    found, left_out, end_too = walked(path, passes_rows=True)
    assert none == 0
    assert end_too == end
    assert found.items() <= every.items()
    assert left_out == len(every) - len(found)
    assert not any(statements for start, (_, statements) in every.items() if start not in found)


def test_most_of_what_servers_log_is_left_out() -> None:
    of_logs = [walked(path, passes_rows=True) for path in LOGS if path.parent.name == "shop"]
    assert sum(left_out for _, left_out, _ in of_logs) > 9 * sum(len(found) for found, _, _ in of_logs)


@pytest.mark.parametrize(
    ("name", "events", "is_left_out"),
    [
        ("MySQL", gtid() + query("BEGIN") + CHANGE + xid(), True),
        ("MariaDB", mariadb_gtid() + CHANGE + xid(), True),
        ("two statements", gtid() + query("BEGIN") + CHANGE + CHANGE + xid(), True),
        (
            "a table made of a query",
            gtid() + query("BEGIN") + query("CREATE TABLE t (i INT)") + CHANGE + xid(),
            False,
        ),
        ("a statement behind rows", mariadb_gtid() + CHANGE + query("DROP TABLE t") + xid(), False),
        ("a statement in place of BEGIN", gtid() + query("DROP TABLE t"), False),
        ("a savepoint", gtid() + query("BEGIN") + CHANGE + query("SAVEPOINT s") + CHANGE + xid(), False),
        ("an end by COMMIT", gtid() + query("BEGIN") + CHANGE + query("COMMIT"), False),
        ("without a GTID", query("BEGIN") + CHANGE + xid(), False),
        ("an unknown event", gtid() + query("BEGIN") + event(99, b"", flags=0x80) + CHANGE + xid(), False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_transaction_is_left_out_where_all_its_events_are_of_rows(
    name: str, events: bytes, is_left_out: bool
) -> None:
    walk = scanner(Level.LEVEL_EVENTS)
    walk.pass_rows()
    walk.feed(events, 4, 4 + len(events))
    assert walk.passed == is_left_out
    assert len(walk.new_table()) == (not is_left_out)
    assert walk.position == 4 + len(events)


def test_one_whose_end_a_window_does_not_show_is_walked() -> None:
    events = gtid() + query("BEGIN") + CHANGE + xid()
    walk = scanner(Level.LEVEL_EVENTS)
    walk.pass_rows()
    walk.feed(events[:-1], 4, 4 + len(events))
    walk.feed(events[walk.position - 4 :], walk.position, 4 + len(events))
    assert walk.passed == 0
    assert len(walk.new_table()) == 1
