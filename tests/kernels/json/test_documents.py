"""Documents in MySQL's binary JSON, and partial updates of them.

``make_documents.py`` beside this file wrote the documents.
"""

import gzip
import json
import re
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

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


DIFFS = [
    (bytes.fromhex(before), bytes.fromhex(diff), after)
    for before, diff, after in (
        line.split("\t")
        for line in (Path(__file__).parent / "diffs.tsv").read_text("utf-8").split("\n")
        if line
    )
]
REPLACE, INSERT, REMOVE = range(3)
EMPTY_OBJECT = b"\x00" + struct.pack("<HH", 0, 4)
EMPTY_ARRAY = b"\x02" + struct.pack("<HH", 0, 4)
ONE = b"\x05\x01\x00"


def change(operation: int, path: str | bytes, document: bytes | None = None) -> bytes:
    """A change as the server logs it."""
    parts = [path.encode() if isinstance(path, str) else path, *([] if document is None else [document])]
    sizes = (b"\xfc" + struct.pack("<H", len(part)) for part in parts)
    return bytes([operation]) + b"".join(size + part for size, part in zip(sizes, parts, strict=True))


@pytest.mark.parametrize(("before", "diff", "after"), DIFFS, ids=[after[:40] for *_, after in DIFFS])
def test_applied_changes_give_the_document_that_the_server_had(
    before: bytes, diff: bytes, after: str
) -> None:
    assert documents.applied(before, diff) == after


@pytest.mark.parametrize(("before", "diff", "after"), DIFFS, ids=[after[:40] for *_, after in DIFFS])
def test_printed_changes_lead_from_the_document_before_to_the_one_after(
    before: bytes, diff: bytes, after: str
) -> None:
    document = json.loads(documents.to_text(before), parse_float=Decimal)
    for printed in json.loads(documents.diff_to_text(diff), parse_float=Decimal):
        apply(document, printed)
    assert document == json.loads(after, parse_float=Decimal)


def apply(document: Any, printed: dict[str, Any]) -> None:
    """One change, by the meaning that MySQL's manual gives to JSON_REPLACE, JSON_SET and JSON_REMOVE."""
    assert list(printed) == (["op", "path"] if printed["op"] == "remove" else ["op", "path", "value"])
    legs = re.findall(r'\.("(?:[^"\\]|\\.)*"|[^.\[]+)|\[(last)?-?(\d*)\]', printed["path"])
    key: Any = None
    for name, last, cell in legs:
        if key is not None:
            document = document[key]
        if name:
            key = json.loads(name) if name[0] == '"' else name
        else:
            key = max(len(document) - 1 - int(cell or 0), 0) if last else int(cell)
    if printed["op"] == "remove":
        del document[key]
    elif printed["op"] == "insert" and isinstance(document, list):
        document.insert(key, printed["value"])
    else:
        assert (printed["op"] == "replace") == (not isinstance(document, dict) or key in document)
        document[key] = printed["value"]


def test_no_changes_leave_the_document() -> None:
    assert documents.diff_to_text(b"") == "[]"
    assert documents.applied(ONE, b"") == "1"
    assert documents.applied(b"", b"") == "null"


@pytest.mark.parametrize(
    ("document", "diff"),
    [
        (EMPTY_OBJECT, change(REPLACE, "$.a", ONE)),
        (EMPTY_OBJECT, change(REMOVE, "$.a")),
        (EMPTY_OBJECT, change(INSERT, "$.a.b", ONE)),
        (EMPTY_OBJECT, change(INSERT, "$[0]", ONE)),
        (EMPTY_OBJECT, change(INSERT, "$.a", ONE) * 2),
        (EMPTY_ARRAY, change(INSERT, "$.a", ONE)),
        (EMPTY_ARRAY, change(REPLACE, "$[0]", ONE)),
        (EMPTY_ARRAY, change(REMOVE, "$[last]")),
        (EMPTY_ARRAY, change(INSERT, "$[0]", ONE) + change(REPLACE, "$[last-1]", ONE)),
        (EMPTY_ARRAY, change(INSERT, "$[0]", ONE) + change(REPLACE, "$[1]", ONE)),
        (ONE, change(INSERT, "$.a", ONE)),
        (ONE, change(REPLACE, "$", ONE)),
        (b"", change(INSERT, "$.a", ONE)),
    ],
)
def test_a_change_to_what_the_document_lacks_is_not_applied(document: bytes, diff: bytes) -> None:
    assert documents.applied(document, diff) is None


