"""Values as SQL literals: each is read back as what it was, in any session."""

from __future__ import annotations

import re
import struct
from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import RefusedError
from binx.event.charset import charset as charset_of_name
from binx.rows.columns.types import Kind, LogicalType
from binx.rows.ddl.tokens import identifier
from binx.sql.literals import SqlValues, comment_text, text_literal
from tests.slices.spelled import texts_of

UNSAFE = [*map(chr, range(0x20)), "\\", "\x7f"]
TEXT = LogicalType(Kind.TEXT, "text", charset="utf8mb4")

ESCAPED = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t", "0": "\0"}


def read_text_literal(literal: str, *, escapes: bool = False) -> str:
    """The text that a server reads: whatever its sql_mode, or where backslashes escape; else an error."""
    digits = re.fullmatch(r"_utf8mb4 x'([0-9a-f]*)'", literal)
    if digits is not None:
        return bytes.fromhex(digits[1]).decode()
    plain = re.fullmatch(r"'((?:[^'\\\x00-\x1f\x7f]|''|\\[\\nrt0])*)'", literal)
    assert plain is not None, literal
    assert escapes or "\\" not in literal
    return re.sub(r"''|\\(.)", lambda found: ESCAPED[found[1]] if found[1] else "'", plain[1])


def literals_of(array: pa.Array, logical: LogicalType, *, exact: bool = False) -> list[bytes]:
    return texts_of(SqlValues(compared=exact).spelled(array, logical), len(array))


@given(st.text())
def test_a_text_is_read_back_with_and_without_backslash_escapes(text: str) -> None:
    assert read_text_literal(text_literal(text)) == text


@given(
    st.lists(st.none() | st.text(st.sampled_from([*UNSAFE, "'", '"', "`", ";", "a", "é", "🍀"])), min_size=1)
)
def test_a_column_of_texts_is_read_back(values: list[str | None]) -> None:
    literals = literals_of(pa.array(values, pa.string()), TEXT)
    read = [
        None if literal == b"NULL" else read_text_literal(literal.decode(), escapes=True)
        for literal in literals
    ]
    assert read == values


@pytest.mark.parametrize("charset", ["utf8mb4", "latin1"])
def test_lines_tabs_and_backslashes_of_a_row_can_be_read(charset: str) -> None:
    text = 'a\nb\r\n\tit\'s {"path": "C:\\\\x"}\0'
    array = pa.array([text.encode("ascii"), b"bell\x07"], pa.binary())
    literals = literals_of(array, LogicalType(Kind.TEXT, "text", charset=charset))
    assert literals[0].decode() == r"""'a\nb\r\n\tit''s {"path": "C:\\\\x"}\0'"""
    assert literals[1] == b"_utf8mb4 x'62656c6c07'"


@given(
    st.lists(st.none() | st.binary(), min_size=1), st.sampled_from(["latin1", "gbk", "utf8mb4", "ucs2", None])
)
def test_text_that_is_none_in_its_charset_keeps_its_bytes(
    values: list[bytes | None], charset: str | None
) -> None:
    logical = LogicalType(Kind.TEXT, "text", charset=charset)
    literals = literals_of(pa.array(values, pa.binary()), logical)
    for value, literal in zip(values, literals, strict=True):
        bare = re.fullmatch(r"_(\w+) x'([0-9a-f]*)'", literal.decode())
        if value is None:
            assert literal == b"NULL"
        elif bare is not None and bare[1] != "utf8mb4":
            assert bytes.fromhex(bare[2]) == value
        elif bare is not None:
            bytes.fromhex(bare[2])
        else:
            read_text_literal(literal.decode(), escapes=True)


CHARSETS = ("latin1", "cp1251", "gbk", "sjis", "big5", "cp932", "eucjpms", "ucs2", "gb18030", "greek")


@given(
    st.lists(st.none() | st.text(max_size=8) | st.binary(max_size=4), min_size=1),
    st.sampled_from(CHARSETS),
    st.integers(0, 2),
)
def test_a_text_is_written_the_same_whatever_values_stand_beside_it(
    values: list[str | bytes | None], name: str, cut: int
) -> None:
    charset = charset_of_name(name)
    assert charset is not None
    column = [charset.encode(value) if isinstance(value, str) else value for value in values]
    array = pa.array([b"", b"a"][:cut] + column, pa.binary())[cut:]
    literals = literals_of(array, LogicalType(Kind.TEXT, "text", charset=name))
    for value, literal in zip(column, literals, strict=True):
        text = None if value is None else charset.decode_strictly(value)
        if value is None:
            assert literal == b"NULL"
        elif text is None or not charset.is_written_back(text):
            assert literal == b"_%b x'%b'" % (name.encode(), value.hex().encode())
        else:
            assert read_text_literal(literal.decode(), escapes=True) == text


