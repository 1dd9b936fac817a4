"""MySQL's binary JSON against the text that a server printed for the same bytes.

``make_documents.py`` beside this file wrote the documents.
"""

import gzip
import json
import struct
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from binx.errors import DamagedError
from binx.kernels.json import documents

HERE = Path(__file__).parent


def rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.split("\n") if line]


DOCUMENTS = [(bytes.fromhex(a), b) for a, b in rows((HERE / "documents.tsv").read_text("utf-8"))]
LARGE = [
    (bytes.fromhex(a), b)
    for a, b in rows(gzip.decompress((HERE / "large_documents.tsv.gz").read_bytes()).decode())
]


def rendered(document: bytes) -> str | None:
    """The text, which must be JSON; None where the document is refused as damaged."""
    try:
        text = documents.to_text(document)
    except DamagedError:
        return None
    json.loads(text)
    return text


def array(*members: tuple[int, bytes | int]) -> bytes:
    """A small array without its type byte; a member is a type and what its offset refers to, or an offset."""
    header = 4 + 3 * len(members)
    entries, values = b"", b""
    for kind, member in members:
        offset = member if isinstance(member, int) else header + len(values)
        entries += struct.pack("<BH", kind, offset)
        values += b"" if isinstance(member, int) else member
    return struct.pack("<HH", len(members), header + len(values)) + entries + values


@pytest.mark.parametrize(("document", "text"), DOCUMENTS, ids=[text[:40] for _, text in DOCUMENTS])
def test_a_document_reads_as_the_server_prints_it(document: bytes, text: str) -> None:
    assert documents.to_text(document) == text


@pytest.mark.parametrize(("document", "text"), LARGE, ids=[text[:40] for _, text in LARGE])
def test_a_document_with_offsets_of_four_bytes_reads_as_the_server_prints_it(
    document: bytes, text: str
) -> None:
    assert documents.to_text(document) == text


def test_a_document_of_no_bytes_is_null() -> None:
    assert documents.to_text(b"") == "null"


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(-0.0)
@example(5e-324)
@example(9.5e-15)
@example(999999999999999.9)
def test_a_double_has_the_fewest_digits_that_read_back(value: float) -> None:
    text = documents.to_text(b"\x0b" + struct.pack("<d", value))
    assert struct.pack("<d", json.loads(text)) == struct.pack("<d", value)
    assert Decimal(text) == Decimal(repr(value))


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_a_double_that_json_does_not_have_is_damage(value: float) -> None:
    with pytest.raises(DamagedError, match="finite"):
        documents.to_text(b"\x0b" + struct.pack("<d", value))


@given(st.integers(-(10**14), 10**14), st.integers(-10, 10))
def test_a_short_decimal_keeps_its_digits(digits: int, exponent: int) -> None:
    value = float(f"{digits}e{exponent}")
    assert Decimal(documents.to_text(b"\x0b" + struct.pack("<d", value))) == Decimal(f"{digits}e{exponent}")


@given(st.text(max_size=100))
def test_any_text_reads_back_through_a_json_parser(text: str) -> None:
    data = text.encode()
    length = bytes([len(data) & 127 | 128, len(data) >> 7])
    assert json.loads(documents.to_text(b"\x0c" + length + data)) == text


@given(st.one_of(st.binary(max_size=12), st.lists(st.sampled_from(
    [b"a", b"\x80", b"\xbf", b"\xc1", b"\xc3", b"\xe0", b"\xed", b"\xa0", b"\xf0", b"\x90", b"\xf4", b"\x8f"]
), max_size=6).map(b"".join)))  # fmt: skip
def test_text_that_is_not_utf8_is_damage_and_no_other_is(data: bytes) -> None:
    text = rendered(b"\x0c" + bytes([len(data)]) + data)
    try:
        assert text is not None
        assert json.loads(text) == data.decode()
    except (AssertionError, UnicodeDecodeError):
        assert text is None
        with pytest.raises(UnicodeDecodeError):
            data.decode()


