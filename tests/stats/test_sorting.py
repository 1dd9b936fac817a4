"""Sorting in bounded memory, against sorting."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import OutputError
from binx.stats.listing import TextSorter

PAGES = st.lists(st.lists(st.tuples(st.integers(-5, 5), st.binary(max_size=40)), max_size=30), max_size=20)


@settings(max_examples=80, deadline=None)
@given(pages=PAGES, limit=st.none() | st.integers(0, 50))
def test_texts_come_as_sorted_would_have_them(
    pages: list[list[tuple[int, bytes]]], limit: int | None
) -> None:
    sorter, first = TextSorter(), 0
    for page in pages:
        keys, texts = [key for key, _ in page], [text for _, text in page]
        sorter.add(keys, range(first, first + len(page)), texts)
        first += len(page)
    expected = sorted((one for page in pages for one in page), key=lambda one: one[0])
    assert [text for texts in sorter.texts(limit) for text in texts] == [text for _, text in expected][:limit]


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("binx.stats.listing.sqlite3.connect", _full)
    with pytest.raises(OutputError, match="TMPDIR"):
        TextSorter()


def _full(*_: object, **__: object) -> None:
    raise sqlite3.OperationalError("database or disk is full")
