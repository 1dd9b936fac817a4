"""Rows of which only a collation tells whether they followed a key are taken for all that they may be."""

from __future__ import annotations

import pytest

from binx.rows.columns.schema import ForeignKey
from binx.slices.sql.foreign_keys import Child, Gone, Place
from binx.slices.sql.referring_rows import ReferringRow, ReferringRows

CHILD = Child(
    ("db", "child"), ForeignKey(None, ("p",), "db", "parent", ("k",), "CASCADE", "CASCADE"), (None,)
)
MOVED, UNDONE = Place(2, 0), Place(3, 0)


def rows_with(value: str) -> ReferringRows:
    """One row, which refers to a value; a change of another value, which may be the same, is not undone."""
    rows = ReferringRows([CHILD], {CHILD.name: ("id",)}, frozenset({UNDONE}))
    rows.put(CHILD.name, ReferringRow({"id": "1", "p": value}, 1, True, {"CASCADE": b"INSERT"}))
    rows.go(CHILD, Gone(MOVED, "A", "B", deleted=False))
    return rows


@pytest.mark.parametrize("gone", ["B", "á", "a"])
def test_a_row_that_may_have_followed_a_key_is_listed_with_either(gone: str) -> None:
    rows = rows_with("á")
    rows.go(CHILD, Gone(UNDONE, gone, None, deleted=True))
    assert (dict(rows.result.texts), [*rows.result.alike[CHILD.name]]) == ({}, ["1"])


def test_a_row_that_has_an_image_since_is_known_again() -> None:
    rows = rows_with("á")
    rows.put(CHILD.name, ReferringRow({"id": "1", "p": "á"}, 2, False, {"CASCADE": b"INSERT"}))
    rows.go(CHILD, Gone(UNDONE, "á", None, deleted=True))
    assert (rows.result.texts, dict(rows.result.alike)) == ({UNDONE.version: [b"INSERT"]}, {})


def test_a_row_that_is_gone_since_is_not_listed() -> None:
    rows = rows_with("á")
    rows.take(CHILD.name, "1")
    rows.go(CHILD, Gone(UNDONE, "B", None, deleted=True))
    assert not rows.result.alike
