"""The decoder: the same rows whatever the batches, memory that stays small, and damage that is told."""

from __future__ import annotations

import itertools
import struct
import weakref
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from binx.errors import BinxError, DamagedError, UndecodableError, UnsupportedError
from binx.event.rows_events import ROWS_TYPES
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.log.transaction_events import transaction_events
from binx.rows.batches import ChangeBatch
from binx.rows.columns import arrays
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import STATEMENTS_ONLY, ChangeDecoder, DecoderOptions
from binx.rows.logged_statements import Statement
from binx.source import READ_BYTES
from tests.conftest import TESTDATA
from tests.log import building
from tests.log.searching import Bytes
from tests.sanitizers import SANITIZED

SHOP = TESTDATA / "mysql-9.7" / "shop"
COMPRESSED = SHOP / "mysql-bin.000003"
SMALL = TESTDATA / "mysql-9.7" / "small"


def decode(
    path: Path, options: DecoderOptions | None = None, verify: bool = True, catalog: Catalog | None = None
) -> list[ChangeBatch | Statement]:
    with BinlogFile.open(str(path)) as file:
        decoder = ChangeDecoder(file, catalog or Catalog(), options=options)
        items: list[ChangeBatch | Statement] = []
        for table in Scan(file, Level.LEVEL_TABLES, verify=verify):
            items += decoder.decode(table, table.mask())
        items += decoder.finish()
        return items


def rows_by_table(items: Sequence[ChangeBatch | Statement]) -> dict[tuple[str, str], pa.Table]:
    batches: dict[tuple[str, str], list[pa.RecordBatch]] = {}
    for item in items:
        if isinstance(item, ChangeBatch):
            batches.setdefault((item.table.name, item.version), []).append(item.batch)
    return {name: pa.Table.from_batches(tables).unify_dictionaries() for name, tables in batches.items()}


@pytest.mark.parametrize("path", sorted(SHOP.glob("mysql-bin.0*")), ids=lambda path: path.name)
@pytest.mark.parametrize(
    "options",
    [DecoderOptions(row_group_rows=1), DecoderOptions(row_group_rows=7), DecoderOptions(memory=4096)],
    ids=["one row", "seven rows", "little memory"],
)
def test_batches_of_any_size_hold_the_same_rows(path: Path, options: DecoderOptions) -> None:
    expected = rows_by_table(decode(path))
    actual = rows_by_table(decode(path, options))
    assert actual.keys() == expected.keys()
    for name, table in expected.items():
        assert actual[name].to_pylist() == table.to_pylist()


def column_of(item: ChangeBatch | Statement, name: str) -> list[object]:
    return item.batch.column(name).to_pylist() if isinstance(item, ChangeBatch) else []


MANY_ROWS = building.rows(*range(1_000))


@pytest.mark.parametrize(
    "events",
    [
        (building.BEGIN, building.table_map(), MANY_ROWS, building.xid()),
        (building.compressed(building.BEGIN, building.table_map(), MANY_ROWS, building.xid()),),
    ],
    ids=["plain", "compressed"],
)
def test_the_rows_of_one_event_come_in_batches_that_keep_to_the_memory(
    events: tuple[bytes, ...], tmp_path: Path
) -> None:
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(building.whole_log(building.gtid(1), *events))
    batches = [
        item.batch for item in decode(path, DecoderOptions(memory=4096)) if isinstance(item, ChangeBatch)
    ]
    rows = pa.Table.from_batches(batches).unify_dictionaries()
    assert rows.column("_row").to_pylist() == list(range(1_000))
    assert rows.column("c1").to_pylist() == list(range(1_000))
    assert set(rows.column("_change_type").to_pylist()) == {"insert"}
    assert len(set(rows.column("_position").to_pylist())) == 1
    assert max(batch.num_rows for batch in batches) < 100


def test_of_an_event_whose_last_row_is_cut_whole_rows_alone_are_given(tmp_path: Path) -> None:
    path = tmp_path / "mysql-bin.000001"
    cut = building.event(30, MANY_ROWS[19:-2])
    path.write_bytes(
        building.whole_log(building.gtid(1), building.BEGIN, building.table_map(), cut, building.xid())
    )
    values: list[object] = []
    with BinlogFile.open(str(path)) as file:
        decoder = ChangeDecoder(file, Catalog(), options=DecoderOptions(memory=4096))
        (table,) = Scan(file, Level.LEVEL_EVENTS)
        items = itertools.chain(decoder.decode(table, table.mask()), decoder.finish())
        with pytest.raises(DamagedError):
            values.extend(value for item in items for value in column_of(item, "c1"))
        values.extend(value for item in decoder.finish() for value in column_of(item, "c1"))
    assert values == list(range(len(values)))
    assert 900 < len(values) < 1_000


