"""Partial updates of JSON documents against what a server had after them.

``make_documents.py`` beside this file wrote documents, changes and answers.
"""

import json
import re
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import DamagedError
from binx.kernels.json import diffs, documents

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
    assert diffs.applied(before, diff) == after


@pytest.mark.parametrize(("before", "diff", "after"), DIFFS, ids=[after[:40] for *_, after in DIFFS])
def test_printed_changes_lead_from_the_document_before_to_the_one_after(
    before: bytes, diff: bytes, after: str
) -> None:
    document = json.loads(documents.to_text(before), parse_float=Decimal)
    for printed in json.loads(diffs.diff_to_text(diff), parse_float=Decimal):
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
    assert diffs.diff_to_text(b"") == "[]"
    assert diffs.applied(ONE, b"") == "1"
    assert diffs.applied(b"", b"") == "null"


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
    assert diffs.applied(document, diff) is None


@pytest.mark.parametrize(
    "path",
    ["", "a", "$a", "$.", "$[", "$[]", "$[1", "$[x]", "$[last", "$[last+1]", "$[last-]", "$[lost]",
     '$."a', '$."\\', '$."\\u00g0"', '$."\\ud83dx"', "$[99999999999]", "$[-1]"],
)  # fmt: skip
@pytest.mark.parametrize("document", [EMPTY_OBJECT, EMPTY_ARRAY])
def test_what_is_no_path_is_damage(path: str, document: bytes) -> None:
    with pytest.raises(DamagedError):
        diffs.applied(document, change(INSERT, path, ONE))


@given(st.lists(st.text(max_size=6), min_size=1, max_size=12, unique=True))
def test_inserted_names_stand_in_the_servers_order_and_read_back(names: list[str]) -> None:
    """By the bytes' count, then by their value; every name escaped in its path."""
    diff = b"".join(
        change(INSERT, "$." + json.dumps(name, ensure_ascii=number % 2 == 0), ONE)
        for number, name in enumerate(names)
    )
    text = diffs.applied(EMPTY_OBJECT, diff)
    assert text is not None
    ordered = sorted(names, key=lambda name: (len(name.encode()), name.encode()))
    assert list(json.loads(text)) == ordered


def test_a_document_that_grows_too_deep_is_damage() -> None:
    nested = EMPTY_ARRAY
    for _ in range(70):
        nested = b"\x02" + struct.pack("<HHBH", 1, 6 + len(nested), 2, 7) + nested[1:]
    path = "$" + "[0]" * 28
    assert diffs.applied(nested, change(INSERT, path + "[0]", nested)) is not None
    with pytest.raises(DamagedError, match="100 levels"):
        diffs.applied(nested, change(INSERT, path + "[0][0]", nested))


def test_opening_members_that_share_bytes_again_and_again_is_damage() -> None:
    """Every cell holds the same array; a server's documents share nothing, so opening is paid for."""
    inner = struct.pack("<HH", 100, 304) + b"\x04\x00\x00" * 100
    size = 4 + 3 * 100
    document = (
        b"\x02" + struct.pack("<HH", 100, size + len(inner)) + struct.pack("<BH", 2, size) * 100 + inner
    )
    with pytest.raises(DamagedError, match="share no bytes"):
        diffs.applied(document, b"".join(change(REMOVE, f"$[{i}][0]") for i in range(100)))


def read(before: bytes, diff: bytes) -> None:
    """It may give a document, none, or damage, and nothing else."""
    try:
        text = diffs.applied(before, diff)
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
                        json.loads(diffs.diff_to_text(data))
                    except DamagedError:
                        continue


def test_a_document_before_that_is_cut_or_flipped_gives_text_or_damage() -> None:
    for before, diff, _ in DIFFS:
        for position in range(len(before)):
            read(before[:position], diff)
            damaged = bytearray(before)
            damaged[position] ^= 1 << position % 8
            read(bytes(damaged), diff)
