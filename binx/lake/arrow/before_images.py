"""Compare logged before images with the rows that they change: a difference shows an unlogged change.

Where only the last image of each key is needed, it stands for all of them: ``_first`` is the kind of the
first one, ``_before`` the hash of its values if it is a complete before image, and ``_differing`` the number
of the others that do not fit the image before them.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from binx.lake.arrow.images import AFTER, BASE, BEFORE, DELETE, INSERT
from binx.lake.arrow.keys import Numbers, begins_of, key_of, order_of
from binx.lake.tables.lives import SchemaSpan
from binx.rows.row_hashes import row_hashes

_CHANGED, _THERE = (BEFORE, DELETE), (INSERT, AFTER, BASE)
_FEW = 4
"""Of at most one in so many rows, only these are hashed."""


class ComparedImages(NamedTuple):
    """Which images of a life are compared, and with what.

    Attributes:
        columns: the ids of the columns whose values are compared.
        whole: whether no row is older than the logs and the base.
    """

    columns: frozenset[int]
    whole: bool


class KeyedRows:
    """Images in the order of their keys, and those with equal keys in the order given.

    Attributes:
        keys: the keys of the images.
        order: the indexes of the images in this order.
        begins: for each one in this order, whether its key differs from the key before.
    """

    def __init__(self, rows: pa.Table, epoch: SchemaSpan, comparison: ComparedImages | None) -> None:
        self._rows, self._epoch, self._comparison = rows, epoch, comparison
        self.keys = key_of(rows, epoch)
        self.order = order_of(self.keys)
        self.begins = begins_of(self.keys, self.order)

    @cached_property
    def last(self) -> Numbers:
        """The index of the last image of each key."""
        return self.order[np.append(self.begins[1:], True)] if len(self.order) else self.order

    def last_images(self, begin: int = 0, end: int | None = None) -> pa.Table:
        """Return the last images of some keys, given by their numbers, in the order of time."""
        places = self.last[begin:end]
        by_time = np.argsort(places)
        rows = self._rows.take(pa.array(places[by_time]))
        if self._comparison is None:
            return rows
        columns = {name: rows.column(name) for name in rows.column_names}
        taken = pa.array(by_time + begin)
        return pa.table(columns | {name: values.take(taken) for name, values in self._first_ones.items()})

    @property
    def differing(self) -> int:
        """The number of images that do not fit: the row is not there, is there, or has other values."""
        if self._comparison is None:
            return 0
        count = int(self._counts.sum())
        if self._comparison.whole:
            firsts = self.order[self.begins]
            # A state may keep deleted rows.
            is_logged = self._rows.column("_rank").to_numpy()[firsts] >= 0
            count += int((np.isin(self._first_kinds[firsts], _CHANGED) & is_logged).sum())
        return count

    @cached_property
    def _first_ones(self) -> dict[str, pa.Array]:
        """What the last image of each key has about those that it stands for."""
        starts = np.flatnonzero(self.begins)
        firsts = self.order[starts]
        known = np.isin(self._first_kinds[firsts], _CHANGED) & self._has_before[firsts]
        hashes = np.zeros(len(firsts), np.uint64)
        hashes[known] = self._before(firsts[known])
        counts = np.add.reduceat(self._counts, starts) if len(starts) else self._counts
        return {
            "_first": pa.array(self._first_kinds[firsts]),
            "_before": pa.array(hashes, mask=~known),
            "_differing": pa.array(counts),
        }

    @cached_property
    def _counts(self) -> Numbers:
        """For each image in order, how many do not fit of those that it stands for and of itself."""
        counts = self._column("_differing", np.zeros(len(self._rows), np.int64))[self.order]
        later = np.flatnonzero(~self.begins)
        images, before = self.order[later], self.order[later - 1]
        is_there = np.isin(self._rows.column("_kind").to_numpy()[before], _THERE)
        changed = np.isin(self._first_kinds[images], _CHANGED)
        differing = changed != is_there
        compared = np.flatnonzero(changed & is_there & self._is_complete[before] & self._has_before[images])
        differing[compared] = self._hashes(before[compared]) != self._before(images[compared])
        counts[later] += differing
        return counts

    @cached_property
    def _first_kinds(self) -> Numbers:
        return self._column("_first", self._rows.column("_kind").to_numpy())

    @cached_property
    def _has_before(self) -> Numbers:
        """Whether an image, or the first one that it stands for, has all columns that are compared."""
        if "_before" not in self._rows.column_names:
            return self._is_complete
        stands_for = self._rows.column("_first").is_valid().to_numpy()
        return np.where(stands_for, self._rows.column("_before").is_valid().to_numpy(), self._is_complete)

    @cached_property
    def _is_complete(self) -> Numbers:
        """Whether an image has all columns that are compared."""
        assert self._comparison is not None
        complete = np.ones(len(self._rows), bool)
        for number in self._comparison.columns:
            if f"p{number}" in self._rows.column_names:
                complete &= self._rows.column(f"p{number}").fill_null(False).to_numpy()
        return complete

    def _column(self, name: str, otherwise: Numbers) -> Numbers:
        """Return the numbers of an optional column, and others where it has none."""
        if name not in self._rows.column_names:
            return otherwise
        column = self._rows.column(name)
        return np.where(column.is_valid().to_numpy(), column.fill_null(0).to_numpy(), otherwise)

    def _before(self, places: Numbers) -> Numbers:
        """Return the hashes of the first images that some stand for."""
        if "_before" not in self._rows.column_names:
            return self._hashes(places)
        column = self._rows.column("_before").take(pa.array(places))
        hashes: Numbers = column.fill_null(0).to_numpy().copy()
        own = np.flatnonzero(column.is_null().to_numpy())
        hashes[own] = self._hashes(places[own])
        return hashes

    def _hashes(self, places: Numbers) -> Numbers:
        """Return the hashes of images."""
        if len(places) * _FEW <= len(self._rows):
            return self._hashed(self._rows.take(pa.array(places)))
        return self._all_hashes[places]

    @cached_property
    def _all_hashes(self) -> Numbers:
        return self._hashed(self._rows)

    def _hashed(self, rows: pa.Table) -> Numbers:
        assert self._comparison is not None
        numbers = [column.id for column in self._epoch.columns if column.id in self._comparison.columns]
        named = [(2 * number, f"v{number}") for number in numbers]
        named += [(2 * number + 1, f"m{number}") for number in numbers if f"m{number}" in rows.column_names]
        return row_hashes([(number, rows.column(name)) for number, name in named], len(rows))
