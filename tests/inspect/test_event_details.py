"""Transactions and the life of a row, as people read them."""

from __future__ import annotations

import io
import json
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from binx.errors import AbsentError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.event.header import HEADER_SIZE
from binx.inspect.event_details import Showing, ShownEvent, ShownTransaction
from binx.inspect.event_fields import hex_lines
from binx.inspect.followed_keys import key_literal
from binx.inspect.row_history import RowChange, RowLife
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.log.transaction_events import RawEvent
from binx.rows import decoder as decoder_module
from binx.rows.ddl.catalog import Catalog
from binx.slices import rendering
from binx.slices.json_lines import write_json
from binx.slices.search import Search
from binx.where.condition import Condition
from tests.conftest import SHOPS, TESTDATA
from tests.log import building as b
from tests.slices.sql.sql_of import json_of

LOGS = sorted(TESTDATA.glob("*/small/*.binlog"))
CHANGE = re.compile(rb"^### (?:INSERT INTO|UPDATE|DELETE FROM) `", re.MULTILINE)


def name_of(path: Path) -> str:
    return f"{path.parent.parent.name}-{path.stem}"


class Kept(NamedTuple):
    """An event with its rows."""

    raw: RawEvent
    row_count: int | None
    rows: list[dict[str, Any]]


@pytest.fixture(params=LOGS, ids=name_of)
def chain(request: pytest.FixtureRequest) -> Iterator[list[ChainLog]]:
    with BinlogFile.open(str(request.param)) as file:
        yield [ChainLog.of(file)]


def shown(chain: list[ChainLog], selection: Selection | None = None, **options: Any) -> list[Any]:
    """Transactions, and events with their rows, taken at once as the next event's come in their place."""
    items: list[Any] = []
    for item in Showing(chain, selection or Selection(), **options):
        if isinstance(item, ShownEvent):
            items.append(Kept(item.raw, item.row_count, list(item.rows)))
        else:
            items.append(item)
    return items


def test_events_of_transactions_fill_their_places(chain: list[ChainLog]) -> None:
    ends: list[int] = []
    for item in shown(chain):
        if isinstance(item, ShownTransaction):
            ends.append(item.facts["start"])
        elif item.raw.inner is None:
            assert item.raw.header.position == ends[-1]
            ends[-1] = item.raw.header.end
            assert len(item.raw.data) == item.raw.header.size
    assert ends == [item.facts["end"] for item in shown(chain) if isinstance(item, ShownTransaction)]


def test_rows_are_those_of_json_and_as_many_as_the_servers_reader_prints(chain: list[ChainLog]) -> None:
    rows = []
    for item in shown(chain):
        if isinstance(item, Kept):
            own = list(item.rows)
            assert len(own) == (item.row_count or 0)
            rows += own
    printed = Path(chain[0].file.path).with_suffix(".txt").read_bytes()
    unprintable = 2 if chain[0].file.name.startswith("all_types") and b"9.7" in printed else 0
    if chain[0].file.name.startswith("times_with_fractions"):
        # MariaDB's prints none of times with fractions of before 10.1, of which it does not know the bytes.
        unprintable = len(rows)
    # The reader of MySQL 9.7 prints no rows of tables with a VECTOR column.
    assert len(rows) - len(CHANGE.findall(printed)) == unprintable
    output = io.BytesIO()
    write_json(Search(chain, Selection()).selected(), output, Catalog(), rows=True)
    lines = [json.loads(line) for line in output.getvalue().splitlines()]
    if "savepoints" in chain[0].file.name or "rollback" in chain[0].file.name:
        # What was undone is no change, and stands in the log.
        assert len(lines) <= len(rows)
    else:
        assert rows == [
            {key: one[key] for key in one if not key.startswith(("trans", "commit_"))} for one in lines
        ]


def test_a_transaction_that_its_log_names_is_shown_without_the_files_before(testdata: Path) -> None:
    demo = json.loads((testdata / "mysql-9.7" / "shop" / "demo.json").read_text())
    paths = sorted((testdata / "mysql-9.7" / "shop").glob("mysql-bin.0*"))
    files = [BinlogFile.open(str(path)) for path in paths]
    showing = Showing([ChainLog.of(file) for file in files], Selection(gtids=GtidSet.parse(demo["gtid"])))
    first, *events = list(showing)
    assert isinstance(first, ShownTransaction)
    assert first.facts["gtid"] == demo["gtid"]
    counts = [item.row_count or 0 for item in events if isinstance(item, ShownEvent)]
    assert sum(counts) == sum(sum(kinds.values()) for kinds in demo["tables"].values())
    assert showing.search.passed_over > 0


