"""Rows of which only a collation tells whether they followed a key are taken for all that they may be."""

from __future__ import annotations

import pytest

from binx.rows.columns.schema import ForeignKey
from binx.slices.sql.foreign_keys import Child, Gone, Place
from binx.slices.sql.referring_rows import CHECK, ReferringRow, ReferringRows

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


NUMBERED = CHILD._replace(collations=("binary",))


def numbered_rows(*steps: Gone, since: int = 1) -> ReferringRows:
    """One row, which refers to 1, and what becomes of that."""
    rows = ReferringRows([NUMBERED], {NUMBERED.name: ("id",)}, frozenset({UNDONE, Place(4, 0)}))
    texts: dict[Child | str, bytes] = {CHECK: b"CHECK", "CASCADE": b"INSERT"}
    rows.put(NUMBERED.name, ReferringRow({"id": "1", "p": "1"}, since, True, texts))
    for step in steps:
        rows.go(NUMBERED, step)
    return rows


BACK, FURTHER = Gone(UNDONE, "1", "2", deleted=False), Gone(Place(4, 0), "2", "3", deleted=False)


def test_a_row_that_follows_back_is_checked_once_and_last() -> None:
    rows = numbered_rows(BACK, FURTHER)
    assert [*rows.result.checks.values()] == [UNDONE.version]
    assert [*rows.result.following] == [NUMBERED.name]


def test_a_row_that_cannot_be_restored_is_not_checked_too() -> None:
    rows = numbered_rows(BACK, Gone(Place(4, 0), "2", None, deleted=True))
    assert (rows.result.checks, [*rows.result.stale[NUMBERED.name]]) == ({}, ["1"])


@pytest.mark.parametrize("what", ["followed a key before", "was changed by it", "was changed by a statement"])
def test_a_row_of_which_the_logs_do_not_tell_what_it_was_is_not_checked(what: str) -> None:
    if what == "followed a key before":
        rows = numbered_rows(Gone(MOVED, "1", "2", deleted=False), FURTHER)
    elif what == "was changed by it":
        rows = numbered_rows(BACK, since=UNDONE.version)
    else:
        rows = numbered_rows()
        rows.doubt(NUMBERED.name, "UPDATE")
        rows.go(NUMBERED, BACK)
    assert (rows.result.checks, [*rows.result.following]) == ({}, [NUMBERED.name])
