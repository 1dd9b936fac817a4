"""Filters of primary keys: no key that a log changed is missed, few others seem to be there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import DamagedError
from binx.export.indexing import index_log
from binx.export.sidecar import write_sidecar
from binx.export.sidecar_keys import BITS_A_KEY
from binx.kernels.bloom import BASIS, hash_column, holds, make_filter
from binx.log.file import BinlogFile
from binx.log.key_texts import column_texts, key_text
from binx.log.sidecar import Sidecar
from binx.rows.batches import ChangeBatch
from binx.rows.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from tests.conftest import TESTDATA
from tests.log.sidecars import EVERY, name_of

SHOP = TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000003"
MINIMAL = TESTDATA / "mysql-9.7" / "small" / "row_image_minimal.binlog"


@contextmanager
def with_keys(log: Path, folder: Path) -> Iterator[tuple[BinlogFile, Sidecar]]:
    """A log with filters, in blocks as small as they can be."""
    with pytest.MonkeyPatch.context() as patch, BinlogFile.open(str(log)) as file:
        patch.setattr("binx.log.scan.WINDOW_BYTES", 4096)
        patch.setattr("binx.export.sidecar.BLOCK_RECORDS", 20)
        write_sidecar(file, str(folder / "log.binx"), keys=Catalog())
        sidecar = Sidecar.open(str(folder / "log.binx"), file)
        try:
            yield file, sidecar
        finally:
            sidecar.close()


def changed_keys(file: BinlogFile) -> Iterator[tuple[str, str, dict[str, Any], int]]:
    """The key of every row image that has all of it: database, table, values, the transaction's start."""
    decoder = ChangeDecoder(file, Catalog())
    items: list[object] = []
    for table in file.scan():
        items += decoder.decode(table, bytearray(b"\x01") * len(table))
    for item in [*items, *decoder.finish()]:
        if isinstance(item, ChangeBatch) and item.table.resolved.primary_key:
            columns = item.table.resolved.primary_key
            rows = item.batch.select([*columns, "_commit_version"]).to_pylist()
            for row in rows:
                key = {column: row[column] for column in columns}
                if None not in key.values():
                    yield item.table.db, item.table.name, key, row["_commit_version"] & 0xFFFFFFFF


@pytest.mark.parametrize("log", EVERY, ids=name_of)
def test_no_key_that_a_log_has_changed_is_missed(log: Path, tmp_path: Path) -> None:
    with with_keys(log, tmp_path) as (file, sidecar):
        for db, table, key, start in changed_keys(file):
            (block,) = [one for one in sidecar.directory.blocks if one.start <= start < one.end]
            assert sidecar.may_contain(block, db, table, key), (db, table, key)


def test_most_blocks_are_ruled_out_for_a_key(tmp_path: Path) -> None:
    with with_keys(SHOP, tmp_path) as (file, sidecar):
        blocks = sidecar.directory.blocks
        places: dict[tuple[str, str, tuple[tuple[str, Any], ...]], set[int]] = {}
        for db, table, key, start in changed_keys(file):
            place = next(number for number, one in enumerate(blocks) if one.start <= start < one.end)
            places.setdefault((db, table, tuple(key.items())), set()).add(place)
        assert len(places) > 500
        numbers = {name: number for number, name in enumerate(sidecar.directory.tables)}
        wrong = ruled_out = 0
        for (db, table, items), holding in places.items():
            number = numbers[db.encode(), table.encode()]
            for place, block in enumerate(blocks):
                if place not in holding and any(one.table == number for one in block.keys):
                    found = sidecar.may_contain(block, db, table, dict(items))
                    wrong, ruled_out = wrong + found, ruled_out + (not found)
        assert ruled_out > 5_000
        assert wrong / (wrong + ruled_out) < 0.02


def test_a_key_of_other_columns_is_never_ruled_out_and_an_unknown_table_is(tmp_path: Path) -> None:
    with with_keys(SHOP, tmp_path) as (file, sidecar):
        db, table, key, start = next(changed_keys(file))
        block = next(one for one in sidecar.directory.blocks if one.start <= start < one.end)
        assert sidecar.may_contain(block, db, table, {"no such column": 1})
        assert sidecar.may_contain(block, db, table, dict.fromkeys(key, 1.5))
        assert not sidecar.may_contain(block, db, "no such table", key)


def test_without_keys_only_the_tables_rule_blocks_out(tmp_path: Path) -> None:
    index = tmp_path / "log.binx"
    with BinlogFile.open(str(SHOP)) as file:
        write_sidecar(file, str(index))
        sidecar = Sidecar.open(str(index), file)
        (block,) = sidecar.directory.blocks
        assert sidecar.directory.keys is None
        assert sidecar.may_contain(block, "shop", "orders", {"id": -1})
        assert not sidecar.may_contain(block, "shop", "nothing", {"id": -1})
        sidecar.close()


def test_a_damaged_filter_is_an_error(tmp_path: Path) -> None:
    index = tmp_path / "log.binx"
    with with_keys(SHOP, tmp_path) as (file, sidecar):
        block = next(one for one in sidecar.directory.blocks if one.keys)
        data = bytearray(index.read_bytes())
        data[block.keys[0].offset] ^= 1
        index.write_bytes(data)
        number = block.keys[0].table
        db, table = (name.decode() for name in sidecar.directory.tables[number])
        names = (sidecar.directory.keys or {})[number]
        again = Sidecar.open(str(index), file)
        with pytest.raises(DamagedError):
            again.may_contain(block, db, table, dict.fromkeys(names, 1))
        again.close()


