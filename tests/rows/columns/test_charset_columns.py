"""Columns of text in any character set, whole ones at a time: what each value is by itself."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from binx.event.charset import Charset, charset
from binx.rows.columns.arrays import ColumnArrays, Handed, keeps_ascii
from binx.rows.columns.types import DEFAULT_ARROW_OPTIONS, Kind, LogicalType

SETS = (
    "armscii8", "ascii", "big5", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932",
    "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8", "koi8r",
    "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7", "tis620", "ucs2",
    "ujis", "utf16", "utf16le", "utf32", "utf8mb3", "utf8mb4",
)  # fmt: skip
DICE = random.Random(19)


def known(name: str) -> Charset:
    found = charset(name)
    assert found is not None
    return found


def view(buffer: Any) -> memoryview:
    return memoryview(buffer).cast("B")


def column(name: str, values: Sequence[bytes | None]) -> tuple[list[str | None], int]:
    """The values as a column of the set has them, and how many have bytes that are no text."""
    made = ColumnArrays(LogicalType(Kind.TEXT, "varchar", charset=name), DEFAULT_ARROW_OPTIONS)
    array = pa.array(values, pa.binary())
    validity, offsets, data = array.buffers()
    found = made.column(
        Handed(validity, array.null_count, view(offsets), view(data or b""), None), len(array)
    )
    text = found if isinstance(found, pa.Array) else found.array(pa.string(), len(array))
    text.validate(full=True)
    return text.to_pylist(), made.undecodable


def expected(name: str, values: Sequence[bytes | None]) -> tuple[list[str | None], int]:
    one = known(name)
    bad = sum(value is not None and one.decode_strictly(value) is None for value in values)
    return [None if value is None else one.decode(value) for value in values], bad


def texts(name: str) -> list[bytes]:
    """Values of all that a set has, each as the set writes it."""
    one = known(name)
    characters = [chr(number) for number in range(1, 0x3100) if one.kept(chr(number)) == chr(number)]
    return [one.encode("".join(DICE.choices(characters, k=DICE.randrange(30)))) for _ in range(300)]


@pytest.mark.parametrize("name", SETS)
def test_text_is_what_each_value_is(name: str) -> None:
    values: list[bytes | None] = [*texts(name), b"", None, known(name).encode("plain"), None]
    assert column(name, values) == expected(name, values)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("alone", [True, False])
def test_bytes_that_are_no_text_are_escaped_and_counted(name: str, alone: bool) -> None:
    values: list[bytes | None] = [DICE.randbytes(DICE.randrange(12)) for _ in range(200)]
    if not alone:
        values += texts(name)
        DICE.shuffle(values)
    assert column(name, values) == expected(name, values)


@pytest.mark.parametrize(
    "values",
    [
        (b"a\0b", b"\0", b"", b"\0\0", b"c"),
        (b"\0a\0", b"\0c", b"\0\0d", b"\0"),
        (b"abc\x88", b"def", b"\xb0", b"\xa1\xa1", b"x"),
    ],
    ids=["zeros", "halves of characters", "lead bytes at the end"],
)
def test_no_value_changes_those_behind_it(values: tuple[bytes, ...]) -> None:
    for name in SETS:
        assert column(name, values) == expected(name, values), name


def test_every_byte_of_a_set_of_single_bytes() -> None:
    for name in SETS:
        if known(name).max_bytes == 1:
            values: list[bytes | None] = [bytes((byte,)) for byte in range(256)]
            assert column(name, values) == expected(name, values), name


def test_ascii_is_the_same_in_most_sets() -> None:
    others = {name for name in SETS if not keeps_ascii(known(name))}
    assert others == {"swe7", "ucs2", "utf16", "utf16le", "utf32"}
