"""Blocks of an index file: what a transaction's record cannot be is refused."""

from __future__ import annotations

import pytest

from binx.errors import DamagedError
from binx.kernels.stored import StoredTables, pack
from tests.log import building as b

COUNT_COLUMNS = 5
COMMIT, ORIGINAL, BEGIN = 4, 5, 6
HEAD = b"\x80\x01\x04"
"""128 differences a block, in four miniblocks."""


def varint(value: int) -> bytes:
    """LEB128, as Parquet has it."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def zigzag(value: int) -> bytes:
    return varint((value << 1 ^ value >> 63) & (1 << 64) - 1)


def block(**columns: int) -> bytes:
    """One record, DELTA_BINARY_PACKED column by column, without counts."""
    values = {
        1: 100,
        **{
            {"commit": COMMIT, "original": ORIGINAL, "begin": BEGIN}[name]: value
            for name, value in columns.items()
        },
    }
    records = b"".join(HEAD + varint(1) + zigzag(values.get(column, 0)) for column in range(22))
    return records + (HEAD + varint(0) + zigzag(0)) * COUNT_COLUMNS


def test_a_block_made_by_hand_is_laid_out_as_one_that_was_packed() -> None:
    packed = pack(b.transactions(b.CREATE))
    table = StoredTables([], 0).unpack(packed, 1, 0, 0, 1 << 20, 0)
    made = StoredTables([], 0).unpack(block(commit=7), 1, 0, 0, 1 << 20, 0)
    assert (table.value("bytes", 0), made.value("bytes", 0)) == (len(b.CREATE), 100)
    assert made.value("commit_timestamp", 0) == 7


@pytest.mark.parametrize(
    "columns",
    [
        {"commit": 2**56, "original": -(2**56)},
        {"commit": -1, "original": 1, "begin": 1},
        {"original": 2**56},
        {"original": -1},
        {"begin": 2**32},
        {"begin": -1},
    ],
)
def test_times_that_no_log_tells_are_damage(columns: dict[str, int]) -> None:
    with pytest.raises(DamagedError):
        StoredTables([], 0).unpack(block(**columns), 1, 0, 0, 1 << 20, 0)


def test_the_last_times_of_all_are_read() -> None:
    last = 2**56 - 1
    table = StoredTables([], 0).unpack(
        block(commit=last, begin=2**32 - 1 - last // 10**6), 1, 0, 0, 1 << 20, 0
    )
    assert table.value("commit_timestamp", 0) == table.value("original_commit_timestamp", 0) == last
    assert table.value("begin_timestamp", 0) == 2**32 - 1