def test_rows_that_nobody_takes_are_passed_over(chain: list[ChainLog]) -> None:
    names = [item.raw.header.name for item in Showing(chain, Selection()) if isinstance(item, ShownEvent)]
    assert names == [item.raw.header.name for item in shown(chain) if isinstance(item, Kept)]


@pytest.mark.parametrize("copied", [1, 7, 100])
def test_rows_are_whole_however_they_are_copied(
    testdata: Path, monkeypatch: pytest.MonkeyPatch, copied: int
) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "small" / "compressed.binlog")) as file:
        chain = [ChainLog.of(file)]
        expected = [list(item.rows) for item in shown(chain) if isinstance(item, Kept)]
        monkeypatch.setattr(rendering, "CHUNK_BYTES", copied)
        assert [list(item.rows) for item in shown(chain) if isinstance(item, Kept)] == expected


def test_bytes_are_distinguished_from_text_where_that_is_wanted(testdata: Path) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "small" / "compressed.binlog")) as file:
        items = shown([ChainLog.of(file)], readable=True)
    rows = [row for item in items if isinstance(item, Kept) for row in item.rows]
    updated = next(row for row in rows if row["table"] == "other" and row["type"] == "update")
    assert updated["before"]["data"]["hex"].startswith("00ff00ff")
    assert updated["after"]["data"] == {"hex": "01"}


def test_a_dump_has_every_byte_once_and_judges_the_checksum(chain: list[ChainLog]) -> None:
    size = chain[0].file.format.checksum_size
    for item in shown(chain):
        if isinstance(item, Kept):
            own = size if item.raw.inner is None else 0
            lines = list(hex_lines(item.raw.header, item.raw.data, own))
            assert b"".join(line.data for line in lines) == bytes(item.raw.data)
            assert all(
                line.offset == sum(len(one.data) for one in lines[:number])
                for number, line in enumerate(lines)
            )
            assert (lines[-1].meaning.endswith(", right")) == bool(own)


def test_a_wrong_checksum_is_called_so(testdata: Path) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "small" / "compressed.binlog")) as file:
        event = next(item for item in shown([ChainLog.of(file)]) if isinstance(item, Kept))
    data = bytearray(event.raw.data)
    data[HEADER_SIZE] ^= 1
    *_, last = hex_lines(event.raw.header, memoryview(data), 4)
    assert "WRONG" in last.meaning


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_transactions_that_go_on_in_the_next_relay_log_are_shown_whole(server: str) -> None:
    with open_chain([str(TESTDATA / server / "relay" / "relay-bin.index")]) as chain:
        rows = [row for item in shown(chain) if isinstance(item, Kept) for row in item.rows]
        output = io.BytesIO()
        write_json(Search(chain, Selection()).selected(), output, Catalog(), rows=True)
    assert len(rows) == len(output.getvalue().splitlines()) > 0


MYSQL, MARIADB = TESTDATA / "mysql-9.7", TESTDATA / "mariadb-10.11"


def life_of(paths: Sequence[Path], table: str, *key: str, condition: str | None = None) -> list[RowChange]:
    """The changes of a row."""
    with open_chain([str(path) for path in paths]) as chain:
        wanted = None if condition is None else Condition(condition)
        return list(RowLife(chain, Selection(tables=(table,)), key=key, condition=wanted))


def rows_of(changes: Iterable[RowChange]) -> list[dict[str, Any]]:
    """The changes of rows among them."""
    return [change.row for change in changes if not change.is_statement]


def sifted(
    paths: Sequence[Path], table: str, columns: Sequence[str], key: Sequence[Any]
) -> list[dict[str, Any]]:
    """The same, row by row in Python: the keys that the row has had are followed as they come."""
    keys = [list(key)]
    found = []
    for line in json_of(*paths, rows=True).splitlines():
        row = json.loads(line)
        if f"{row['db']}.{row['table']}" != table:
            continue
        before, after = row.get("before", {}), row.get("after", {})
        old = [before.get(name) for name in columns] if before else None
        new = [after.get(name, before.get(name)) for name in columns] if after else None
        if old in keys or new in keys:
            found.append(row)
        if old in keys and new is not None and new not in keys:
            keys.append(new)
    return found


KEYS = [
    ("shop.orders", ["id"], [9007199254740992]),
    ("shop.customers", ["id"], [8]),
    ("shop.products", ["id"], [7]),
    ("shop.order_items", ["order_id", "line"], [9007199254740992, 1]),
    ("shop.payments", ["id"], [1]),
]