def test_text_that_a_server_would_store_as_other_bytes_is_given_as_its_bytes() -> None:
    logical = LogicalType(Kind.TEXT, "text", charset="cp932")
    values = pa.array([b"\x82\xa0", b"\x87\x90", None, b"a\x81\xe0"], pa.binary())
    literals = ["'あ'", "_cp932 x'8790'", "NULL", "_cp932 x'6181e0'"]
    assert [literal.decode() for literal in literals_of(values, logical)] == literals
    (exact,) = literals_of(values[1:2], logical, exact=True)
    assert exact == b"CONVERT(_cp932 x'8790' USING utf8mb4)"


@given(st.lists(st.none() | st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_a_float_is_read_back_through_a_double_and_never_out_of_range(values: list[float | None]) -> None:
    logical = LogicalType(Kind.FLOAT32, "float")
    literals = literals_of(pa.array(values, pa.float32()), logical)
    exact = literals_of(pa.array(values, pa.float32()), logical, exact=True)
    for value, literal, comparable in zip(values, literals, exact, strict=True):
        if value is not None:
            assert struct.pack("<f", float(literal)) == struct.pack("<f", value)
            assert struct.pack("<d", float(comparable)) == struct.pack("<d", value)
            assert b"e" in literal


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_a_double_is_read_back(values: list[float | None]) -> None:
    literals = literals_of(pa.array(values, pa.float64()), LogicalType(Kind.FLOAT64, "double"))
    read = [None if literal == b"NULL" else struct.pack("<d", float(literal)) for literal in literals]
    assert read == [None if value is None else struct.pack("<d", value) for value in values]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(RefusedError, match="NaN or infinity"):
        SqlValues().spelled(pa.array([1.0, value]), LogicalType(Kind.FLOAT64, "double"))


@given(st.data(), st.integers(0, 38))
def test_a_decimal_has_all_its_digits_and_no_exponent(data: st.DataObject, scale: int) -> None:
    unscaled = st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-(10**18), 10**18) | st.integers(-99, 99)
    numbers = data.draw(st.lists(st.none() | unscaled, min_size=1))
    values = [
        None if number is None else Decimal(number).scaleb(-scale, Context(prec=38)) for number in numbers
    ]
    logical = LogicalType(Kind.DECIMAL, "decimal", precision=38, scale=scale)
    literals = literals_of(pa.array(values, pa.decimal128(38, scale)), logical)
    for value, literal in zip(values, literals, strict=True):
        if value is not None:
            # Zero has a sign in Python's decimals only.
            assert literal.decode() == f"{abs(value) if value == 0 else value:.{scale}f}"


@given(st.lists(st.integers(-3020399999999, 3020399999999), min_size=1), st.integers(0, 6))
def test_a_time_is_hours_minutes_seconds_and_a_fraction(values: list[int], digits: int) -> None:
    unit = 10 ** (6 - digits)
    values = [value // unit * unit for value in values]
    logical = LogicalType(Kind.TIME, "time", fraction=digits)
    literals = literals_of(pa.array(values, pa.duration("us")), logical)
    for value, literal in zip(values, literals, strict=True):
        match = re.fullmatch(r"'(-?)(\d{2,3}):([0-5]\d):([0-5]\d)(?:\.(\d+))?'", literal.decode())
        assert match is not None
        sign, hours, minutes, seconds, fraction = match.groups()
        assert len(fraction or "") == digits
        size = (int(hours) * 3600 + int(minutes) * 60 + int(seconds)) * 10**6 + int(
            (fraction or "0").ljust(6, "0")
        )
        assert (-size if sign else size) == value


@given(st.text(min_size=1))
def test_a_name_cannot_leave_its_backticks(name: str) -> None:
    quoted = identifier(name)
    assert quoted[0] == quoted[-1] == "`"
    assert quoted[1:-1].replace("``", "").count("`") == 0
    assert quoted[1:-1].replace("``", "`") == name


@given(st.text())
def test_a_remark_stays_in_its_line(text: str) -> None:
    assert comment_text(text).isprintable()
