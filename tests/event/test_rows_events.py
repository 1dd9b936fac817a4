"""What stands before row images, MariaDB's events, and those of replication."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.errors import DamagedError
from binx.event.format import FormatDescription
from binx.event.gtid.sources import DomainSource
from binx.event.header import EventType, parse_header
from binx.event.mariadb import (
    BinlogCheckpoint,
    MariadbGtid,
    MariadbGtidExtraFlag,
    MariadbGtidFlag,
    MariadbGtidList,
)
from binx.event.parsers import Event, parse_event
from binx.event.replication import (
    Incident,
    Rotate,
    Stop,
    ViewChange,
)
from binx.event.rows_events import RowsFlag, RowsHeader, RowsKind, row_images
from binx.event.statement import XaXid
from tests.event import samples
from tests.event.reading import MARIADB, MYSQL, events_of, read, split


def rows(event: bytes, description: FormatDescription = MYSQL) -> RowsHeader:
    parsed = read(event, description)
    assert isinstance(parsed, RowsHeader)
    return parsed


def test_a_row_that_changes_its_partition_names_both() -> None:
    """mysqlbinlog prints: source_partition: 0 target_partition: 1."""
    parsed = rows(samples.UPDATE_ROWS_OF_PARTITION)
    assert parsed.kind is RowsKind.UPDATE
    assert (parsed.source_partition_id, parsed.partition_id) == (0, 1)
    assert parsed.table_id == 180
    assert parsed.flags == RowsFlag.STATEMENT_END | RowsFlag.USE_SQL_FOREIGN_KEY
    assert parsed.column_count == 2
    header, body = split(samples.UPDATE_ROWS_OF_PARTITION)
    assert bytes(row_images(body, header, parsed)) == bytes.fromhex("00 01000000 01 61  00 0b000000 01 61")


def test_a_minimal_image_has_few_columns() -> None:
    """UPDATE small SET n = … WHERE id = …: only the key before, only the changed column after."""
    parsed = rows(samples.UPDATE_ROWS_MINIMAL)
    assert parsed.columns_before == b"\x01"
    assert parsed.columns_after == b"\x04"
    assert parsed.partition_id is None


def test_a_partial_update_says_so() -> None:
    parsed = rows(samples.PARTIAL_UPDATE_ROWS)
    assert parsed.partial
    assert parsed.version == 2


def test_compressed_images_are_uncompressed() -> None:
    header, body = split(samples.MARIADB_WRITE_ROWS_COMPRESSED)
    parsed = rows(samples.MARIADB_WRITE_ROWS_COMPRESSED, MARIADB)
    assert (parsed.kind, parsed.version, parsed.compressed) == (RowsKind.INSERT, 1, True)
    images = bytes(row_images(body, header, parsed))
    assert images.count(b"p" * 400) == images.count(b"q" * 400) == 1
    assert len(images) == 2 * (1 + 4 + 2 + 400)


def test_damaged_compression_is_damage() -> None:
    header, body = split(samples.MARIADB_WRITE_ROWS_COMPRESSED)
    parsed = rows(samples.MARIADB_WRITE_ROWS_COMPRESSED, MARIADB)
    changed = bytearray(body)
    changed[parsed.rows_offset + 6] ^= 0xFF
    with pytest.raises(DamagedError, match="MARIADB_WRITE_ROWS_COMPRESSED_V1"):
        row_images(memoryview(changed), header, parsed)


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
    parsed = parse_event(memoryview(changed), header, MYSQL)
    assert isinstance(parsed, RowsHeader)
    assert (parsed.partition_id, parsed.ndb_info, parsed.unknown_extra) == expected
    assert changed[parsed.rows_offset :] == bytes(body[rows(samples.UPDATE_ROWS_MINIMAL).rows_offset :])


@pytest.mark.parametrize(("length", "count"), [("0100", "03"), ("0200", "00"), ("0200", "fc0110")])
def test_impossible_lengths_and_counts_are_damage(length: str, count: str) -> None:
    header, body = split(samples.UPDATE_ROWS_MINIMAL)
    changed = bytes(body[:8]) + bytes.fromhex(length + count) + bytes(body[11:])
    with pytest.raises(DamagedError):
        parse_event(memoryview(changed), header, MYSQL)


def test_updates_of_version_0_have_one_bitmap(corpus: Path) -> None:
    """mariadb-binlog reads these images of (0, 'one'), (1, 'one'), (1, 'two'), (2, 'two')."""
    parsed = [
        (parse_event(body, header, description), body)
        for header, body, description in events_of(corpus / "5.1.17-beta-debug-log-0f9095.binlog")
        if header.name == "UPDATE_ROWS_V0"
    ]
    event, body = parsed[0]
    assert isinstance(event, RowsHeader)
    assert event.version == 0
    assert event.columns_before == event.columns_after == b"\xff"
    assert bytes(body[event.rows_offset :]).startswith(bytes.fromhex("f9 00000000 03") + b"one")


def gtid(event: bytes) -> MariadbGtid:
    parsed = read(event, MARIADB)
    assert isinstance(parsed, MariadbGtid)
    return parsed


def test_ddl_stands_alone() -> None:
    parsed = gtid(samples.MARIADB_GTID_DDL)
    assert str(parsed) == "0-77-1"
    assert MariadbGtidFlag.STANDALONE | MariadbGtidFlag.DDL in parsed.flags
    assert (parsed.commit_id, parsed.xid) == (None, None)


def test_a_gtid_has_its_domain() -> None:
    parsed = gtid(samples.MARIADB_GTID_DOMAIN)
    assert str(parsed) == "9-77-500"
    assert parsed.source == DomainSource(9, 77)
    assert MariadbGtidFlag.STANDALONE not in parsed.flags
    assert MariadbGtidFlag.TRANSACTIONAL in parsed.flags


def test_both_phases_of_an_xa_transaction_name_it() -> None:
    prepared, committed = gtid(samples.MARIADB_GTID_XA_PREPARE), gtid(samples.MARIADB_GTID_XA_COMMIT)
    assert prepared.xid == committed.xid == XaXid(3, b"\x00\xff", b"b")
    assert MariadbGtidFlag.PREPARED_XA in prepared.flags
    assert MariadbGtidFlag.COMPLETED_XA in committed.flags
    assert MariadbGtidExtraFlag.MULTI_ENGINE in prepared.extra_flags


def test_a_group_commit_has_an_id_in_place_of_zeros() -> None:
    header, body = split(samples.MARIADB_GTID_DOMAIN)
    flags = body[12] | MariadbGtidFlag.GROUP_COMMIT_ID
    changed = bytes(body[:12]) + bytes([flags]) + (12345).to_bytes(8, "little")
    parsed = parse_event(memoryview(changed), header, MARIADB)
    assert isinstance(parsed, MariadbGtid)
    assert parsed.commit_id == 12345


def test_a_two_phase_alter_names_its_start() -> None:
    header, body = split(samples.MARIADB_GTID_DDL)
    changed = bytes(body[:13]) + bytes([MariadbGtidExtraFlag.COMMIT_ALTER]) + (77).to_bytes(8, "little")
    parsed = parse_event(memoryview(changed), header, MARIADB)
    assert isinstance(parsed, MariadbGtid)
    assert parsed.alter_sequence == 77


def test_the_gtid_list_holds_what_mariadb_binlog_prints() -> None:
    parsed = read(samples.MARIADB_GTID_LIST, MARIADB)
    assert isinstance(parsed, MariadbGtidList)
    assert sorted(map(str, parsed.positions)) == ["0-77-26", "9-77-500"]
    assert parsed.flags == 0


def test_a_checkpoint_names_its_file() -> None:
    assert read(samples.MARIADB_BINLOG_CHECKPOINT, MARIADB) == BinlogCheckpoint("m-bin.000001")


def event(number: EventType, body: bytes) -> Event:
    header = parse_header(samples.XID[:4] + bytes([number]) + samples.XID[5:], 0)
    return parse_event(memoryview(body), header, MYSQL)


def test_an_incident_has_a_number_and_a_message() -> None:
    parsed = event(EventType.INCIDENT, b"\x01\x00\x05hello")
    assert parsed == Incident(1, "hello")
    assert isinstance(parsed, Incident)
    assert parsed.name == "LOST_EVENTS"
    assert Incident(7, "").name == "incident 7"


def test_a_view_change_names_the_view() -> None:
    assert event(EventType.VIEW_CHANGE, b"14:3".ljust(40, b"\0") + bytes(12)) == ViewChange("14:3")


def test_rotate_names_the_next_file() -> None:
    assert read(samples.ROTATE) == Rotate("mysql-bin.000002", 4)


def test_rotate_without_a_name_is_damage() -> None:
    header, body = split(samples.ROTATE)
    with pytest.raises(DamagedError, match="expected the next file's name"):
        parse_event(body[:8], header, MYSQL)


def test_stop_says_nothing_more() -> None:
    stop = samples.XID[:4] + bytes([EventType.STOP]) + samples.XID[5:]
    assert parse_event(memoryview(b""), parse_header(stop, 0), MYSQL) == Stop()