@pytest.mark.parametrize("server", SHOPS)
@pytest.mark.parametrize(("table", "columns", "key"), KEYS, ids=[table for table, _, _ in KEYS])
def test_all_changes_of_the_key_are_listed_in_order(
    server: str, table: str, columns: list[str], key: list[Any]
) -> None:
    expected = sifted(SHOPS[server], table, columns, key)
    assert expected
    assert rows_of(life_of(SHOPS[server], table, *map(str, key))) == expected


@pytest.mark.parametrize("folder", [MYSQL, MARIADB], ids=lambda folder: folder.name)
def test_a_row_is_followed_to_its_next_key(folder: Path) -> None:
    """Images are minimal there: the key is all that an update has of a row."""
    paths = [folder / "small" / "row_image_minimal.binlog"]
    changes = life_of(paths, "small.keyed", "4")
    assert rows_of(changes) == sifted(paths, "small.keyed", ["id"], [4])
    assert [change.row["after"]["id"] for change in changes if change.moved] == [40]
    later = life_of(paths, "small.keyed", "40")
    assert rows_of(later) == rows_of(changes)[-len(rows_of(later)) :]


def moved(pairs: Sequence[tuple[int, int]]) -> bytes:
    """UPDATE_ROWS of one INT column: from what to what."""
    images = b"".join(b"\0" + struct.pack("<i", value) for pair in pairs for value in pair)
    return b.event(31, (9).to_bytes(6, "little") + struct.pack("<HH", 1, 2) + b"\x01\x01\x01" + images)


@given(st.lists(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1), max_size=12))
@example([[(2, 3)], [(1, 2)], [(3, 4)], [(2, 5)]])
@example([[(1, 2)], [(2, 3)], [(3, 4)], [(1, 3)]])
@settings(max_examples=30)
def test_a_key_that_another_row_had_before_is_followed_only_from_then_on(
    tmp_path_factory: pytest.TempPathFactory, transactions: list[list[tuple[int, int]]]
) -> None:
    path = tmp_path_factory.mktemp("moved") / "mysql-bin.000001"
    events = (
        event
        for number, pairs in enumerate(transactions, 1)
        for event in (b.gtid(number), b.BEGIN, b.table_map(), moved(pairs), b.xid())
    )
    path.write_bytes(
        b.whole_log(*events, b.gtid(99), b.BEGIN, b.table_map(), moved([(1, 1)]), b.xid(), b.STOP)
    )
    tables = Catalog()
    tables.load_dump("CREATE DATABASE shop; USE shop; CREATE TABLE orders (id INT PRIMARY KEY);")
    keys, expected = {1}, []
    for old, new in [*(pair for pairs in transactions for pair in pairs), (1, 1)]:
        if old in keys or new in keys:
            expected.append((old, new))
        if old in keys:
            keys.add(new)
    with open_chain([str(path)]) as chain:
        life = RowLife(chain, Selection(tables=("shop.orders",)), key=("1",), catalog=tables)
        assert [(change.row["before"]["id"], change.row["after"]["id"]) for change in life] == expected


TABLE_STATEMENTS = [
    ("CREATE TABLE orders (id INT PRIMARY KEY)", "create", False),
    ("CREATE OR REPLACE TABLE shop.orders (id INT PRIMARY KEY)", "create", True),
    ("/* nightly */ CREATE OR REPLACE TABLE orders (id INT PRIMARY KEY)", "create", True),
    ("ALTER TABLE `shop`.`orders` ADD n INT", "alter", False),
    ("ALTER TABLE orders DROP PARTITION p0", "alter", True),
    ("ALTER TABLE other EXCHANGE PARTITION p0 WITH TABLE orders", "alter", True),
    ("ALTER TABLE shop.orders RENAME TO shop.old", "rename", True),
    ("RENAME TABLE old TO orders", "rename", True),
    ("TRUNCATE orders", "truncate", True),
    ("TRUNCATE TABLE `shop`.`orders`", "truncate", True),
    ("DROP TABLE IF EXISTS other, orders", "drop", True),
    ("DROP DATABASE shop", "drop", True),
    ("CREATE OR REPLACE DATABASE shop", "drop", True),
    ("UPDATE orders SET n = n + 1", "statement", True),
    ("DELETE FROM shop.orders", "statement", True),
    ("CREATE TABLE items (id INT, FOREIGN KEY (id) REFERENCES orders (id))", None, False),
    ("CREATE TEMPORARY TABLE orders (id INT)", None, False),
    ("CREATE VIEW v AS SELECT * FROM orders", None, False),
    ("GRANT SELECT ON shop.orders TO someone", None, False),
    ("DROP TABLE customers", None, False),
    ("DROP DATABASE other", None, False),
    ("CREATE DATABASE shop", None, False),
    ("UPDATE customers SET n = n + 1", None, False),
]


