"""Row changes that a kernel writes, against the same put together in Python."""

from __future__ import annotations

import json
from array import array
from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.event.charset import charset
from binx.kernels.render.transactions import ChangeTexts, Spelling
from binx.slices import rendering
from binx.slices.rendering import Changes, MergedChanges, Part
from binx.sql.values import Spelled
from tests.slices.spelled import texts_of

LONG = 300_000
LONG_SPELLINGS = (
    *(Spelling.SPELL_TEXT, Spelling.SPELL_SQL, Spelling.SPELL_JSON, Spelling.SPELL_BASE64),
    Spelling.SPELL_ESCAPED,
)
VALUES = st.lists(st.none() | st.binary(max_size=40), min_size=1, max_size=20)
DAYS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999))


def spelled(array_: pa.Array, spelling: Spelling, **around: Any) -> list[bytes]:
    return texts_of([Spelled(spelling, array_, null=b"-", **around)], len(array_))


def integers(values: Sequence[int]) -> memoryview:
    """64-bit integers, as the memory of a batch's column has them."""
    return memoryview(array("q", values))


@given(VALUES, st.integers(0, 3))
def test_bytes_are_digits_and_base64(values: list[bytes | None], cut: int) -> None:
    column = pa.array([b"before"] * cut + values, pa.binary())[cut:]
    shown = [b"-" if value is None else b"<%b>" % value.hex().encode() for value in values]
    assert spelled(column, Spelling.SPELL_HEXADECIMAL, open=b"<", close=b">") == shown
    shown = [b"-" if value is None else b64encode(value) for value in values]
    assert spelled(column, Spelling.SPELL_BASE64) == shown


@given(VALUES)
def test_text_is_json_and_what_is_none_is_escaped_as_python_does(values: list[bytes | None]) -> None:
    utf8 = charset("utf8mb4")
    assert utf8 is not None
    expected = [
        b"-" if value is None else json.dumps(utf8.decode(value), ensure_ascii=False).encode()
        for value in values
    ]
    assert spelled(pa.array(values, pa.binary()), Spelling.SPELL_JSON) == expected


@given(VALUES)
def test_text_stands_as_it_is_and_what_is_none_is_escaped_as_python_does(values: list[bytes | None]) -> None:
    utf8 = charset("utf8mb4")
    assert utf8 is not None
    expected = [b"-" if value is None else utf8.decode(value).encode() for value in values]
    assert spelled(pa.array(values, pa.binary()), Spelling.SPELL_ESCAPED) == expected


@pytest.mark.parametrize("piece", [b"a", b"'\\\n", "é🍀".encode(), b"\xff\xe2\x82", b"''", b"\0"])
def test_a_long_value_is_what_a_short_one_is(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    value = piece * (LONG // len(piece))
    column = pa.array([value, piece], pa.binary())
    sides = {"open": b"(", "close": b")", "odd_open": b"x'", "odd_close": b"'"}
    for spelling in LONG_SPELLINGS:
        whole = spelled(column, spelling, **sides)
        monkeypatch.setattr(rendering, "CHUNK_BYTES", 1000)
        assert spelled(column, spelling, **sides) == whole
        monkeypatch.undo()
    (text, _) = spelled(column, Spelling.SPELL_JSON)
    utf8 = charset("utf8mb4")
    assert utf8 is not None
    assert json.loads(text) == utf8.decode(value)


def test_a_chunk_is_bounded_however_long_the_value() -> None:
    column = pa.array([b"x" * 10_000_000], pa.binary())
    part = Part(b"<", Spelled(Spelling.SPELL_HEXADECIMAL, column, close=b">"))
    numbers = integers([0])
    chunks = list(MergedChanges([Changes(numbers, numbers, None, 1, [part])]).text(0, 1))
    assert b"".join(chunks) == b"<" + b"78" * 10_000_000 + b">"
    assert max(map(len, chunks)) < 3 * rendering.CHUNK_BYTES


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
@given(data=st.data())
def test_integers_are_digits(kind: str, data: st.DataObject) -> None:
    bits = int(kind.lstrip("uint"))
    least, most = (0, 2**bits - 1) if kind.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    drawn = st.none() | st.integers(least, most) | st.sampled_from([least, most])
    values = data.draw(st.lists(drawn, min_size=1))
    spelling = Spelling.SPELL_UNSIGNED if kind.startswith("u") else Spelling.SPELL_SIGNED
    texts = spelled(pa.array(values, getattr(pa, kind)()), spelling)
    assert texts == [b"-" if value is None else str(value).encode() for value in values]


@given(st.lists(st.none() | DAYS, min_size=1), st.integers(0, 6))
def test_moments_are_those_of_a_calendar(values: list[datetime | None], fraction: int) -> None:
    part = Spelled(Spelling.SPELL_MOMENT, pa.array(values, pa.timestamp("us")), null=b"-", parameter=fraction)
    size = 20 + fraction if fraction else 19
    shown = ["-" if value is None else value.isoformat(" ", "microseconds")[:size] for value in values]
    assert texts_of([part], len(values)) == [text.encode() for text in shown]
    days = pa.array([None if value is None else value.date() for value in values], pa.date32())
    shown = ["-" if value is None else value.date().isoformat() for value in values]
    assert spelled(days, Spelling.SPELL_DATE) == [text.encode() for text in shown]


@given(
    st.lists(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 9)), unique=True), min_size=1),
    st.booleans(),
)
def test_changes_of_several_tables_come_in_the_logs_order(
    tables: list[list[tuple[int, int]]], backwards: bool
) -> None:
    changes: list[Changes] = []
    seen: set[tuple[int, int]] = set()
    for number, table in enumerate(tables):
        own = sorted(set(table) - seen)
        seen.update(own)
        names = pa.array([f"{number}:{version}.{row} ".encode() for version, row in own], pa.binary())
        versions, rows = (integers([one[side] for one in own]) for side in (0, 1))
        parts = [Part(b"", Spelled(Spelling.SPELL_TEXT, names))]
        changes.append(Changes(versions, rows, None, len(own), parts))
    piece = MergedChanges(changes, backwards=backwards, separator=b"|")
    text = b"".join(piece.text(0, len(seen))).decode()
    order = sorted(seen, key=lambda one: (one[0], -one[1] if backwards else one[1]))
    transactions = [[row for version, row in order if version == wanted] for wanted in piece.versions]
    assert list(piece.versions) == sorted({version for version, _ in seen})
    assert [one.split(":")[1] for one in text.replace("|", "").split()] == [f"{v}.{r}" for v, r in order]
    assert text.count("|") == sum(len(rows) - 1 for rows in transactions)


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30))
def test_runs_from_the_last_to_the_first_give_changes_from_the_last_to_the_first(
    given_changes: list[tuple[int, int, int]],
) -> None:
    # The version of each change, its table and its mark; numbers ascend.
    seen = [(version, number, table, mark) for number, (version, table, mark) in enumerate(given_changes)]
    seen.sort()
    changes: list[Changes] = []
    for own in ([one for one in seen if one[2] == table] for table in (0, 1)):
        names = pa.array([f"{number} ".encode() for _, number, _, _ in own], pa.binary())
        versions, numbers = (integers([one[side] for one in own]) for side in (0, 1))
        parts = [Part(b"", Spelled(Spelling.SPELL_TEXT, names))]
        marks = pa.array([one[3] for one in own], pa.uint8())
        changes.append(Changes(versions, numbers, None, len(own), parts, marks))
    piece = MergedChanges(changes, backwards=True)
    bounds = [0, *piece.ends]
    runs = [b"".join(piece.text(*bounds[run : run + 2])) for run in range(len(piece.ends))]
    told = b"".join(reversed(runs)).split()
    assert told == [str(number).encode() for _, number, _, _ in reversed(seen)]