def test_every_batch_is_valid_arrow() -> None:
    for path in sorted(SMALL.glob("*.binlog")):
        for item in decode(path):
            if isinstance(item, ChangeBatch):
                item.batch.validate(full=True)


def test_row_numbers_count_the_changes_of_a_transaction_across_its_tables() -> None:
    rows: dict[int, set[int]] = {}
    for item in decode(SHOP / "mysql-bin.000001"):
        if isinstance(item, ChangeBatch):
            versions = item.batch.column("_commit_version").to_pylist()
            for version, row in zip(versions, item.batch.column("_row").to_pylist(), strict=True):
                rows.setdefault(version, set()).add(row)
    assert all(numbers == set(range(len(numbers))) for numbers in rows.values())


def test_an_unwanted_table_is_counted_and_its_rows_keep_their_numbers() -> None:
    def orders(db: str, table: str) -> bool:
        return table == "orders"

    with BinlogFile.open(str(COMPRESSED)) as file:
        decoder = ChangeDecoder(file, Catalog(), orders)
        items: list[ChangeBatch | Statement] = []
        for table in Scan(file, Level.LEVEL_TABLES):
            items += decoder.decode(table, table.mask())
        items += decoder.finish()
    everything = rows_by_table(decode(COMPRESSED))
    wanted = rows_by_table(items)
    assert {name for name, _ in wanted} == {"orders"}
    for key, table in wanted.items():
        assert table.to_pylist() == everything[key].to_pylist()
    for (name, _), table in everything.items():
        if name != "orders":
            assert decoder.report.filtered["shop", name] == table.num_rows


def test_a_transaction_looked_at_for_its_statements_moves_the_catalog_and_yields_nothing() -> None:
    catalog = Catalog()
    with BinlogFile.open(str(SMALL / "ddl.binlog")) as file:
        decoder = ChangeDecoder(file, catalog)
        for table in Scan(file, Level.LEVEL_TABLES):
            mask = bytearray([STATEMENTS_ONLY]) * len(table)
            assert list(decoder.decode(table, mask)) == []
        assert list(decoder.finish()) == []
    assert len(catalog) > 0


def damaged(data: bytes, path: Path) -> None:
    """Reading it may give rows or a BinxError, and nothing else."""
    path.write_bytes(data)
    with suppress(BinxError):
        decode(path, verify=False)


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["no_checksum", "tagged_gtids", "partial_json"])
def test_a_file_cut_at_any_byte_gives_rows_or_an_error(name: str, tmp_path: Path) -> None:
    data = (SMALL / f"{name}.binlog").read_bytes()
    for size in range(1, len(data), 1 if len(data) < 1500 else 7):
        damaged(data[:size], tmp_path / "cut.000001")


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["no_checksum", "xa", "row_image_minimal"])
def test_a_file_with_a_flipped_bit_gives_rows_or_an_error(name: str, tmp_path: Path) -> None:
    data = (SMALL / f"{name}.binlog").read_bytes()
    for offset in range(0, len(data), 1 if len(data) < 1500 else 11):
        flipped = bytearray(data)
        flipped[offset] ^= 1 << (offset % 8)
        damaged(bytes(flipped), tmp_path / "flipped.000001")