def test_a_key_that_is_not_utf8_is_damage() -> None:
    key = struct.pack("<HHHHBH", 1, 12, 11, 1, 4, 0)
    assert documents.to_text(b"\x00" + key + b"k") == '{"k": null}'
    with pytest.raises(DamagedError, match="UTF-8, found the byte 0xff"):
        documents.to_text(b"\x00" + key + b"\xff")


def test_a_document_cut_anywhere_gives_text_or_damage() -> None:
    for document, _ in DOCUMENTS:
        for size in range(len(document)):
            rendered(document[:size])


def test_a_document_with_any_bit_flipped_gives_text_or_damage() -> None:
    for document, _ in DOCUMENTS:
        damaged = bytearray(document)
        for position in range(min(len(damaged), 400)):
            for bit in range(8):
                damaged[position] ^= 1 << bit
                rendered(bytes(damaged))
                damaged[position] ^= 1 << bit


def test_a_large_document_cut_or_flipped_gives_text_or_damage() -> None:
    for document, _ in LARGE:
        for position in [*range(60), *range(60, len(document), len(document) // 10)]:
            rendered(document[:position])
            damaged = bytearray(document)
            damaged[position] ^= 1 << position % 8
            rendered(bytes(damaged))


@given(st.binary(max_size=80))
def test_any_bytes_give_text_or_damage(data: bytes) -> None:
    rendered(data)


def test_an_array_that_holds_itself_is_damage() -> None:
    with pytest.raises(DamagedError, match="behind the container's entries"):
        documents.to_text(b"\x02" + array((2, 0)))


def test_containers_that_share_bytes_are_damage_before_they_expand() -> None:
    """Thirty levels whose members are all the same next level would print 20 to the power of 30 values."""
    level = array()
    for _ in range(30):
        size = 4 + 3 * 20
        level = struct.pack("<HH", 20, size + len(level)) + struct.pack("<BH", 2, size) * 20 + level
    with pytest.raises(DamagedError, match="share no bytes"):
        documents.to_text(b"\x02" + level)


def test_texts_that_share_bytes_are_damage() -> None:
    text = b"\x04word"
    assert documents.to_text(b"\x02" + array((12, text), (12, text))) == '["word", "word"]'
    with pytest.raises(DamagedError, match="share no bytes"):
        documents.to_text(b"\x02" + array((12, 10), (12, text)))


@pytest.mark.parametrize(("levels", "is_read"), [(100, True), (101, False)])
def test_a_document_has_at_most_a_hundred_levels(levels: int, is_read: bool) -> None:
    nested = array()
    for _ in range(levels - 1):
        nested = array((2, nested))
    assert rendered(b"\x02" + nested) == ("[" * levels + "]" * levels if is_read else None)


def test_a_count_that_the_bytes_cannot_hold_is_damage_at_its_offset() -> None:
    with pytest.raises(DamagedError, match="as long as its entries") as caught:
        documents.to_text(b"\x03" + struct.pack("<II", 0xFFFFFFFF, 8))
    assert caught.value.offset == 9


@pytest.mark.parametrize(
    "document",
    [b"\x0d", b"\x0e", b"\x10", b"\xff", b"\x04\x03", b"\x0c\xff\xff\xff\xff\xff\x01", b"\x0c\x05abcd"],
    ids=["type 13", "type 14", "type 16", "type 255", "literal 3", "endless length", "text too short"],
)
def test_what_no_server_writes_is_damage(document: bytes) -> None:
    with pytest.raises(DamagedError):
        documents.to_text(document)


@pytest.mark.parametrize("kind", [7, 10, 11, 12])
@pytest.mark.parametrize("packed", [2**63 - 1, -(2**62), 1_000_000, 60 << 24, 60 << 30])
def test_a_date_or_time_out_of_bounds_is_damage(kind: int, packed: int) -> None:
    with pytest.raises(DamagedError, match="bounds"):
        documents.to_text(struct.pack("<BBBq", 15, kind, 8, packed))
