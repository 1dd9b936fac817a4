"""Logs that were cut or changed: whole transactions and an error, never a wrong answer or a crash."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise

import pytest

from binx.errors import BinxError, ChecksumError, DamagedError, TruncatedError
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import in_order
from binx.log.chain.ends import known_facts
from binx.log.scan import Scan
from binx.log.scanning import Ending, OnDamage
from tests.conftest import TESTDATA
from tests.log.building import flipped
from tests.log.searching import Bytes, read

pytestmark = pytest.mark.sweep

IN_USE_FLAG_AT = 4 + 17
LEVELS = list(Level)


def cut_log(name: str) -> bytes:
    return (TESTDATA / name).read_bytes()


CUT = [
    "mysql-9.7/small/anonymous_gtids.binlog",
    "mysql-9.7/small/no_checksum.binlog",
    "mariadb-10.11/small/xa.binlog",
]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", CUT)
def test_a_log_cut_at_any_byte_gives_its_whole_transactions_and_an_error(name: str, level: Level) -> None:
    data = cut_log(name)
    whole = read(data, level)
    ends = {transaction[1] for transaction in whole.transactions}
    for size in range(len(data)):
        reading = read(data[:size], level)
        assert reading.transactions == [one for one in whole.transactions if one[1] <= size], size
        if reading.error is None:
            # Cut between transactions: nothing tells that more was there but the missing end event.
            assert reading.ending is Ending.OPEN, size
            assert size in ends or size <= min(one[0] for one in whole.transactions) or size > max(ends), size


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", CUT)
def test_a_log_in_use_that_is_cut_at_any_byte_gives_its_whole_transactions_and_no_error(
    name: str, level: Level
) -> None:
    data = bytearray(cut_log(name))
    data[IN_USE_FLAG_AT] |= 1
    whole = read(bytes(data), level)
    first = BinlogFile(Bytes(bytes(data))).first_position
    for size in range(first, len(data)):
        reading = read(bytes(data[:size]), level)
        assert reading.error is None, (size, reading.error)
        assert reading.ending is Ending.IN_USE
        assert reading.transactions == [one for one in whole.transactions if one[1] <= size], size
        assert 0 <= reading.unfinished < size


def test_the_error_about_a_cut_log_says_where_the_last_whole_transaction_ends() -> None:
    data = cut_log(CUT[0])
    whole = read(data, Level.LEVEL_EVENTS)
    reading = read(data[: whole.transactions[-1][1] - 1], Level.LEVEL_EVENTS)
    assert isinstance(reading.error, TruncatedError)
    assert reading.error.offset == whole.transactions[-1][0]
    assert reading.error.path == "memory.000001"


# What a scan does with bits that fell over.


@pytest.mark.parametrize("level", [Level.LEVEL_EVENTS, Level.LEVEL_TABLES])
@pytest.mark.parametrize("name", [CUT[0], CUT[2]])
def test_any_bit_flipped_in_a_log_with_checksums_is_found(name: str, level: Level) -> None:
    data = cut_log(name)
    whole = read(data, level)
    for offset, damaged in flipped(data):
        reading = read(damaged, level)
        if reading.error is None:
            assert offset == IN_USE_FLAG_AT, offset
            assert reading.transactions == whole.transactions
        else:
            assert reading.transactions == whole.transactions[: len(reading.transactions)], offset


@pytest.mark.parametrize("level", LEVELS)
def test_any_bit_flipped_in_a_log_without_checksums_gives_an_answer_or_an_error(level: Level) -> None:
    data = cut_log(CUT[1])
    for offset, damaged in flipped(data):
        reading = read(damaged, level)
        assert reading.error is not None or reading.ending is not None, offset
        for before, after in pairwise(reading.transactions):
            assert before[1] <= after[0], offset


@pytest.mark.parametrize(
    "name", ["mysql-9.7/small/compressed.binlog", "mariadb-10.11/small/compressed.binlog"]
)
def test_a_compressed_log_cut_or_changed_anywhere_gives_an_answer_or_an_error(name: str) -> None:
    data = cut_log(name)
    for size in range(0, len(data), 3):
        read(data[:size], Level.LEVEL_TABLES)
    damaged = bytearray(data)
    for offset in range(4, len(data)):
        damaged[offset] ^= 0x55
        read(bytes(damaged), Level.LEVEL_TABLES, verify=False)
        damaged[offset] ^= 0x55


def test_a_checksum_that_does_not_match_is_reported_with_both_values() -> None:
    data = bytearray(cut_log(CUT[0]))
    start = read(bytes(data), Level.LEVEL_EVENTS).transactions[2][0]
    data[start + 30] ^= 1
    reading = read(bytes(data), Level.LEVEL_EVENTS)
    assert isinstance(reading.error, ChecksumError)
    assert reading.error.offset == start
    assert len(reading.transactions) == 2
    stored = struct.unpack_from("<I", data, start + struct.unpack_from("<I", data, start + 9)[0] - 4)[0]
    assert f"{stored:#010x}" in reading.error.message


def test_without_verification_a_wrong_checksum_is_read_over() -> None:
    data = bytearray(cut_log(CUT[0]))
    whole = read(bytes(data), Level.LEVEL_EVENTS)
    data[whole.transactions[2][1] - 1] ^= 1
    assert read(bytes(data), Level.LEVEL_EVENTS, verify=False).transactions == whole.transactions


# What a log in use hides: an event whose length points past the end is no incomplete transaction.

IN_USE = [
    "mysql-9.7/small/anonymous_gtids.binlog",
    "mysql-9.7/small/tagged_gtids.binlog",
    "mysql-9.7/small/no_checksum.binlog",
    "mariadb-10.11/small/standalone.binlog",
    "mariadb-10.11/small/no_checksum.binlog",
]
SIZE_AT = 9


def in_use(name: str) -> bytes:
    """A log whose server goes on writing it: marked so, and without the event that ends it."""
    data = bytearray(cut_log(name))
    data[IN_USE_FLAG_AT] |= 1
    last = read(bytes(data), Level.LEVEL_EVENTS).transactions[-1]
    return bytes(data[: last[1]])


def events_of(data: bytes) -> Iterator[int]:
    at = 4
    while at < len(data):
        yield at
        at += int.from_bytes(data[at + SIZE_AT : at + SIZE_AT + 4], "little")


@pytest.mark.parametrize("level", [Level.LEVEL_INDEX, Level.LEVEL_TABLES])
@pytest.mark.parametrize("name", IN_USE)
def test_no_bit_of_any_events_length_hides_a_transaction_of_a_log_in_use(name: str, level: Level) -> None:
    data = in_use(name)
    whole = read(data, level).transactions
    assert whole
    for at in events_of(data):
        for bit in range(32):
            flipped = bytearray(data)
            flipped[at + SIZE_AT + bit // 8] ^= 1 << bit % 8
            try:
                reading = read(bytes(flipped), level)
            except BinxError:
                continue  # The first event, without which no log is opened.
            size = int.from_bytes(flipped[at + SIZE_AT : at + SIZE_AT + 4], "little")
            if "no_checksum" in name and at + size <= len(data):
                continue  # Only positions tell, which verify looks at.
            assert reading.error is not None or len(reading.transactions) == len(whole), (at, bit)


@pytest.mark.parametrize("name", IN_USE)
def test_salvage_has_the_transactions_after_an_event_whose_length_points_past_the_end(name: str) -> None:
    data = in_use(name)
    whole = read(data, Level.LEVEL_TABLES).transactions
    for at in [at for at in events_of(data) if whole[0][0] <= at]:
        flipped = bytearray(data)
        flipped[at + SIZE_AT + 3] ^= 1
        scan = Scan(BinlogFile(Bytes(bytes(flipped))), Level.LEVEL_TABLES, on_damage=OnDamage.SALVAGE)
        found = [table.value("start", index) for table in scan for index in range(len(table))]
        hit = next(number for number, one in enumerate(whole) if one[1] > at)
        assert found == [one[0] for number, one in enumerate(whole) if number != hit], at
        assert [damage.start for damage in scan.damage] == [whole[hit][0]]


def test_the_rest_of_a_log_in_use_is_lost_where_a_later_log_lists_more() -> None:
    name = "mysql-9.7/shop/mysql-bin.00000"
    first, second = bytearray(cut_log(f"{name}1")), cut_log(f"{name}2")
    first[IN_USE_FLAG_AT] |= 1
    last = read(bytes(first), Level.LEVEL_EVENTS).transactions[-1]

    def chain(data: bytes) -> BinlogFile:
        logs = [BinlogFile(Bytes(data, "mysql-bin.000001")), BinlogFile(Bytes(second, "mysql-bin.000002"))]
        return in_order(logs, known_facts)[0].file

    def found(file: BinlogFile) -> int:
        return sum(len(table) for table in Scan(file, Level.LEVEL_TABLES))

    # The event that closes the log is no transaction that could be lost.
    assert found(chain(bytes(first[:-10]))) == found(chain(bytes(first))) > 0
    alone = BinlogFile(Bytes(bytes(first[: last[1] - 9]), "mysql-bin.000001"))
    assert found(alone) > 0
    with pytest.raises(
        TruncatedError, match=r"cannot be read, and hold .*:\d+, which mysql-bin\.000002 lists"
    ):
        found(chain(bytes(first[: last[1] - 9])))
    begun_by_the_crash = bytes(first[: last[1]]) + bytes(first[last[0] : last[1] - 9])
    with pytest.raises(DamagedError, match="its position says otherwise"):
        found(chain(begun_by_the_crash))
