"""What stands before row images."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.errors import DamagedError
from binx.event.format import FormatDescription
from binx.event.parse import parse_event
from binx.event.rows import RowsFlag, RowsHeader, RowsKind, row_images
from tests.event import samples
from tests.event.reading import MARIADB, MYSQL, events_of, read, split


def rows(event: bytes, description: FormatDescription = MYSQL) -> RowsHeader:
    found = read(event, description)
    assert isinstance(found, RowsHeader)
    return found


def test_a_row_that_changes_its_partition_names_both() -> None:
    """mysqlbinlog prints: source_partition: 0 target_partition: 1."""
    found = rows(samples.UPDATE_ROWS_OF_PARTITION)
    assert found.kind is RowsKind.UPDATE
    assert (found.source_partition_id, found.partition_id) == (0, 1)
    assert found.table_id == 180
    assert found.flags == RowsFlag.STATEMENT_END | RowsFlag.USE_SQL_FOREIGN_KEY
    assert found.column_count == 2
    header, body = split(samples.UPDATE_ROWS_OF_PARTITION)
    assert bytes(row_images(body, header, found)) == bytes.fromhex("00 01000000 01 61  00 0b000000 01 61")


def test_a_minimal_image_has_few_columns() -> None:
    """UPDATE small SET n = … WHERE id = …: only the key before, only the changed column after."""
    found = rows(samples.UPDATE_ROWS_MINIMAL)
    assert found.columns_before == b"\x01"
    assert found.columns_after == b"\x04"
    assert found.partition_id is None


def test_a_partial_update_says_so() -> None:
    found = rows(samples.PARTIAL_UPDATE_ROWS)
    assert found.partial
    assert found.version == 2


def test_compressed_images_are_uncompressed() -> None:
    header, body = split(samples.MARIADB_WRITE_ROWS_COMPRESSED)
    found = rows(samples.MARIADB_WRITE_ROWS_COMPRESSED, MARIADB)
    assert (found.kind, found.version, found.compressed) == (RowsKind.INSERT, 1, True)
    images = bytes(row_images(body, header, found))
    assert images.count(b"p" * 400) == images.count(b"q" * 400) == 1
    assert len(images) == 2 * (1 + 4 + 2 + 400)


def test_damaged_compression_is_damage() -> None:
    header, body = split(samples.MARIADB_WRITE_ROWS_COMPRESSED)
    found = rows(samples.MARIADB_WRITE_ROWS_COMPRESSED, MARIADB)
    changed = bytearray(body)
    changed[found.rows_offset + 6] ^= 0xFF
    with pytest.raises(DamagedError, match="MARIADB_WRITE_ROWS_COMPRESSED_V1"):
        row_images(memoryview(changed), header, found)


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("0200", (None, None, None)),
        ("0600 00 03 00 07", (None, b"\x00\x07", None)),
        ("0600 63 010203", (None, None, (99, b"\x01\x02\x03"))),
    ],
)
def test_extra_data_is_read_or_kept(extra: str, expected: tuple[object, ...]) -> None:
    header, body = split(samples.UPDATE_ROWS_MINIMAL)
    changed = bytes(body[:8]) + bytes.fromhex(extra) + bytes(body[10:])
    found = parse_event(memoryview(changed), header, MYSQL)
    assert isinstance(found, RowsHeader)
    assert (found.partition_id, found.ndb_info, found.unknown_extra) == expected
    assert changed[found.rows_offset :] == bytes(body[rows(samples.UPDATE_ROWS_MINIMAL).rows_offset :])


@pytest.mark.parametrize(("length", "count"), [("0100", "03"), ("0200", "00"), ("0200", "fc0110")])
def test_impossible_lengths_and_counts_are_damage(length: str, count: str) -> None:
    header, body = split(samples.UPDATE_ROWS_MINIMAL)
    changed = bytes(body[:8]) + bytes.fromhex(length + count) + bytes(body[11:])
    with pytest.raises(DamagedError):
        parse_event(memoryview(changed), header, MYSQL)


def test_updates_of_version_0_have_one_bitmap(corpus: Path) -> None:
    """mariadb-binlog reads these images of (0, 'one'), (1, 'one'), (1, 'two'), (2, 'two')."""
    found = [
        (parse_event(body, header, description), body)
        for header, body, description in events_of(corpus / "5.1.17-beta-debug-log-0f9095.binlog")
        if header.name == "UPDATE_ROWS_V0"
    ]
    event, body = found[0]
    assert isinstance(event, RowsHeader)
    assert event.version == 0
    assert event.columns_before == event.columns_after == b"\xff"
    assert bytes(body[event.rows_offset :]).startswith(bytes.fromhex("f9 00000000 03") + b"one")
