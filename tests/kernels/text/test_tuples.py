"""Rows of dumps are cut into columns as the servers read them, whatever of the text is there at once."""

from __future__ import annotations

import random
import struct
from itertools import pairwise
from typing import Any

import pytest

from binx.errors import BinxError, DamagedError
from binx.kernels.text.tuples import Codec, Encoding, TupleColumns

MOST = 1 << 30
KINDS = (Codec.INTEGER, Codec.TEXT, Codec.DECIMAL, Codec.DATETIME, Codec.TIME, Codec.DATE, Codec.BITS)
ROWS = (
    rb"(1,'it''s \'a\' \0\n\Z\%',-12.5,'2024-01-02 03:04:05.5','-838:59:59',NULL,0x0102) ,"
    rb"(-2,_binary 'x', 3 ,'0000-00-00 00:00:00','01:02:03.25','2024-02-30',b'101'),"
    b'\n( NULL,"say ""so""",0,NULL,NULL,\'1970-01-02\',x\'\') ;'
)


def cutter(kinds: tuple[Codec, ...] = KINDS, encodings: tuple[Encoding, ...] = ()) -> TupleColumns:
    scales = [2 if kind is Codec.DECIMAL else 0 for kind in kinds]
    return TupleColumns(kinds, encodings or [Encoding.PLAIN] * len(kinds), scales)


def values_of(columns: TupleColumns, kinds: tuple[Codec, ...]) -> tuple[list[list[Any]], Any]:
    """What was cut, column by column, and the misfits."""
    rows, handed, misfits = columns.finish()
    found: list[list[Any]] = []
    for kind, (validity, nulls, values, data, _) in zip(kinds, handed, strict=True):
        if data is not None:
            bounds = struct.unpack(f"<{rows + 1}i", bytes(values))
            read: list[Any] = [bytes(data)[a:b] for a, b in pairwise(bounds)]
        elif kind is Codec.DECIMAL:
            read = [
                int.from_bytes(bytes(values)[at : at + 16], "little", signed=True)
                for at in range(0, rows * 16, 16)
            ]
        else:
            read = list(struct.unpack(f"<{rows}q", bytes(values)))
        if validity is not None:
            bits = bytes(validity)
            read = [one if bits[row >> 3] >> (row & 7) & 1 else None for row, one in enumerate(read)]
        assert read.count(None) == nulls
        found.append(read)
    return found, misfits


def cut(text: bytes, *at: int) -> tuple[list[list[Any]], Any]:
    """The rows of a text of which only so much is there at first."""
    columns = cutter()
    columns.begin()
    position = 0
    for stop in (*at, len(text)):
        if not columns.ended:
            position = columns.cut(text, position, stop, MOST, MOST)
    assert columns.ended
    assert position == len(text)
    return values_of(columns, KINDS)


def test_values_are_what_the_server_reads_and_what_has_no_value_is_a_misfit() -> None:
    second = 1_000_000
    assert cut(ROWS) == (
        [
            [1, -2, None],
            [b"it's 'a' \0\n\x1a%", b"x", b'say "so"'],
            [-1250, 300, 0],
            [1_704_164_645 * second + 500_000, None, None],
            [-(838 * 3600 + 59 * 60 + 59) * second, 3723 * second + 250_000, None],
            [None, None, 1],
            [0x0102, 5, 0],
        ],
        [(1, 3, "0000-00-00 00:00:00"), (1, 5, "2024-02-30")],
    )


def test_it_does_not_matter_where_the_text_is_cut() -> None:
    whole = cut(ROWS)
    assert all(cut(ROWS, at) == whole for at in range(len(ROWS)))


def test_lines_are_cut_as_rows_are() -> None:
    kinds = (Codec.INTEGER, Codec.TEXT, Codec.TEXT, Codec.TEXT)
    encodings = (Encoding.PLAIN, Encoding.PLAIN, Encoding.BASE64, Encoding.HEXADECIMAL)
    text = b"1\ta\\tb\\\\\\nc\tAP8=\t00ff\n\\N\t\\N\t\\N\t\\N\n-5\t\\\\N\t\tAB\n"
    for at in range(len(text) + 1):
        columns = cutter(kinds, encodings)
        position = columns.cut_lines(text, 0, at, MOST, MOST)
        assert columns.cut_lines(text, position, len(text), MOST, MOST) == len(text)
        assert values_of(columns, kinds)[0] == [
            [1, None, -5],
            [b"a\tb\\\nc", None, b"\\N"],
            [b"\0\xff", None, b""],
            [b"\0\xff", None, b"\xab"],
        ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"(1,'a',1.234,NULL,NULL,NULL,NULL);", "type of column 3"),
        (b"(9223372036854775808,'a',1,NULL,NULL,NULL,NULL);", "type of column 1"),
        (b"(1,'a',1,'2024-1-2 00:00:00',NULL,NULL,NULL);", "type of column 4"),
        (b"(1,'a',1,NULL,'839:00:00',NULL,NULL);", "type of column 5"),
        (b"(1,'a',1,NULL,NULL,NULL,0x010203040506070809);", "type of column 7"),
        (b"(1,'a',1,NULL,NULL,NULL);", "as many values"),
        (b"(1,'a',1,NULL,NULL,NULL,NULL,NULL);", "as many values"),
        (b"(1,now(),1,NULL,NULL,NULL,NULL);", "a value"),
        (b"(1,'a',1,NULL,NULL,NULL,0xzz);", "hexadecimal"),
        (b"(1,'a',1,NULL,NULL,NULL,NULL)(", "a comma"),
        (b",", "a row in parentheses"),
        (b";", "a row in parentheses"),
    ],
)
def test_what_is_no_row_is_told(text: bytes, expected: str) -> None:
    columns = cutter()
    columns.begin()
    with pytest.raises(DamagedError, match=expected):
        columns.cut(text, 0, len(text), MOST, MOST)


def test_damaged_text_gives_errors_of_binx_or_other_rows() -> None:
    chosen = random.Random(1)
    for _ in range(3000):
        text = bytearray(ROWS)
        for _ in range(chosen.randrange(1, 4)):
            text[chosen.randrange(len(text))] = chosen.choice(b"'\"\\(),;0x \0\xff9-N")
        stop = chosen.randrange(len(text) + 1)
        columns = cutter()
        columns.begin()
        try:
            position = columns.cut(text, 0, stop, 2, MOST)
            columns.cut(text, position, len(text), MOST, MOST)
        except BinxError:
            continue
        assert len({len(one) for one in values_of(columns, KINDS)[0]}) == 1