@pytest.mark.parametrize(
    "path",
    ["", "a", "$a", "$.", "$[", "$[]", "$[1", "$[x]", "$[last", "$[last+1]", "$[last-]", "$[lost]",
     '$."a', '$."\\', '$."\\u00g0"', '$."\\ud83dx"', "$[99999999999]", "$[-1]"],
)  # fmt: skip
@pytest.mark.parametrize("document", [EMPTY_OBJECT, EMPTY_ARRAY])
def test_what_is_no_path_is_damage(path: str, document: bytes) -> None:
    with pytest.raises(DamagedError):
        documents.applied(document, change(INSERT, path, ONE))


@given(st.lists(st.text(max_size=6), min_size=1, max_size=12, unique=True))
def test_inserted_names_stand_in_the_servers_order_and_read_back(names: list[str]) -> None:
    """By the bytes' count, then by their value; every name escaped in its path."""
    diff = b"".join(
        change(INSERT, "$." + json.dumps(name, ensure_ascii=number % 2 == 0), ONE)
        for number, name in enumerate(names)
    )
    text = documents.applied(EMPTY_OBJECT, diff)
    assert text is not None
    ordered = sorted(names, key=lambda name: (len(name.encode()), name.encode()))
    assert list(json.loads(text)) == ordered


def test_a_document_that_grows_too_deep_is_damage() -> None:
    nested = EMPTY_ARRAY
    for _ in range(70):
        nested = b"\x02" + struct.pack("<HHBH", 1, 6 + len(nested), 2, 7) + nested[1:]
    path = "$" + "[0]" * 28
    assert documents.applied(nested, change(INSERT, path + "[0]", nested)) is not None
    with pytest.raises(DamagedError, match="100 levels"):
        documents.applied(nested, change(INSERT, path + "[0][0]", nested))


def test_opening_members_that_share_bytes_again_and_again_is_damage() -> None:
    """Every cell holds the same array; a server's documents share nothing, so opening is paid for."""
    inner = struct.pack("<HH", 100, 304) + b"\x04\x00\x00" * 100
    size = 4 + 3 * 100
    document = (
        b"\x02" + struct.pack("<HH", 100, size + len(inner)) + struct.pack("<BH", 2, size) * 100 + inner
    )
    with pytest.raises(DamagedError, match="share no bytes"):
        documents.applied(document, b"".join(change(REMOVE, f"$[{i}][0]") for i in range(100)))


def read(before: bytes, diff: bytes) -> None:
    """It may give a document, none, or damage, and nothing else."""
    try:
        text = documents.applied(before, diff)
    except DamagedError:
        return
    if text is not None:
        json.loads(text)


def test_changes_cut_or_flipped_give_text_or_damage() -> None:
    for before, diff, _ in DIFFS:
        for position in range(len(diff)):
            read(before, diff[:position])
            for bit in range(8):
                damaged = bytearray(diff)
                damaged[position] ^= 1 << bit
                read(before, bytes(damaged))
                for data in (diff[:position], bytes(damaged)):
                    try:
                        json.loads(documents.diff_to_text(data))
                    except DamagedError:
                        continue


def test_a_document_before_that_is_cut_or_flipped_gives_text_or_damage() -> None:
    for before, diff, _ in DIFFS:
        for position in range(len(before)):
            read(before[:position], diff)
            damaged = bytearray(before)
            damaged[position] ^= 1 << position % 8
            read(bytes(damaged), diff)
