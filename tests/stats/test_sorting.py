"""Sorting in bounded memory, against sorting."""

from __future__ import annotations

from array import array
from itertools import accumulate

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.stats.sorting import TextSorter, texts_bytes

PAGES = st.lists(st.lists(st.tuples(st.integers(-5, 5), st.binary(max_size=40)), max_size=30), max_size=20)


def fill(sorter: TextSorter, pages: list[list[tuple[int, bytes]]]) -> list[bytes]:
    """Add pages; gives the texts in their order."""
    first = 0
    for page in pages:
        ends = array("q", accumulate(len(text) for _, text in page))
        sorter.add(
            pa.array([key for key, _ in page], pa.int64()),
            first,
            pa.array(range(len(page)), pa.int64()),
            b"".join(text for _, text in page),
            ends.tobytes(),
        )
        first += len(page)
    return [text for _, text in sorted((one for page in pages for one in page), key=lambda one: one[0])]


@settings(max_examples=80, deadline=None)
@given(pages=PAGES, memory=st.sampled_from([0, 300, 2_000, 1 << 20]), runs=st.sampled_from([2, 3, 32]))
def test_texts_come_as_sorted_would_have_them(
    pages: list[list[tuple[int, bytes]]], memory: int, runs: int
) -> None:
    sorter = TextSorter(memory=memory, runs=runs)
    expected = fill(sorter, pages)
    assert [text for texts in sorter.texts() for text in texts.to_pylist()] == expected


def test_the_bytes_of_texts_are_the_texts() -> None:
    texts = pa.array([b"one", b"", b"three"], pa.large_binary())
    assert bytes(texts_bytes(texts)) == b"onethree"
    assert bytes(texts_bytes(texts.slice(1))) == b"three"
    assert bytes(texts_bytes(texts.slice(0, 1))) == b"one"
    assert bytes(texts_bytes(texts.slice(3))) == b""


@pytest.mark.parametrize("taken", [0, 1])
def test_what_is_not_asked_for_any_more_is_given_back(taken: int) -> None:
    sorter = TextSorter(memory=100)
    fill(sorter, [[(number, b"x" * 50)] for number in range(20)])
    files = list(sorter._runs)
    assert files
    texts = sorter.texts()
    for _ in range(taken):
        next(texts)
    texts.close() if taken else sorter.close()
    assert all(file.closed for file in files)
