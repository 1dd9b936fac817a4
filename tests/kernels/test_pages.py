"""Pages have bounds, and buffers that do not hold what they should are refused."""

from __future__ import annotations

import io
from array import array
from itertools import accumulate

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.export.parquet_format.arrow_writer import ArrowWriter
from binx.export.parquet_format.columns import Values
from binx.export.parquet_format.file import ParquetFile
from binx.export.parquet_format.schema import LIST, STRING, FileSchema, Group, Leaf, Physical
from binx.kernels.levels import Levels
from binx.kernels.numbers import Form
from binx.kernels.pages import PageEncoder

MIB = 1024 * 1024
TEXT = Leaf("text", Form.FORM_BYTES, Physical.BYTE_ARRAY, STRING)
NUMBER = Leaf("number", Form.FORM_INT64, Physical.INT64)
WORD = Leaf("word", Form.FORM_WORDS, Physical.BYTE_ARRAY, width=1)


def texts(*values: bytes) -> Values:
    return Values(0, array("i", accumulate(map(len, values), initial=0)), b"".join(values))


def pages(leaf: Leaf, rows: int, values: Values) -> list[tuple[int, int]]:
    """Entries and bytes of each page of values."""
    encoder = PageEncoder()
    begin(encoder, leaf, rows, values)
    encoder.dictionary_page()
    found = []
    while encoder.data_page():
        found.append((encoder.page_entries, len(encoder)))
    return found


def begin(encoder: PageEncoder, leaf: Leaf, rows: int, values: Values) -> None:
    buffers = values.values, values.data, values.words, values.validity
    encoder.begin(
        *(leaf.form, leaf.width, rows, values.first, *buffers, leaf.optional, leaf.has_dictionary),
        *(values.levels, False),
    )


def test_a_page_ends_before_its_texts_are_more_than_a_mebibyte() -> None:
    sizes = [*[1] * 1000, MIB - 1000, 5, 3 * MIB, 10, MIB // 2, MIB // 2, 1]
    values = [bytes([65 + number % 26]) * size for number, size in enumerate(sizes)]
    found = pages(TEXT, len(values), texts(*values))
    assert [entries for entries, _ in found] == [1001, 1, 1, 2, 2]
    assert sum(size for _, size in found) < sum(sizes) + 10_000


@pytest.mark.parametrize("codec", ["none", "zstd", "snappy", "lz4"])
def test_a_long_text_is_read_back_from_a_page_of_its_own(codec: str) -> None:
    values = [b"a" * 10, bytes(range(97, 123)) * 100_000, None, b"", b"z" * (MIB + 1), b"end"]
    batch = pa.record_batch({"text": pa.array(values, pa.string()).slice(1)})
    stream = io.BytesIO()
    writer = ArrowWriter(stream, batch.schema, compression=codec, statistics=["text"])
    writer.write_batch(batch)
    writer.close()
    assert pq.read_table(stream).to_batches() == [batch]


def test_a_page_has_65536_rows_at_most() -> None:
    assert [entries for entries, _ in pages(NUMBER, 200_000, Values(0, array("q", range(200_000))))] == [
        *(65_536, 65_536, 65_536, 200_000 - 3 * 65_536)
    ]


def test_a_list_stays_in_one_page_however_long() -> None:
    lengths = [70_000, 1, 60_000, 5000, 1000]
    levels = Levels(len(lengths))
    levels.optional(None, 0)
    levels.repeated(array("i", accumulate(lengths, initial=0)), 0)
    levels.optional(None, 0)
    numbers = Values(0, array("q", range(sum(lengths))), levels=levels)
    assert [entries for entries, _ in pages(NUMBER, 5, numbers)] == [70_000, 65_001, 1000]
    stream = io.BytesIO()
    file = ParquetFile(stream, FileSchema([Group("a", (NUMBER,), LIST)]))
    file.write_rows(5, [numbers])
    file.close({})
    assert [len(row) for row in pq.read_table(stream)["a"].to_pylist()] == lengths


def test_one_value_may_be_larger_than_any_page() -> None:
    value = b"long " * (8 * MIB)
    stream = io.BytesIO()
    file = ParquetFile(stream, FileSchema([TEXT]))
    file.write_rows(3, [texts(b"a", value, b"b")])
    file.close({})
    assert pq.read_table(stream)["text"].to_pylist() == ["a", value.decode(), "b"]


@pytest.mark.parametrize(
    ("leaf", "values"),
    [
        (NUMBER, Values(0, bytes(31))),
        (NUMBER, Values(1, bytes(32))),
        (NUMBER, Values(0, bytes(32), validity=b"")),
        (TEXT, Values(0, bytes(16))),
        (TEXT, Values(0, array("i", [0, 1, 2, 3, 4]), b"abc")),
        (Leaf("yes", Form.FORM_BOOL, Physical.BOOLEAN), Values(5, b"\xff")),
        (Leaf("d", Form.FORM_DECIMAL_AS_INT64, Physical.INT64), Values(0, bytes(63))),
        (
            Leaf("w", Form.FORM_WORDS, Physical.BYTE_ARRAY, width=1),
            Values(0, b"\0\0\0\1", b"a", array("i", [0, 1])),
        ),
        (
            Leaf("w", Form.FORM_WORDS, Physical.BYTE_ARRAY, width=1),
            Values(0, b"\0\0\0\0", b"", array("i", [0, 1])),
        ),
        (
            Leaf("w", Form.FORM_WORDS, Physical.BYTE_ARRAY, width=8),
            Values(0, bytes(32), b"", array("i", [0, 0])),
        ),
    ],
)
def test_buffers_that_are_too_short_are_refused(leaf: Leaf, values: Values) -> None:
    with pytest.raises(ValueError, match=r"buffer|word"):
        begin(PageEncoder(), leaf, 4, values)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_row_group_has_values_of_all_leaves(count: int) -> None:
    file = ParquetFile(io.BytesIO(), FileSchema([NUMBER, TEXT]))
    with pytest.raises(ValueError, match=f"of 2 leaves, found {count if count < 2 else 'more'}"):
        file.write_rows(1, [Values(0, bytes(8)), texts(b"a"), texts(b"b")][:count])


def test_levels_refuse_what_they_cannot_tell() -> None:
    levels = Levels(4)
    with pytest.raises(ValueError, match="shorter"):
        levels.repeated(bytes(16), 0)
    with pytest.raises(ValueError, match="shorter"):
        levels.optional(b"", 0)
    levels.repeated(bytes(20), 0)
    with pytest.raises(ValueError, match="a list within a list"):
        levels.repeated(bytes(20), 0)
    with pytest.raises(ValueError, match="same rows"):
        begin(PageEncoder(), NUMBER, 5, Values(0, bytes(40), levels=levels))
    with pytest.raises(ValueError, match="in use"):
        levels.optional(None, 0)
    with pytest.raises(ValueError, match="more than"):
        Levels(2**31)


def test_an_encoder_lets_go_of_the_memory_of_its_chunk() -> None:
    memory = bytearray(32)
    encoder = PageEncoder()
    begin(encoder, NUMBER, 4, Values(0, memory))
    with pytest.raises(BufferError):
        memory.append(0)
    encoder.end()
    memory.append(0)