def test_an_event_that_cannot_be_decoded_leaves_no_row_behind() -> None:
    """Two rows of an UPDATE, the last image cut: neither of them, nor its nulls and texts, is handed over."""
    good = building.rows(1, 2, 3)
    row = b"\0" + struct.pack("<i", 5)
    head = (9).to_bytes(6, "little") + struct.pack("<HH", 1, 2) + b"\x01\x01\x01"
    cut = building.event(31, head + row + row + row + row[:3])
    log = building.whole_log(
        building.gtid(1), building.BEGIN, building.table_map(), good, cut, building.xid(), building.STOP
    )
    file = BinlogFile(Bytes(log))
    (table,) = Scan(file, Level.LEVEL_EVENTS)
    decoder = ChangeDecoder(file, Catalog())
    with pytest.raises(DamagedError):
        list(decoder.decode(table, table.mask()))
    (batch,) = decoder.finish()
    assert batch.batch.column("c1").to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(
    "name", ["all_types", "row_image_minimal", "row_image_noblob", "partial_json", "enum_of_300", "charsets"]
)
def test_a_failed_event_changes_nothing_of_the_rows_before_it(name: str) -> None:
    """Each rows event cut before its last byte: the rows before it are as they are without the cut."""
    data = (SMALL / f"{name}.binlog").read_bytes()
    file = BinlogFile(Bytes(data))
    (table,) = Scan(file, Level.LEVEL_EVENTS)
    for index in range(len(table)):
        start, end = table.value("start", index), table.value("end", index)
        events = transaction_events(file, start, end, table.format)
        for header in [header for header, _ in events if header.type in ROWS_TYPES]:
            mask = bytearray(len(table))
            mask[: index + 1] = b"\1" * (index + 1)
            cut = bytearray(data)
            struct.pack_into("<I", cut, header.position + 9, header.size - 1)
            decoder = ChangeDecoder(BinlogFile(Bytes(bytes(cut))), Catalog())
            with pytest.raises(BinxError) as raised:
                list(decoder.decode(table, mask))
            if (raised.value.offset or 0) >= header.end - 1:
                continue  # A last row of one byte was cut off whole.
            finished = [item for item in decoder.finish() if isinstance(item, ChangeBatch)]
            for batch in finished:
                batch.batch.validate(full=True)
                assert header.position not in batch.batch.column("_position").to_pylist()
            again = ChangeDecoder(BinlogFile(Bytes(data)), Catalog())
            expected = [item for item in again.decode(table, mask) if isinstance(item, ChangeBatch)]
            expected += again.finish()
            before = rows_by_table(expected)
            for key, rows in rows_by_table(finished).items():
                assert rows.to_pylist() == before[key].to_pylist()[: len(rows)]


@pytest.mark.parametrize(
    ("statement", "is_told"),
    [
        ("ALTER TABLE orders MODIFY a SMALLINT", False),
        ("RENAME TABLE orders TO other", False),
        ("DROP DATABASE shop", False),
        ("ALTER TABLE other MODIFY a SMALLINT", True),
        ("INSERT INTO orders VALUES (1)", True),
    ],
)
def test_columns_that_change_without_a_statement_are_warned_of(
    statement: str, is_told: bool, tmp_path: Path
) -> None:
    """Table 9 has an INT, then table 10 of the same name a SMALLINT."""
    before = (building.BEGIN, building.table_map(), building.rows(1, 2), building.xid())
    small = building.table_map(10)[19:].replace(b"\x01\x03\x00\x00", b"\x01\x02\x00\x00")
    narrow = building.rows(number=30, table_id=10)[19:] + b"\0\x07\0"
    after = (building.BEGIN, building.event(19, small), building.event(30, narrow), building.xid())
    path = tmp_path / "log.000001"
    path.write_bytes(building.whole_log(*before, building.query(statement), *after))
    with BinlogFile.open(str(path)) as file:
        decoder = ChangeDecoder(file, Catalog())
        for table in Scan(file, Level.LEVEL_TABLES):
            items = [*decoder.decode(table, table.mask())]
        items += decoder.finish()
    batches = [item.batch.column("c1").to_pylist() for item in items if isinstance(item, ChangeBatch)]
    assert sorted(batches) == [[1, 2], [7]]
    warnings = [warning for warning in decoder.report.warnings if "no statement that changed them" in warning]
    assert len(warnings) == is_told
    assert all("shop.orders" in warning for warning in warnings)


_ID = (9).to_bytes(6, "little")


@pytest.mark.parametrize("count", [1, 9], ids=["that end in a value", "of a width that adds up"])
def test_rows_with_fractions_that_mariadb_does_not_log_are_decoded_where_a_definition_names_them(
    count: int, tmp_path: Path
) -> None:
    """MariaDB's rows of (INT, TIMESTAMP(2)) kept as before 10.1: a byte more than the table map tells of."""
    described = building.event(19, _ID + b"\0\0\x04shop\0\x06orders\0\x02\x03\x07\x00\x03")
    head = _ID + struct.pack("<H", 1) + b"\x02\x03"
    row = b"\xfc" + struct.pack("<i", 1) + bytes.fromhex("65937f55 43")
    rows_event = building.event(23, head + row[:-1] * count)
    more = building.event(23, head + row * count)
    before = (building.BEGIN, described)
    table = building.transactions(*before, rows_event, building.xid(), level=Level.LEVEL_TABLES)
    assert table.value("rows", 0) == count
    # The transaction is found, its rows are not counted.
    table = building.transactions(*before, more, building.xid(), level=Level.LEVEL_TABLES)
    assert (len(table), table.value("rows", 0)) == (1, 0)
    server = TESTDATA / "mariadb-10.11" / "small" / "no_checksum.binlog"
    with BinlogFile.open(str(server)) as file:
        begin = server.read_bytes()[: file.first_position]
    log = tmp_path / "log.000001"
    log.write_bytes(begin + b"".join((*before, more, building.xid())))
    with pytest.raises(UndecodableError, match=r"shop.orders .*mysql56_temporal_format=OFF"):
        decode(log)
    with pytest.raises(UndecodableError):
        decode(log, catalog=_orders_with(3))
    (batch,) = decode(log, catalog=_orders_with(2))
    assert isinstance(batch, ChangeBatch)
    moment = datetime(2024, 1, 2, 3, 13, 25, 670_000, UTC)
    assert batch.batch.column("b").to_pylist() == [moment] * count


