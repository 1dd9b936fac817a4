"""Texts that a collation of a server takes for equal have the same fold.

What is equal in which collation is what MariaDB 10.11 and MySQL 9.7 gave as WEIGHT_STRING.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from binx.undo.foreign_keys import fold, may_be_equal
from tests.exports import export
from tests.log import building


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A", "a"),
        ("a", "a  "),
        ("é", "e"),
        ("e\u0301", "é"),
        ("straße", "STRASSE"),
        ("ß", "s"),
        ("æ", "ae"),
        ("å", "aa"),
        ("ä", "ae"),
        ("Ü", "y"),
        ("ø", "o"),
        ("Ø", "ö"),
        ("đ", "d"),
        ("ð", "d"),
        ("Ł", "l"),
        ("ı", "I"),
        ("İ", "i"),
        ("þ", "TH"),
        ("œ", "oe"),
        ("a\u00ad", "a"),
        ("a\x01", "a"),
        ("ａ１", "a1"),
        ("٣", "3"),
        ("あ", "ア"),
        ("ャ", "ヤ"),
        ("が", "か"),
        ("ς", "Σ"),
        ("ᾳ", "Α"),
        ("ё", "Е"),
        ("ך", "כ"),
        ("😀", "😁"),
    ],
)
def test_what_some_collation_takes_for_equal_has_one_fold(one: str, other: str) -> None:
    assert fold(one, None) == fold(other, None) == fold(other, "utf8mb4_unicode_ci")
    assert may_be_equal(one, other, None)


@pytest.mark.parametrize(
    ("one", "other"), [("a", "b"), ("a1", "a2"), ("100", "10"), ("漢", "字"), ("б", "п"), ("か", "き")]
)
def test_what_no_collation_takes_for_equal_has_folds_of_its_own(one: str, other: str) -> None:
    assert fold(one, None) != fold(other, None)


@pytest.mark.parametrize("collation", ["utf8mb4_bin", "latin1_bin"])
def test_collations_by_bytes_leave_out_trailing_spaces(collation: str) -> None:
    assert fold("A ", collation) == fold("A", collation) != fold("a", collation)


@pytest.mark.parametrize("collation", ["binary", "utf8mb4_nopad_bin", "utf8mb4_0900_bin"])
def test_collations_that_pad_nothing_leave_nothing_out(collation: str) -> None:
    assert fold("A ", collation) == "A "


@pytest.mark.parametrize(
    ("one", "other", "collation", "equal"),
    [
        ("DE", "de ", "utf8mb4_general_ci", True),
        ("DE", "D", "utf8mb4_general_ci", False),
        ("IE", "YE", "utf8mb4_general_ci", False),
        ("IE", "YE", "utf8mb4_lithuanian_ci", True),
        ("IE", "YE", None, True),
        ("US", "IS", None, False),
        ("AA1", "A1", None, False),
    ],
)
def test_keys_of_ascii_differ_by_letters_but_in_languages(
    one: str, other: str, collation: str | None, equal: bool
) -> None:
    assert may_be_equal(one, other, collation) == equal


OWN, OTHER = 7, 8


def log(folder: Path, number: int, server: int, *events: bytes) -> Path:
    """A log with a server's id in its format description."""
    data = bytearray(building.whole_log(*events))
    (size,) = struct.unpack_from("<I", data, 4 + 9)
    struct.pack_into("<I", data, 4 + 5, server)
    struct.pack_into("<I", data, size, zlib.crc32(data[4:size]))
    path = folder / f"mysql-bin.{number:06}"
    path.write_bytes(data)
    return path


def rows_of(number: int) -> tuple[bytes, ...]:
    return (
        building.gtid(number),
        building.query("BEGIN"),
        building.table_map(),
        building.rows(1),
        building.xid(),
    )


@pytest.mark.parametrize(("server", "told"), [(OWN, 0), (OTHER, 1)])
def test_columns_that_are_called_as_another_servers_are_told(server: int, told: int, tmp_path: Path) -> None:
    """One may have taken over from the other; or both have a table of that name, and its columns differ."""
    made = (building.gtid(1), building.query("CREATE TABLE orders (amount INT)"))
    first = log(tmp_path, 1, OWN, *made, *rows_of(2))
    second = log(tmp_path, 2, server, *rows_of(3))
    reports = export(tmp_path / "lake", [first, second])
    assert not reports[0].manifest["warnings"]
    warnings = [line for line in reports[1].manifest["warnings"] if f"of server {OWN}" in line]
    assert len(warnings) == told
    assert all(f"logs of server {OTHER}" in line and "--schema" in line for line in warnings)
