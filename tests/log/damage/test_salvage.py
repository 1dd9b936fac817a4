"""Salvage: of a damaged log exactly the whole transactions come, and every byte is accounted for."""

from __future__ import annotations

import os
import random
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import BinxError, DamagedError, NotABinlogError, UnsupportedError
from binx.event.gtid.sets import GtidSet
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.damage import Damage, EventSearch
from binx.log.scan import Scan
from binx.log.scanning import Ending, OnDamage
from tests.conftest import TESTDATA
from tests.log import building as b
from tests.log.searching import Bytes

STRIDE = 1 if os.environ.get("BINX_EVERY_BIT") else 37
IN_USE_FLAG_AT = 4 + 17
CHECKED = [
    "mysql-9.7/small/anonymous_gtids.binlog",
    "mysql-9.7/small/rollback.binlog",
    "mysql-9.7/small/compressed.binlog",
    "mysql-9.7/small/tagged_gtids.binlog",
    "mariadb-10.11/small/xa.binlog",
    "mariadb-10.11/small/standalone.binlog",
]
UNCHECKED = ["mysql-9.7/small/no_checksum.binlog", "mariadb-10.11/small/no_checksum.binlog"]
SHOP = TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000001"


class Salvaged:
    """What a salvaging scan made of a log."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.file = BinlogFile(Bytes(data))
        self.scan: Scan = Scan(self.file, Level.LEVEL_TABLES, on_damage=OnDamage.SALVAGE)
        self.spans: list[tuple[int, int]] = []
        self.gtids: list[str | None] = []
        for table in self.scan:
            for index in range(len(table)):
                self.spans.append((table.value("start", index), table.value("end", index)))
                self.gtids.append(table.gtid(index))

    @property
    def damage(self) -> list[Damage]:
        return list(self.scan.damage)

    @property
    def transactions(self) -> list[bytes]:
        return [self.data[start:end] for start, end in self.spans]

    def check_account(self) -> None:
        """Every byte is the header, an event about the file, a transaction, damage, or not written yet."""
        parts = [
            (0, self.file.first_position),
            *self.spans,
            *((one.start, one.end) for one in self.damage),
            *((position, position + size) for _, position, size in self.scan.control_events),
            (self.file.size - self.scan.unfinished, self.file.size),
        ]
        reached = 0
        for start, end in sorted(parts):
            assert start in (reached, end), (reached, start)
            reached = max(reached, end)
        assert reached == self.file.size


def read(name: str) -> bytes:
    return (TESTDATA / name).read_bytes()


def offsets(data: bytes, stride: int = STRIDE) -> range:
    return range(4, len(data), stride)


@pytest.mark.parametrize("path", sorted(TESTDATA.glob("*/*/*.binlog")), ids=lambda path: path.stem)
def test_a_log_without_damage_is_read_as_ever(path: Path) -> None:
    salvaged = Salvaged(path.read_bytes())
    assert salvaged.damage == []
    assert salvaged.scan.ending is Ending.CLOSED
    salvaged.check_account()
    with BinlogFile.open(str(path)) as file:
        assert salvaged.spans == [
            (table.value("start", index), table.value("end", index))
            for table in Scan(file, Level.LEVEL_EVENTS)
            for index in range(len(table))
        ]


@pytest.mark.parametrize("name", CHECKED)
def test_a_flipped_bit_costs_its_own_transaction_and_no_other(name: str) -> None:
    whole = Salvaged(read(name))
    for offset, data in b.flipped(whole.data, 4, STRIDE):
        if offset < whole.file.first_position:
            continue
        salvaged = Salvaged(data)
        salvaged.check_account()
        (damage,) = salvaged.damage
        hit = [span for span in whole.spans if span[0] <= offset < span[1]]
        assert salvaged.spans == [span for span in whole.spans if span not in hit], offset
        if hit:
            assert (damage.start, damage.end) == hit[0], offset
            assert damage.transactions == 1 or not damage.cut
        assert damage.start <= offset < damage.end


@pytest.mark.parametrize("name", CHECKED)
def test_a_damaged_format_description_is_an_error(name: str) -> None:
    data = read(name)
    first = BinlogFile(Bytes(data)).first_position
    for offset, damaged in b.flipped(data, 4, STRIDE):
        if offset < first and offset != IN_USE_FLAG_AT:
            with pytest.raises((DamagedError, NotABinlogError, UnsupportedError)):
                Salvaged(damaged)


@pytest.mark.parametrize("size", [1, 19, 100, 400])
@pytest.mark.parametrize("name", CHECKED + UNCHECKED)
def test_zeros_cost_only_the_transactions_that_they_touch(name: str, size: int) -> None:
    whole = Salvaged(read(name))
    checked = name in CHECKED
    for offset in range(whole.file.first_position, len(whole.data), STRIDE):
        data = bytearray(whole.data)
        data[offset : offset + size] = bytes(len(data[offset : offset + size]))
        if data == whole.data:
            continue
        salvaged = Salvaged(bytes(data))
        salvaged.check_account()
        untouched = [span for span in whole.spans if span[1] <= offset or span[0] >= offset + size]
        if checked:
            assert salvaged.spans == untouched, offset
        else:
            # Without checksums some zeros go unseen; what is untouched is never lost to what cannot be seen.
            assert set(untouched) - set(salvaged.spans) <= set(whole.spans[-1:]), offset


@pytest.mark.parametrize("name", CHECKED)
def test_a_log_cut_at_any_byte_has_its_whole_transactions(name: str) -> None:
    whole = Salvaged(read(name))
    for size in offsets(whole.data, 11):
        if size < whole.file.first_position:
            continue
        salvaged = Salvaged(whole.data[:size])
        salvaged.check_account()
        assert salvaged.spans == [span for span in whole.spans if span[1] <= size], size


@pytest.mark.parametrize("gone", [1, 50, 333])
@pytest.mark.parametrize("name", CHECKED)
def test_bytes_cut_out_cost_only_what_they_were_part_of(name: str, gone: int) -> None:
    """All that follows stands where its headers do not expect it, and is found by its chain."""
    whole = Salvaged(read(name))
    for offset in range(whole.file.first_position, len(whole.data) - gone, STRIDE):
        salvaged = Salvaged(whole.data[:offset] + whole.data[offset + gone :])
        salvaged.check_account()
        untouched = [
            whole.data[start:end] for start, end in whole.spans if end <= offset or start >= offset + gone
        ]
        assert salvaged.transactions == untouched, offset


@pytest.mark.parametrize("seed", range(10))
def test_many_kinds_of_damage_at_once(seed: int) -> None:
    chance = random.Random(seed)
    original = SHOP.read_bytes()
    whole = Salvaged(original)
    data = bytearray(original)
    touched: list[tuple[int, int]] = []
    for _ in range(chance.randrange(1, 30)):
        start = chance.randrange(whole.file.first_position, len(data))
        size = min(chance.choice([1, 7, 512, 4096]), len(data) - start)
        data[start : start + size] = chance.choice([bytes(size), chance.randbytes(size), b"binlog. " * size])[
            :size
        ]
        touched.append((start, start + size))
    salvaged = Salvaged(bytes(data))
    salvaged.check_account()
    untouched = [
        span for span in whole.spans if not any(start < span[1] and span[0] < end for start, end in touched)
    ]
    assert set(untouched) <= set(salvaged.spans)
    known = set(whole.transactions)
    assert all(one in known for one in salvaged.transactions)


def test_a_log_kept_in_a_row_of_a_damaged_log_is_not_taken_for_its_own() -> None:
    """The row's bytes are events with checksums, and stand nowhere that their headers say."""
    inner = SHOP.read_bytes()[126:20_000]
    log = bytearray(read(CHECKED[0]))
    whole = Salvaged(bytes(log))
    start, end = whole.spans[2]
    log[start + 30 : end - 10] = inner
    salvaged = Salvaged(bytes(log))
    salvaged.check_account()
    kept = set(salvaged.transactions)
    assert kept <= set(whole.transactions)


