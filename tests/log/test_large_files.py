"""Logs of more than 4 GiB, which a last large transaction can make: positions are right behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.errors import UnsupportedError
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.chain.ends import read_ends
from binx.log.file import BinlogFile
from binx.log.selection.moments import Position
from binx.log.selection.selection import Selection
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.slices.extract import ExtractOptions, extract
from tests.conftest import PROJECT

LOG = PROJECT / "testdata/mysql-9.7/shop/mysql-bin.000002"
FOUR_GIB = 1 << 32


class Repeated:
    """A log whose transactions come again and again until it is larger than 4 GiB; nothing is stored."""

    def __init__(self) -> None:
        data = LOG.read_bytes()
        with BinlogFile.open(str(LOG)) as file:
            places = [
                (table.value("start", index), table.value("end", index))
                for table in file.scan(Level.LEVEL_EVENTS)
                for index in range(len(table))
            ]
        self.starts = [start - places[0][0] for start, _ in places]
        self.head = data[: places[0][0]]
        self.body = data[places[0][0] : places[-1][1]]
        self.repeats = FOUR_GIB // len(self.body) + 2
        self.path = self.name = "mysql-bin.000002"
        self.size = len(self.head) + self.repeats * len(self.body)
        self._many = memoryview(self.body * 64)

    def window(self, start: int, stop: int) -> memoryview:
        stop = min(stop, self.size)
        parts = []
        if start < len(self.head):
            parts.append(memoryview(self.head)[start:stop])
            start += len(parts[0])
        while start < stop:
            at = (start - len(self.head)) % len(self.body)
            parts.append(self._many[at : at + stop - start])
            start += len(parts[-1])
        return parts[0] if len(parts) == 1 else memoryview(b"".join(parts))

    def release(self, start: int, stop: int) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def source() -> Repeated:
    return Repeated()


def behind(source: Repeated, number: int) -> int:
    """Where the first transaction of a repeat begins."""
    return len(source.head) + number * len(source.body)


@pytest.fixture(scope="module")
def last_table(source: Repeated) -> TransactionTable:
    """The last transactions that a whole walk finds, after all others were compared with their places."""
    found = 0
    for table in BinlogFile(source).scan(Level.LEVEL_INDEX, verify=False):
        for index in (0, len(table) - 1):
            number, place = divmod(found + index, len(source.starts))
            assert table.value("start", index) == behind(source, number) + source.starts[place]
        found += len(table)
    assert found == source.repeats * len(source.starts)
    return table


def test_every_transaction_is_found_where_it_is(source: Repeated, last_table: TransactionTable) -> None:
    assert last_table.value("end", len(last_table) - 1) == source.size > FOUR_GIB


def test_a_slice_from_behind_4_gib_has_the_bytes_from_there(source: Repeated, tmp_path: Path) -> None:
    place = behind(source, source.repeats - 1) + source.starts[3]
    assert place > FOUR_GIB
    chain = [read_ends(BinlogFile(source))]
    selection = Selection(start=Position(None, place), limit=1)
    extract(chain, selection, str(tmp_path / "slice"), ExtractOptions(verify=False))
    with BinlogFile.open(str(tmp_path / "slice")) as written, BinlogFile.open(str(LOG)) as original:
        one, several = next(iter(written.scan())), next(iter(original.scan()))
        assert len(one) == 1
        assert one.gtid(0) == several.gtid(3)


def test_rows_from_behind_4_gib_are_refused_and_none_is_numbered_wrongly(
    source: Repeated, last_table: TransactionTable
) -> None:
    mask = last_table.mask()
    last_table.mark_work(mask)
    with pytest.raises(UnsupportedError, match="begins after the first 4 GiB") as caught:
        list(ChangeDecoder(BinlogFile(source), Catalog()).decode(last_table, mask))
    assert caught.value.path == "mysql-bin.000002"
    assert (caught.value.offset or 0) >= FOUR_GIB