def test_an_index_file_without_filters_is_made_anew_where_they_are_wanted(tmp_path: Path) -> None:
    with BinlogFile.open(str(SHOP)) as file:
        done = [index_log(file, str(tmp_path), keys=keys) for keys in (False, False, True, True, False)]
    assert [one.state for one in done] == ["written", "true", "written", "true", "true"]
    assert [one.has_keys for one in done] == [False, False, True, True, True]


def test_images_without_their_key_do_not_hide_it(tmp_path: Path) -> None:
    with with_keys(MINIMAL, tmp_path) as (file, sidecar):
        found = list(changed_keys(file))
        assert found
        assert any(block.keys for block in sidecar.directory.blocks)


TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
VALUES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int8(), st.integers(-128, 127)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.string(), st.text()),
    (pa.dictionary(pa.int8(), pa.string()), st.text()),
    (pa.binary(), st.binary()),
    (pa.bool_(), st.booleans()),
    (pa.date32(), st.dates()),
    (pa.timestamp("us"), TIMES),
    (pa.timestamp("us", "UTC"), TIMES.map(lambda moment: moment.replace(tzinfo=timezone(timedelta(0))))),
    (
        pa.decimal128(20, 4),
        st.integers(-(10**20) + 1, 10**20 - 1).map(lambda number: Decimal(number).scaleb(-4)),
    ),
]


@given(st.data())
def test_a_value_has_the_same_text_in_python_and_in_a_column(data: st.DataObject) -> None:
    data_type, values = data.draw(st.sampled_from(VALUES))
    value = data.draw(values)
    texts = column_texts(pa.array([value], data_type))
    assert texts is not None
    assert texts.to_pylist() == [key_text(value)]


@pytest.mark.parametrize("value", [1.5, None, timedelta(1), Decimal("NaN"), (1, 2)])
def test_what_has_no_text_of_one_kind_has_none(value: object) -> None:
    assert key_text(value) is None


@pytest.mark.parametrize("data_type", [pa.float32(), pa.duration("us"), pa.list_(pa.float32())])
def test_a_column_of_such_a_type_has_none(data_type: pa.DataType) -> None:
    assert column_texts(pa.array([], data_type)) is None


def test_a_moment_of_another_zone_is_told_in_utc() -> None:
    there = datetime(2026, 11, 21, 9, 30, tzinfo=timezone(timedelta(hours=2)))
    assert key_text(there) == b"2026-11-21 07:30:00.000000Z"
    assert key_text(date(2026, 11, 21)) == b"2026-11-21"


def hashes_of(keys: list[list[bytes]]) -> memoryview:
    held = bytearray(BASIS.to_bytes(8, "little") * len(keys))
    hashes = memoryview(held).cast("Q")
    for column in range(len(keys[0])):
        parts = [key[column] for key in keys]
        offsets = [sum(map(len, parts[:number])) for number in range(len(parts) + 1)]
        packed = b"".join(offset.to_bytes(4, "little") for offset in offsets)
        hash_column(hashes, memoryview(packed).cast("i"), b"".join(parts))
    return hashes


def documented_hash(key: list[bytes]) -> int:
    """As ``docs/index-file.md`` has it."""
    wrap = 2**64
    hashed = 0xCBF29CE484222325
    for text in key:
        for byte in text:
            hashed = (hashed ^ byte) * 0x100000001B3 % wrap
        hashed = (hashed + len(text)) % wrap
        hashed = (hashed ^ hashed >> 30) * 0xBF58476D1CE4E5B9 % wrap
        hashed = (hashed ^ hashed >> 27) * 0x94D049BB133111EB % wrap
        hashed ^= hashed >> 31
    return hashed


@given(st.lists(st.lists(st.binary(max_size=12), min_size=2, max_size=2), min_size=1, max_size=30))
def test_filters_are_as_documented_and_hold_what_was_put_in(keys: list[list[bytes]]) -> None:
    hashes = hashes_of(keys)
    assert list(hashes) == [documented_hash(key) for key in keys]
    bits = make_filter(hashes, 16, 3)
    expected = bytearray(16)
    for hashed in hashes:
        for number in range(3):
            bit = ((hashed & 0xFFFFFFFF) + number * (hashed >> 32 | 1)) % 128
            expected[bit // 8] |= 1 << bit % 8
    assert bits == bytes(expected)
    assert all(holds(bits, 3, key) for key in keys)


def test_one_key_in_120_that_is_not_there_seems_to_be() -> None:
    keys = [[b"%d" % number] for number in range(20_000)]
    bits = make_filter(hashes_of(keys), len(keys) * BITS_A_KEY // 8, 7)
    wrong = sum(holds(bits, 7, [b"%d" % number]) for number in range(20_000, 40_000))
    assert 100 < wrong < 240


@pytest.mark.parametrize("offsets", [[0], [0, 9], [0, -1], [2, 1]])
def test_offsets_beyond_the_text_are_refused(offsets: list[int]) -> None:
    packed = b"".join(offset.to_bytes(4, "little", signed=True) for offset in offsets)
    with pytest.raises(ValueError, match="offsets"):
        hash_column(memoryview(bytearray(8)).cast("Q"), memoryview(packed).cast("i"), b"abc")