def test_a_cut_event_in_a_log_in_use_is_not_damage() -> None:
    data = bytearray(read(CHECKED[0]))
    data[IN_USE_FLAG_AT] |= 1
    whole = Salvaged(bytes(data))
    for size in range(whole.file.first_position, len(data), 7):
        salvaged = Salvaged(bytes(data[:size]))
        salvaged.check_account()
        assert salvaged.damage == []
        assert salvaged.scan.ending is Ending.IN_USE
        assert salvaged.spans == [span for span in whole.spans if span[1] <= size]


def test_an_event_that_claims_all_the_rest_of_a_log_in_use_is_damage_where_others_follow_it() -> None:
    data = bytearray(read(CHECKED[0]))
    data[IN_USE_FLAG_AT] |= 1
    whole = Salvaged(bytes(data))
    start, _ = whole.spans[1]
    data[start + 12] = 0x7F
    salvaged = Salvaged(bytes(data))
    assert salvaged.spans == [span for span in whole.spans if span[0] != start]
    assert [(one.start, one.end) for one in salvaged.damage] == [whole.spans[1]]


# What the damage says of itself.

TRANSACTION = (b.BEGIN, b.table_map(), b.rows(1, 2, 3), b.xid())


def test_a_transaction_that_was_cut_is_named() -> None:
    lost = b.rows(4, 5)
    data = bytearray(
        b.whole_log(
            b.gtid(1),
            *TRANSACTION,
            b.gtid(2),
            b.BEGIN,
            b.table_map(),
            lost,
            b.xid(),
            b.gtid(3),
            *TRANSACTION,
            b.STOP,
        )
    )
    at = bytes(data).index(lost[:13])
    data[at : at + len(lost)] = bytes(len(lost))
    salvaged = Salvaged(bytes(data))
    assert salvaged.gtids == [f"{b.UUID_TEXT}:1", f"{b.UUID_TEXT}:3"]
    (damage,) = salvaged.damage
    assert damage.gtid == f"{b.UUID_TEXT}:2"
    assert damage.cut
    assert damage.transactions == 1
    assert damage.offset == at
    assert "zeros" in damage.message
    assert str(damage).startswith(
        f"bytes {damage.start:,} to {damage.end:,} are damaged, which cut the transaction"
    )