def _orders_with(digits: int) -> Catalog:
    catalog = Catalog()
    catalog.apply(f"CREATE TABLE orders (a INT, b TIMESTAMP({digits}))", "shop")
    return catalog


def _orders(transactions: int, rows: int) -> bytes:
    """A log of inserts into (INT, VARCHAR): the row's number in the log, and the same as text."""
    described = building.event(19, _ID + b"\0\0\x04shop\0\x06orders\0\x02\x03\x0f\x02\x40\x00\x03")
    log = building.NO_CHECKSUM.read_bytes()[: BinlogFile.open(str(building.NO_CHECKSUM)).first_position]
    for first in range(0, transactions * rows, rows):
        texts = ((number, str(number).encode()) for number in range(first, first + rows))
        images = b"".join(b"\xfc" + struct.pack("<iB", number, len(text)) + text for number, text in texts)
        inserted = building.event(30, _ID + struct.pack("<HH", 1, 2) + b"\x02\x03" + images)
        log += building.BEGIN + described + inserted + building.xid()
    return log


@pytest.mark.skipif(SANITIZED, reason="the sanitizer's allocator keeps memory that is let go of")
def test_memory_of_a_batch_that_is_let_go_of_serves_the_next_one_and_shows_nothing_of_it() -> None:
    transactions, rows = 12, 6_000
    file = BinlogFile(Bytes(_orders(transactions, rows)))
    decoder = ChangeDecoder(file, Catalog(), options=DecoderOptions(row_group_rows=2 * rows))
    addresses, numbers, texts = [], [], []

    def take(batch: pa.RecordBatch) -> None:
        number, text = batch.columns[-2:]
        addresses.append({number.buffers()[1].address, text.buffers()[1].address})
        numbers.extend(number.to_pylist())
        texts.extend(text.to_pylist())

    for table in Scan(file, Level.LEVEL_TABLES, verify=False):
        for item in decoder.decode(table, table.mask()):
            assert isinstance(item, ChangeBatch)
            take(item.batch)
            del item
    assert len(addresses) == transactions // 2
    assert all(own & set().union(*addresses[:index]) for index, own in enumerate(addresses) if index > 3)
    assert numbers == list(range(transactions * rows))
    assert texts == [str(number) for number in numbers]


class _Windows(Bytes):
    """Each window in memory of its own, so that it shows whether it is still held."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.large: list[weakref.ref[_Window]] = []

    def window(self, start: int, stop: int) -> memoryview:
        window = _Window(super().window(start, stop))
        if len(window) > READ_BYTES:
            self.large.append(weakref.ref(window))
        return memoryview(window)


class _Window(bytearray):
    """Memory that can be asked whether it is gone."""


def test_the_bytes_of_a_large_event_are_gone_when_its_rows_are_handed_over() -> None:
    rows = READ_BYTES // 8
    source = _Windows(_orders(2, rows))
    file = BinlogFile(source)
    decoder = ChangeDecoder(file, Catalog(), options=DecoderOptions(row_group_rows=rows))
    numbers = []
    for table in Scan(file, Level.LEVEL_TABLES, verify=False):
        for item in decoder.decode(table, table.mask()):
            assert isinstance(item, ChangeBatch)
            assert source.large
            assert not any(window() for window in source.large)
            numbers += item.batch.column(item.batch.num_columns - 2).to_pylist()
    assert numbers == list(range(2 * rows))


def test_text_of_2_gib_by_escapes_is_an_error_that_names_the_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred bytes stand for the 2 GiB that one array of Arrow can hold."""
    log = tmp_path / "mysql-bin.000001"
    log.write_bytes((SMALL / "charsets.binlog").read_bytes().replace(b"\xc3", b"\xff"))
    assert decode(log, verify=False)
    monkeypatch.setattr(arrays, "_MOST_TEXT", 100)
    with pytest.raises(UnsupportedError, match=r"less than 2 GiB of text .* no gbk .*--schema") as caught:
        decode(log, verify=False)
    assert caught.value.path == str(log)
    assert caught.value.message.startswith("column gbk of small.east: ")
