"""MariaDB's own events."""

from __future__ import annotations

from binx.event.gtid.sources import DomainSource
from binx.event.header import EventType, parse_header
from binx.event.mariadb import (
    BinlogCheckpoint,
    MariadbGtid,
    MariadbGtidExtraFlag,
    MariadbGtidFlag,
    MariadbGtidList,
    StartEncryption,
)
from binx.event.parse import parse_event
from binx.event.statement import XaXid
from tests.event import samples
from tests.event.reading import MARIADB, read, split


def gtid(event: bytes) -> MariadbGtid:
    found = read(event, MARIADB)
    assert isinstance(found, MariadbGtid)
    return found


def test_ddl_stands_alone() -> None:
    found = gtid(samples.MARIADB_GTID_DDL)
    assert str(found) == "0-77-1"
    assert MariadbGtidFlag.STANDALONE | MariadbGtidFlag.DDL in found.flags
    assert (found.commit_id, found.xid) == (None, None)


def test_a_gtid_has_its_domain() -> None:
    found = gtid(samples.MARIADB_GTID_DOMAIN)
    assert str(found) == "9-77-500"
    assert found.source == DomainSource(9, 77)
    assert MariadbGtidFlag.STANDALONE not in found.flags
    assert MariadbGtidFlag.TRANSACTIONAL in found.flags


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
    found = parse_event(memoryview(changed), header, MARIADB)
    assert isinstance(found, MariadbGtid)
    assert found.commit_id == 12345


def test_a_two_phase_alter_names_its_start() -> None:
    header, body = split(samples.MARIADB_GTID_DDL)
    changed = bytes(body[:13]) + bytes([MariadbGtidExtraFlag.COMMIT_ALTER]) + (77).to_bytes(8, "little")
    found = parse_event(memoryview(changed), header, MARIADB)
    assert isinstance(found, MariadbGtid)
    assert found.alter_sequence == 77


def test_the_gtid_list_holds_what_mariadb_binlog_prints() -> None:
    found = read(samples.MARIADB_GTID_LIST, MARIADB)
    assert isinstance(found, MariadbGtidList)
    assert sorted(map(str, found.positions)) == ["0-77-26", "9-77-500"]
    assert found.flags == 0


def test_a_checkpoint_names_its_file() -> None:
    assert read(samples.MARIADB_BINLOG_CHECKPOINT, MARIADB) == BinlogCheckpoint("m-bin.000001")


def test_encryption_begins_with_a_nonce() -> None:
    event = samples.XID[:4] + bytes([EventType.MARIADB_START_ENCRYPTION]) + samples.XID[5:]
    body = memoryview(b"\x01" + (5).to_bytes(4, "little") + bytes(range(12)))
    assert parse_event(body, parse_header(event, 0), MARIADB) == StartEncryption(1, 5, bytes(range(12)))