def test_transactions_whose_beginning_is_lost_are_counted_by_their_ends() -> None:
    data = bytearray(
        b.whole_log(b.gtid(1), *TRANSACTION, b.gtid(2), *TRANSACTION, b.gtid(3), *TRANSACTION, b.STOP)
    )
    start = len(b.whole_log(b.gtid(1), *TRANSACTION)) - len(b.xid())
    data[start : start + len(b.xid()) + 19] = bytes(len(b.xid()) + 19)
    (damage,) = Salvaged(bytes(data)).damage
    assert damage.cut
    assert damage.gtid == f"{b.UUID_TEXT}:1"
    assert damage.ends == 1
    # Of the second one nothing is left but its number, which is missing.
    assert str(damage.lost) == f"{b.UUID_TEXT}:1-2"
    assert damage.transactions == 2


def test_each_damage_names_what_was_lost_at_it_where_nothing_whole_stands_between() -> None:
    whole = Salvaged(SHOP.read_bytes())
    spans = dict(zip(whole.gtids, whole.spans, strict=True))
    uuid = str(whole.gtids[0]).partition(":")[0]
    data = bytearray(whole.data)
    for number in (100, 102):
        start, stop = spans[f"{uuid}:{number}"]
        data[start:stop] = bytes(stop - start)
    # Between the two a transaction begins whose end is damaged.
    start, stop = spans[f"{uuid}:101"]
    data[stop - 40 : stop] = bytes(40)
    first, second = Salvaged(bytes(data)).damage
    assert (str(first.lost), first.cut) == (f"{uuid}:100", False)
    assert (str(second.lost), second.gtid) == (f"{uuid}:101-102", f"{uuid}:101")


def test_without_gtids_reading_goes_on_at_begin_or_after_an_end() -> None:
    """In a log of 5.6 what follows damage may be of any transaction: only what surely begins is taken."""
    rows = (b.table_map(), b.rows(1, 2, 3))
    before = (b.BEGIN, *rows)
    lost = b.event(29, bytes(50))
    after = (*rows, b.xid(), b.CREATE, b.BEGIN, *rows, b.xid(), b.INSERT, b.STOP)
    data = bytearray(b.whole_log(*before, lost, *after, version="5.6.51-log"))
    start = len(b.whole_log(*before))
    data[start : start + len(lost)] = bytes(len(lost))
    salvaged = Salvaged(bytes(data))
    salvaged.check_account()
    (damage,) = salvaged.damage
    assert damage.cut
    assert damage.transactions == 1
    assert [len(one) for one in salvaged.transactions] == [
        len(b.CREATE),
        len(b.BEGIN + b"".join(rows) + b.xid()),
        len(b.INSERT),
    ]