@pytest.mark.parametrize(("sql", "kind", "uncertain"), TABLE_STATEMENTS)
def test_statements_on_the_table_stand_among_the_changes_of_the_row(
    sql: str, kind: str | None, uncertain: bool, tmp_path: Path
) -> None:
    path = tmp_path / "mysql-bin.000001"
    insert = [b.BEGIN, b.table_map(), b.rows(1), b.xid()]
    path.write_bytes(b.whole_log(b.gtid(1), *insert, b.gtid(2), b.query(sql), b.STOP))
    tables = Catalog()
    tables.load_dump("CREATE DATABASE shop; USE shop; CREATE TABLE orders (id INT PRIMARY KEY);")
    with open_chain([str(path)]) as chain:
        life = RowLife(chain, Selection(tables=("shop.orders",)), key=("1",), catalog=tables)
        found = [(change.row["type"], change.sql, change.uncertain) for change in life]
    assert found == [("insert", None, False), *([] if kind is None else [(kind, sql, uncertain)])]


@pytest.mark.parametrize("folder", ["mysql-9.7", "mariadb-10.11"])
def test_what_is_done_to_a_temporary_table_is_not_done_to_that_in_whose_place_it_stands(folder: str) -> None:
    """MariaDB does not log that RENAME TABLE is about a temporary one; that it was created is logged."""
    changes = life_of([TESTDATA / folder / "small" / "temporary_tables.binlog"], "small.t", "1")
    assert [change.row["type"] for change in changes] == ["create", "insert", "alter"]


def test_a_table_of_which_the_log_has_statements_alone_has_a_history() -> None:
    changes = life_of([MYSQL / "small" / "statements.binlog"], "small.*", "1")
    assert changes[0].row["type"] == "create"
    assert any(change.uncertain for change in changes)


def test_pieces_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = life_of(SHOPS["mysql-9.7"], "shop.customers", "8")
    monkeypatch.setattr(decoder_module, "ROW_GROUP_ROWS", 3)
    assert life_of(SHOPS["mysql-9.7"], "shop.customers", "8") == whole


def test_a_condition_in_place_of_a_key() -> None:
    paths = SHOPS["mysql-9.7"]
    changes = life_of(paths, "shop.orders", condition="after.status = 'paid' AND before.status = 'new'")
    expected = [
        row
        for line in json_of(*paths, rows=True).splitlines()
        if (row := json.loads(line))["table"] == "orders"
        and row.get("before", {}).get("status") == "new"
        and row.get("after", {}).get("status") == "paid"
    ]
    assert rows_of(changes) == expected
    assert expected


def test_who_made_a_change_and_where_it_is() -> None:
    with open_chain([str(path) for path in SHOPS["mysql-9.7"]]) as chain:
        life = RowLife(chain, Selection(tables=("shop.orders",)), key=["9007199254740992"])
        found = [json.loads(b"".join(text)) for _, text in life.lines()]
    assert found[0]["type"] == "create"
    document = found[1]
    assert document["commit_version"] == (1 << 32) + document["start"]
    assert (document["file"], document["server_id"]) == ("mysql-bin.000001", 97)
    assert document["thread_id"] > 0
    assert document["moved"] is False


def test_bytes_are_given_as_digits() -> None:
    (first, *_) = rows_of(life_of(SHOPS["mysql-9.7"], "shop.products", "7"))
    assert first == rows_of(life_of(SHOPS["mysql-9.7"], "shop.products", condition="sku = x'00000700'"))[0]
    literal = key_literal("0x00000700")
    assert literal.value == b"\0\0\7\0"
    assert key_literal("0xyz").value == "0xyz"


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(UsageError, match=r"\(order_id, line\): expected 2 values, found 1"):
        life_of(SHOPS["mysql-9.7"], "shop.order_items", "1")


def test_a_table_without_a_known_key_is_refused() -> None:
    with pytest.raises(UsageError, match="has no primary key; use --where"):
        life_of(SHOPS["mysql-9.7"], "shop.audit_log", "1")


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a number to compare id with, found 'one'"):
        life_of(SHOPS["mysql-9.7"], "shop.orders", "one")


def test_a_table_without_changes_is_reported() -> None:
    with pytest.raises(AbsentError, match=r"no changes of \S+ in the files"):
        life_of(SHOPS["mysql-9.7"], "shop.nothing", "1")


@pytest.mark.parametrize(("key", "condition"), [((), None), (("1",), "id = 1")])
def test_either_a_key_or_a_condition(key: tuple[str, ...], condition: str | None) -> None:
    with pytest.raises(UsageError, match="either a key"):
        life_of(SHOPS["mysql-9.7"], "shop.orders", *key, condition=condition)
