"""Rows of dumps are cut into columns as the servers read them, whatever of the text is there at once."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from itertools import pairwise

import pytest

from binx.errors import BinxError, DamagedError
from binx.kernels.text.tuples import Encoding, TupleColumns

MOST = 1 << 30
PLAIN = (Encoding.PLAIN,) * 4
ROWS = (
    rb"(1,'it''s \'a\' \0\n\Z\%',NULL,0x0102) ,"
    rb"(-2,_binary 'x', 3 ,b'101'),"
    b'\n( NULL,"say ""so""",.5,x\'\') ;'
)
VALUES = [
    [b"1", b"-2", None],
    [b"it's 'a' \0\n\x1a%", b"x", b'say "so"'],
    [None, b"3", b".5"],
    [b"\x01\x02", b"\x05", b""],
]


def values_of(columns: TupleColumns) -> list[list[bytes | None]]:
    """What was cut, column by column."""
    rows, cut = columns.finish()
    found = []
    for validity, nulls, offsets, data in cut:
        bounds = struct.unpack(f"<{rows + 1}i", bytes(offsets))
        values: list[bytes | None] = [bytes(data)[a:b] for a, b in pairwise(bounds)]
        if validity is not None:
            bits = bytes(validity)
            values = [one if bits[row >> 3] >> (row & 7) & 1 else None for row, one in enumerate(values)]
        assert values.count(None) == nulls
        found.append(values)
    return found


def cut(text: bytes, *at: int, encodings: Sequence[Encoding] = PLAIN) -> list[list[bytes | None]]:
    """The rows of a text of which only so much is there at first."""
    columns = TupleColumns(encodings)
    columns.begin()
    position = 0
    for stop in (*at, len(text)):
        if not columns.ended:
            position = columns.cut(text, position, stop, MOST, MOST)
    assert columns.ended
    assert position == len(text)
    return values_of(columns)


def test_it_does_not_matter_where_the_text_is_cut() -> None:
    assert all(cut(ROWS, at) == VALUES for at in range(len(ROWS)))


def test_lines_are_cut_as_rows_are() -> None:
    encodings = (Encoding.PLAIN, Encoding.PLAIN, Encoding.BASE64, Encoding.HEXADECIMAL)
    text = b"1\ta\\tb\\\\\\nc\tAP8=\t00ff\n\\N\t\\N\t\\N\t\\N\n-5\t\\\\N\t\tAB\n"
    for at in range(len(text) + 1):
        columns = TupleColumns(encodings)
        position = columns.cut_lines(text, 0, at, MOST, MOST)
        assert columns.cut_lines(text, position, len(text), MOST, MOST) == len(text)
        assert values_of(columns) == [
            [b"1", None, b"-5"],
            [b"a\tb\\\nc", None, b"\\N"],
            [b"\0\xff", None, b""],
            [b"\0\xff", None, b"\xab"],
        ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"(1,'a',1);", "as many values"),
        (b"(1,'a',1,NULL,NULL);", "as many values"),
        (b"(1,now(),1,NULL);", "a value"),
        (b"(1,'a',1,0xzz);", "hexadecimal"),
        (b"(1,'a',1,NULL)(", "a comma"),
        (b",", "a row in parentheses"),
        (b";", "a row in parentheses"),
    ],
)
def test_what_is_no_row_is_reported(text: bytes, expected: str) -> None:
    columns = TupleColumns(PLAIN)
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
        columns = TupleColumns(PLAIN)
        columns.begin()
        try:
            position = columns.cut(text, 0, stop, 2, MOST)
            columns.cut(text, position, len(text), MOST, MOST)
        except BinxError:
            continue
        assert len({len(one) for one in values_of(columns)}) == 1