def test_without_gtids_a_statement_after_damage_waits_for_what_surely_begins() -> None:
    data = bytearray(b.whole_log(b.CREATE, b.CREATE, b.INSERT, *TRANSACTION, version="5.6.51-log"))
    start = len(b.whole_log(b.CREATE))
    data[start : start + 19] = bytes(19)
    salvaged = Salvaged(bytes(data))
    salvaged.check_account()
    assert [len(one) for one in salvaged.transactions] == [len(b.CREATE), len(b"".join(TRANSACTION))]


def test_rows_whose_table_map_is_damaged_are_never_read_by_another_map() -> None:
    before = (b.gtid(1), *TRANSACTION, b.gtid(2), b.BEGIN)
    after = (b.rows(7), b.xid(), b.gtid(3), *TRANSACTION, b.STOP)
    data = bytearray(b.whole_log(*before, b.table_map(table_id=9), *after))
    data[len(b.whole_log(*before)) + 19] ^= 0x40
    salvaged = Salvaged(bytes(data))
    assert salvaged.gtids == [f"{b.UUID_TEXT}:1", f"{b.UUID_TEXT}:3"]
    assert "table map" in salvaged.damage[0].message


def test_an_event_that_claims_a_large_size_at_every_offset_costs_linear_time() -> None:
    """Every 19 bytes a header whose size reaches far and whose position fits: each is worth a checksum."""
    size = 1 << 21
    data = bytearray(size)
    for at in range(0, size - 19, 19):
        claimed = (size - at) // 2
        data[at : at + 19] = b.HEADER.pack(0, 2, 1, claimed, at + claimed, 0)
    search = EventSearch(Bytes(bytes(data)))
    budget = search.budget
    assert search.find(0, 0, 4) is None
    assert search.budget <= 0
    assert budget < 64 * size


def test_a_wrong_size_of_hundreds_of_megabytes_takes_no_such_memory(tmp_path: Path) -> None:
    data = bytearray(read(CHECKED[0]))
    whole = Salvaged(bytes(data))
    start, _ = whole.spans[1]
    data[start + 12] = 0x10
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(data)
    os.truncate(path, 1 << 29)
    tracemalloc.start()
    with BinlogFile.open(str(path)) as file:
        scan = Scan(file, Level.LEVEL_TABLES, on_damage=OnDamage.SALVAGE)
        found = sum(len(table) for table in scan)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == len(whole.spans) - 1
    assert [(one.start, one.end) for one in scan.damage] == [whole.spans[1], (len(data), 1 << 29)]
    assert peak < 16 << 20


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=100))
def test_a_hundred_bytes_of_anything_take_little_memory(tail: bytes) -> None:
    """As they are, and as a QUERY, a GTID event, a payload, compressed rows with a header that fits."""
    tails = [tail, *(b.event(number, tail) for number in (2, 15, 19, 30, 33, 40, 42, 162, 163, 165, 169))]
    tracemalloc.start()
    for one in tails:
        with suppress(BinxError):
            Salvaged(b.whole_log(b.gtid(1)) + one).check_account()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_the_gtids_that_are_missing_at_damage_are_those_of_the_transactions_that_it_took(server: str) -> None:
    data = (TESTDATA / server / "shop" / "mysql-bin.000002").read_bytes()
    whole = Salvaged(data)
    for at in range(len(data) // 5, len(data) - 8192, len(data) // 5):
        damaged = Salvaged(data[:at] + bytes(4096) + data[at + 4096 :])
        (damage,) = damaged.damage
        gone = [gtid for gtid in whole.gtids if gtid not in damaged.gtids]
        assert damage.lost == GtidSet.parse(",".join(str(gtid) for gtid in gone))
        assert damage.transactions == len(gone)


def test_a_hole_in_the_numbers_that_is_not_at_the_damage_is_not_named() -> None:
    transactions = [b.gtid(number) + b.CREATE for number in (1, 2, 5, 6, 7, 8, 11, 12, 13)]
    transactions[4] = bytes(len(transactions[4]))
    found = Salvaged(b.NO_CHECKSUM.read_bytes()[:127] + b"".join(transactions))
    (damage,) = found.damage
    assert str(damage.lost) == f"{b.UUID_TEXT}:7"
    assert damage.transactions == 1
