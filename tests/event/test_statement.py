"""Events around statements."""

from __future__ import annotations

import pytest

from binx.errors import DamagedError
from binx.event.parse import parse_event
from binx.event.statement import Intvar, Rand, RowsQuery, XaPrepare, XaXid, Xid
from tests.event import samples
from tests.event.reading import MARIADB, MYSQL, read, split


def test_intvar_sets_one_of_two_variables() -> None:
    found = read(samples.LAST_INSERT_ID)
    assert found == Intvar(1, 12)
    assert isinstance(found, Intvar)
    assert found.name == "last_insert_id"
    assert Intvar(2, 12).name == "insert_id"
    assert Intvar(9, 12).name == "variable 9"


def test_rand_holds_the_seeds_that_mysqlbinlog_prints() -> None:
    assert read(samples.RAND) == Rand(519471527, 240395769)


def test_xid_ends_a_transaction() -> None:
    assert isinstance(read(samples.XID), Xid)


def test_the_statement_of_row_changes_is_kept_in_full() -> None:
    assert read(samples.ROWS_QUERY) == RowsQuery(b"UPDATE small SET n='rq' WHERE id=2")
    annotated = read(samples.MARIADB_ANNOTATE_ROWS, MARIADB)
    assert annotated == RowsQuery(b"INSERT INTO small (n) VALUES ('domain')")


def test_xa_names_read_as_mysqlbinlog_prints_them() -> None:
    assert read(samples.XA_PREPARE) == XaPrepare(one_phase=False, xid=XaXid(3, b"\x00\xff", b"b"))
    assert str(XaXid(3, b"\x00\xff", b"b")) == "X'00ff',X'62',3"
    assert read(samples.XA_ONE_PHASE) == XaPrepare(one_phase=True, xid=XaXid(1, b"onephase", b""))


def test_an_xa_name_longer_than_xa_allows_is_damage() -> None:
    header, body = split(samples.XA_PREPARE)
    changed = bytearray(body)
    changed[5:9] = (65).to_bytes(4, "little")
    with pytest.raises(DamagedError, match="at most 64 bytes"):
        parse_event(memoryview(changed), header, MYSQL)