def test_a_list_has_commas_between_those_of_its_items_that_are_there() -> None:
    numbers = pa.array([1, 2, 3, 4], pa.int64())
    masks = ([True, True, False, False], [False, True, True, False])
    parts = [
        Part(
            b"%c=" % name,
            Spelled(Spelling.SPELL_SIGNED, numbers),
            None,
            pa.array(mask),
            otherwise,
            listed=True,
        )
        for name, mask, otherwise in zip(b"ab", masks, (b"", b"b=b"), strict=True)
    ]
    places = integers([1, 2, 3, 4])
    piece = MergedChanges([Changes(places, places, None, 4, [*parts, b";"])])
    assert [b"".join(piece.text(row, row + 1)) for row in range(4)] == [
        b"a=1, b=b;",
        b"a=2, b=2;",
        b"b=3;",
        b"b=b;",
    ]


def test_whole_transactions_have_their_heads_and_feet() -> None:
    versions, rows = integers([1, 1, 2]), integers([0, 1, 0])
    part = Part(b"", Spelled(Spelling.SPELL_SIGNED, pa.array([7, 8, 9], pa.int64())))
    piece = MergedChanges([Changes(versions, rows, None, 3, [part])], separator=b",")
    ends = array("q", [2, 5]).tobytes()
    assert b"".join(piece.framed(0, 2, ends, b"A(BB(", b")")) == b"A(7,8)BB(9)"
    with pytest.raises(ValueError, match="fewer heads"):
        piece.framed(0, 2, ends[:8], b"A(", b")")


@pytest.mark.parametrize("offsets", [[0, 4], [-1, 2], [2, 1]])
def test_offsets_that_do_not_fit_are_refused(offsets: list[int]) -> None:
    texts, numbers = ChangeTexts(b"", 1000, 1000, -1), array("q", [0])
    column = (b"abc", 0, array("i", offsets), 4, 1, None, None, 0, 0, 1)
    part = (Spelling.SPELL_TEXT, (b"",) * 7, 0, False, column, None, None)
    texts.add(numbers, numbers, None, None, 1, [part])
    texts.merge(False)
    texts.begin(0, 1)
    with pytest.raises(ValueError, match="does not fit"):
        texts.step()


def test_changes_that_are_not_in_order_are_refused() -> None:
    versions = integers([2, 1])
    with pytest.raises(ValueError, match="not in order"):
        MergedChanges([Changes(versions, versions, None, 2, [Part(b"x")])])


def test_codes_of_a_width_that_no_column_has_are_refused() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0], pa.int16()), pa.array(["a"]))
    with pytest.raises(ValueError, match="width"):
        spelled(column, Spelling.SPELL_TEXT)
