"""Events around statements, and user variables."""

from __future__ import annotations

from decimal import Decimal

import pytest

from binx.errors import DamagedError
from binx.event.parse import parse_event
from binx.event.statement import Intvar, Rand, RowsQuery, UserVar, ValueType, XaPrepare, XaXid, Xid
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


def variable(event: bytes) -> UserVar:
    found = read(event)
    assert isinstance(found, UserVar)
    return found


@pytest.mark.parametrize(
    ("event", "name", "value", "literal"),
    [
        (samples.USER_VAR_STRING, "s", b"it's", "_utf8mb4 X'69742773' COLLATE utf8mb4_0900_ai_ci"),
        (samples.USER_VAR_NEGATIVE, "i", -5, "-5"),
        (samples.USER_VAR_UNSIGNED, "u", 18446744073709551615, "18446744073709551615"),
        (samples.USER_VAR_REAL, "r", 1.5e10, "15000000000.0e0"),
        (samples.USER_VAR_DECIMAL, "d", Decimal("12345.678901"), "12345.678901"),
        (samples.USER_VAR_NULL, "n", None, "NULL"),
        (samples.USER_VAR_BYTES, "b", b"\x00\xff", "X'00ff'"),
        (samples.USER_VAR_LATIN1, "l", b"\xe9", "_latin1 X'e9' COLLATE latin1_german1_ci"),
    ],
)
def test_a_variable_has_the_value_that_was_set(event: bytes, name: str, value: object, literal: str) -> None:
    found = variable(event)
    assert found.name == name
    assert found.value == value
    assert type(found.value) is type(value)
    assert found.literal() == literal


@pytest.mark.parametrize(
    ("packed", "text"),
    [
        ("04 02 8C22", "12.34"),
        ("04 02 73DD", "-12.34"),
        ("0E 04 810DFB38D204D2", "1234567890.1234"),
        ("0E 04 7EF204C72DFB2D", "-1234567890.1234"),
        ("01 00 80", "0"),
        ("0B 0A 800000000001", "0.0000000001"),
        (
            "41 1E 80BC614E35B7BF87350E34C02F075F79075BCD1500BC614E35B7BF87037A",
            "12345678901234567890123456789012345.123456789012345678901234567890",
        ),
    ],
)
def test_decimals_are_packed_as_the_servers_manual_says(packed: str, text: str) -> None:
    """The examples of MySQL's strings/decimal.cc (1234567890.1234, its negative), small ones by its rule; the
    last two as MySQL 9.7 logged them."""
    header, body = split(samples.USER_VAR_DECIMAL)
    value = bytes.fromhex(packed)
    name_and_type = bytes(body[:11])
    changed = name_and_type + len(value).to_bytes(4, "little") + value
    found = parse_event(memoryview(changed), header, MYSQL)
    assert isinstance(found, UserVar)
    assert found.literal() == text


def test_a_value_of_an_unknown_type_is_damage() -> None:
    header, body = split(samples.USER_VAR_NEGATIVE)
    changed = bytearray(body)
    assert changed[6] == ValueType.INTEGER
    for number in (ValueType.ROW, 9):
        changed[6] = number
        with pytest.raises(DamagedError, match="expected the type of a user variable"):
            parse_event(memoryview(changed), header, MYSQL)


def test_what_is_no_number_is_damage() -> None:
    header, body = split(samples.USER_VAR_REAL)
    changed = bytearray(body)
    changed[15:23] = b"\xff" * 8
    with pytest.raises(DamagedError, match="expected a number, found nan"):
        parse_event(memoryview(changed), header, MYSQL)
