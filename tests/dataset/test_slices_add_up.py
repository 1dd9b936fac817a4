"""Slices of binary logs: all of them together are the whole, however they are cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.kernels.transactions.table import TransactionTable
from tests.dataset.slices import SHOPS, SMALL, slice_of, transactions_of


def contents(path: Path) -> list[bytes]:
    data = path.read_bytes()
    return [data[start:end] for start, end, _, _ in transactions_of(path)]


def transactions_in(log: bytes, folder: Path) -> list[bytes]:
    path = folder / "slice.000001"
    path.write_bytes(log)
    return contents(path)


@pytest.mark.parametrize("path", SMALL, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_a_slice_of_everything_has_the_transactions_as_they_are(path: Path, tmp_path: Path) -> None:
    assert transactions_in(slice_of([path], verbatim=True)[0], tmp_path) == contents(path)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_slices_put_one_behind_the_other_are_the_whole(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp()
    path = data.draw(st.sampled_from([*SMALL, SHOPS[0][0], SHOPS[1][0]]))
    whole = contents(path)
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=4).map(sorted))
    joined: list[bytes] = []
    for first, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True):

        def wanted(table: TransactionTable, index: int, first: int = first, stop: int = stop) -> bool:
            return first <= index < stop

        if first < stop:
            joined += transactions_in(slice_of([path], wanted, verbatim=True)[0], folder)
    assert joined == whole
