"""Apply row images to a state: the last image of each key wins, absent columns keep the last known value.

Rows are sorted by key. If an update changed the key, the row's earlier values are found through its before
image. Every step works on arrays of row indexes, so that no row becomes a Python object, except those whose
JSON documents have partial updates (PARTIAL_JSON).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binx.dataset.personal.documents import parsed, path_of, printed
from binx.lake.arrow.before_images import ComparedImages, KeyedRows
from binx.lake.arrow.images import AFTER, BASE, BEFORE, DELETE, HEAD, INSERT, is_partial, pairs_of, united
from binx.lake.arrow.keys import Numbers
from binx.lake.tables.lives import SchemaSpan


class Replayed(NamedTuple):
    """A state after images, the versions that they ended, and the number of those that did not fit it."""

    state: pa.Table
    ended: pa.Table
    differing: int


def replay(
    state: pa.Table,
    images: pa.Table,
    epoch: SchemaSpan,
    comparison: ComparedImages | None,
    *,
    versions: bool,
    soft_deletes: bool = False,
) -> Replayed:
    """Apply images to a state.

    With ``soft_deletes`` the last row of a deleted key stays, marked as deleted.
    """
    rows = united([state, in_order(images)], epoch)
    if not len(rows):
        return Replayed(rows, rows, 0)
    gone = () if soft_deletes else (BEFORE, DELETE)
    keyed = KeyedRows(rows, epoch, comparison)
    if not versions and not is_partial(rows):
        kept = keyed.last[~np.isin(rows.column("_kind").to_numpy()[keyed.last], gone)]
        return Replayed(_as_state(rows.take(pa.array(kept))), rows.slice(0, 0), keyed.differing)
    lines = _OrderedRows(rows, epoch, keyed)
    ended = lines.ended() if versions else rows.slice(0, 0)
    return Replayed(_as_state(lines.last(gone)), ended, keyed.differing)


def in_order(images: pa.Table) -> pa.Table:
    """Sort images by chain, commit version and row, the before image of an update first."""
    late = np.zeros(max(0, len(images) - 1), bool)
    same = ~late
    for name in ("_rank", "_scn", "_row"):
        values = images.column(name).to_numpy()
        late |= same & (values[1:] < values[:-1])
        same &= values[1:] == values[:-1]
    if not late.any():
        return images
    after = pc.equal(images.column("_kind"), AFTER).cast(pa.int8())
    keyed = pa.table(
        {
            "rank": images.column("_rank"),
            "scn": images.column("_scn"),
            "row": images.column("_row"),
            "after": after,
        }
    )
    order = pc.sort_indices(keyed, sort_keys=[(name, "ascending") for name in keyed.column_names])
    return images.take(order)


def _as_state(rows: pa.Table) -> pa.Table:
    """Return rows of a state as images that precede all others."""
    count = len(rows)
    is_gone = np.isin(rows.column("_kind").to_numpy(), (BEFORE, DELETE))
    heads: dict[str, Any] = {
        "_rank": pa.repeat(pa.scalar(-1, pa.int32()), count),
        "_row": pa.repeat(pa.scalar(0, pa.int64()), count),
        "_kind": pa.array(np.where(is_gone, DELETE, BASE), pa.int8()),
    }
    kept = [name for name in rows.column_names if name[0] in "vmp" or name in HEAD.names]
    return pa.table({name: heads.get(name, rows.column(name)) for name in kept})


class _OrderedRows:
    """Rows sorted by key, then by time; indexes refer to this order."""

    def __init__(self, rows: pa.Table, epoch: SchemaSpan, keyed: KeyedRows) -> None:
        order = keyed.order
        self._epoch = epoch
        self._pairs, self._partners = self._moves(rows, order, keyed.begins)
        self._rows = rows.take(pa.array(order))
        self._kinds = self._rows.column("_kind").to_numpy()
        self._count = len(rows)
        places = np.arange(self._count)
        left = np.zeros(self._count, bool)
        left[self._partners[self._moved]] = True
        ended = np.append(True, ((self._kinds == DELETE) | left)[:-1])
        begins = self._firsts | ended | np.isin(self._kinds, (INSERT, BASE)) | self._moved
        self._begin = np.maximum.accumulate(np.where(begins, places, 0))
        del self._pairs

    def _moves(self, rows: pa.Table, order: Numbers, firsts: Numbers) -> tuple[Numbers, Numbers]:
        """Return the after images of updates that changed the key, and the indexes of their before images."""
        self._firsts = firsts
        groups = np.empty(len(order), np.int64)
        groups[order] = np.cumsum(firsts)
        pairs = pairs_of(rows)
        moved = pairs.copy()
        moved[1:] &= groups[1:] != groups[:-1]
        inverse = np.empty(len(order), np.int64)
        inverse[order] = np.arange(len(order))
        self._moved = moved[order]
        return pairs, inverse[np.maximum(order - 1, 0)]

    def last(self, gone: tuple[int, ...]) -> pa.Table:
        """Return the last row of each key, except rows whose kind is in ``gone``."""
        last = np.append(self._firsts[1:], True)
        return self._completed(np.flatnonzero(last & ~np.isin(self._kinds, gone)))

    def ended(self) -> pa.Table:
        """Return the last row per key and transaction that a later one replaced, with ``_until``."""
        same = ~np.append(self._firsts[1:], True)
        for name in ("_rank", "_scn"):
            values = self._rows.column(name).to_numpy()
            same[:-1] &= values[1:] == values[:-1]
        last = np.flatnonzero(~same)
        has_next = ~np.append(self._firsts[1:], True)[last]
        following = np.append(last[1:], -1)
        # The next row with this key is the last one of the next transaction.
        wanted = has_next & ~np.isin(self._kinds[last], (BEFORE, DELETE))
        rows = self._completed(last[wanted])
        until = self._rows.column("_time").take(pa.array(following[wanted]))
        return rows.append_column("_until", until)

    def _completed(self, wanted: Numbers) -> pa.Table:
        """Return these rows, each column from the last image that has it."""
        rows = self._rows.take(pa.array(wanted))
        for column in self._epoch.columns:
            present, differences = f"p{column.id}", f"d{column.id}"
            if present in self._rows.column_names:
                rows = self._filled(rows, wanted, column.id, differences)
        return rows

    def _filled(self, rows: pa.Table, wanted: Numbers, number: int, differences: str) -> pa.Table:
        present = self._rows.column(f"p{number}")
        known = np.asarray(present.fill_null(False).to_numpy(), bool)
        telling = known | np.asarray(present.is_null().to_numpy(), bool)
        so_far = np.maximum.accumulate(np.where(telling, np.arange(self._count), -1))
        chosen = np.full(len(wanted), -1, np.int64)
        at, begin = wanted.copy(), self._begin[wanted]
        waiting = np.arange(len(wanted))
        while len(waiting):
            last = so_far[at]
            in_reach = last >= begin
            chosen[waiting[in_reach]] = last[in_reach]
            further = ~in_reach & self._moved[begin]
            waiting, at = waiting[further], self._partners[begin[further]]
            begin = self._begin[at]
        missing = (chosen < 0) | ~known[chosen]
        places = pa.array(chosen, mask=missing)
        columns = {name: rows.column(name) for name in rows.column_names}
        for name in (f"v{number}", f"m{number}"):
            if name in columns:
                columns[name] = self._rows.column(name).take(places)
        if differences in self._rows.column_names:
            columns[f"v{number}"], missing = self._documents(
                columns[f"v{number}"], wanted, chosen, differences
            )
        columns[f"p{number}"] = pa.array(~missing)
        return pa.table(columns)

    def _documents(
        self, values: pa.ChunkedArray, wanted: Numbers, chosen: Numbers, differences: str
    ) -> tuple[pa.ChunkedArray, Numbers]:
        """Return documents with later differences applied; null if a difference cannot be applied."""
        column = self._rows.column(differences)
        present = np.asarray(column.is_valid().to_numpy(), bool)
        missing = chosen < 0
        texts: list[str | None] | None = None
        for index in np.flatnonzero(~missing):
            steps = [row for row in self._way(int(chosen[index]), int(wanted[index])) if present[row]]
            if not steps:
                continue
            texts = values.to_pylist() if texts is None else texts
            document = texts[index]
            for step in steps:
                document = None if document is None else applied(document, column[step].as_py())
            texts[index] = document
            missing[index] = document is None
        return (values if texts is None else pa.chunked_array([pa.array(texts, values.type)])), missing

    def _way(self, source: int, target: int) -> list[int]:
        """Return the indexes after ``source`` up to ``target``, in time order, across key changes."""
        way: list[int] = []
        while True:
            begin = int(self._begin[target])
            if source >= begin and source <= target:
                return [*range(source + 1, target + 1), *way]
            way = [*range(begin, target + 1), *way]
            target = int(self._partners[begin])


def applied(document: str, differences: list[dict[str, Any]] | str) -> str | None:
    """Return the document with differences applied; None if it lacks a path that one of them names."""
    try:
        tree = parsed(document)
        listed = parsed(differences) if isinstance(differences, str) else differences
        for difference in listed:
            root = [tree]
            action = difference["op"]
            # Without a value, the difference has an SQL expression, whose document's text is not known.
            value = None if action == "remove" else difference["value"]
            if not _apply(root, action, difference["path"], value):
                return None
            tree = root[0]
        return printed(tree)
    except (ValueError, KeyError, RecursionError):
        return None


def _apply(root: list[Any], action: str, path: str, value: Any) -> bool:
    legs = path_of(path)
    if legs is None or None in legs:
        return False
    holder: Any = root
    last: str | int | None = 0
    for leg in legs:
        holder = _member(holder, last)
        last = leg
        if not isinstance(holder, dict if isinstance(leg, str) else list):
            return False
    exists = last in holder if isinstance(holder, dict) else isinstance(last, int) and last < len(holder)
    if action == "insert" and not exists:
        if isinstance(holder, dict):
            holder[last] = value
        else:
            holder.append(value)
        return True
    if action == "insert" and isinstance(last, int) and holder is not root:
        holder.insert(last, value)
        return True
    if action == "replace" and exists:
        holder[last] = value
        return True
    if action == "remove" and exists and holder is not root:
        del holder[last]
        return True
    return False


def _member(holder: Any, leg: str | int | None) -> Any:
    try:
        return holder[leg]
    except (KeyError, IndexError, TypeError):
        return None
