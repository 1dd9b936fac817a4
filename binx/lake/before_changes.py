"""Rows of tables in logs as they were before changes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import RefusedError
from binx.lake.arrow.images import is_before
from binx.lake.at_moment import table_at
from binx.lake.base.dump_tables import stored_batch
from binx.lake.dataset.manifests import list_manifests, read_manifests
from binx.lake.place import LakeStore
from binx.lake.table_changes import read_changes
from binx.lake.table_name import TableName
from binx.rows.batches import ChangeBatch
from binx.rows.change_groups import BatchImages, ChangePlace, Images, columns_of
from binx.rows.columns.schema import TableDefinition, folded_name
from binx.slices.sql.compared_rows import key_texts

MOST_MOMENTS = 200
"""Maximum number of moments; each takes as long as reading a table's changes."""


class RowsBefore(NamedTuple):
    """The rows of a table before a change, and the commit version of each one's last change."""

    rows: ChangeBatch
    versions: list[int]


class ValueChanges(NamedTuple):
    """The last commit version with which rows lost each value, and got it; those that came by an update."""

    lost: dict[str, int]
    got: dict[str, int]
    moved: set[str]


class TablesBefore:
    """Tells the rows of tables before changes; places are asked for in ascending order.

    Args:
        folder: a data set of the tables, and of those whose foreign keys change their rows.
        accounted: commit versions of transactions of which the caller knows what foreign keys changed with
            them.
    """

    def __init__(self, folder: str, accounted: Collection[int]) -> None:
        self._folder, self._accounted = folder, {*accounted}
        self._changed: dict[int, set[TableName]] = {}
        place = LakeStore(folder)
        for manifest in read_manifests(place, list_manifests(place)):
            rows = manifest.transactions("tables")
            for version, tables in zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True):
                self._changed[version] = {TableName(one["db"], one["table"]) for one in tables or ()}
        self._versions = sorted(self._changed)
        self._last: dict[tuple[TableName, TableName], tuple[ChangePlace, RowsBefore]] = {}
        self._asked = 0

    def rows(self, definition: TableDefinition, place: ChangePlace, parent: TableName) -> RowsBefore:
        """Return a table's rows before a change, of which nothing is missing.

        Args:
            definition: the table as it is by now.
            parent: a table; the caller checks by :meth:`value_changes` what foreign keys to it did before.

        Raises:
            BinxError: the rows are not all known, or the table had other columns; the message says why.
        """
        name = TableName(definition.db, definition.name)
        if (last := self._last.get((name, parent))) is not None:
            first, end = (
                bisect_left(self._versions, last[0].version),
                bisect_right(self._versions, place.version),
            )
            between = self._versions[first:end]
            if self._accounted.issuperset(between) and not any(name in self._changed[one] for one in between):
                return last[1]
        self._asked += 1
        if self._asked > MOST_MOMENTS:
            raise RefusedError(f"rows are asked for at more than {MOST_MOMENTS} moments")
        found = table_at(self._folder, str(name), place, apart_from=self._accounted, checked=[parent])
        if found.missing:
            raise RefusedError("; ".join(found.missing))
        names = {folded_name(column.name): called for called, column in found.columns.items()}
        if names.keys() != {folded_name(column.name) for column in definition.columns}:
            raise RefusedError("its columns are others since")
        batch = stored_batch(found.rows, names, definition)
        rows = RowsBefore(batch, found.rows.column("_commit_version").to_pylist())
        self._last[name, parent] = place, rows
        return rows

    def value_changes(
        self,
        definition: TableDefinition,
        called: TableName,
        columns: Mapping[str, str],
        values: pa.Array,
        place: ChangePlace,
    ) -> ValueChanges:
        """Return what happened before a change to some values, each of columns together, in a table's rows.

        Args:
            definition: the table as it was.
            called: its name at the end of the logs.
            columns: the columns, with their names at the end of the logs.
            values: their texts, as of :func:`texts_of`.

        Raises:
            BinxError: it is not known.
        """
        table = str(called)
        system = ["_change_type", "_commit_version", "_row", "_absent", "_misfits"]
        names = {folded_name(then): name for then, name in columns.items()}
        sides: dict[tuple[int, int, str], list[str]] = defaultdict(list)
        for batch in read_changes(self._folder, table, [*system, *columns.values()]):
            rows = pa.table(batch)
            if rows.column("_absent").null_count < len(rows):
                raise RefusedError(f"images of {table} lack columns (binlog_row_image was not FULL)")
            texts = texts_of(BatchImages(stored_batch(rows, names, definition)), columns)
            rows = rows.append_column("text", texts)
            rows = rows.filter(pc.and_(pc.is_in(texts, value_set=values), is_before(rows, place)))
            facts = (
                rows.column(name).to_pylist() for name in ("_commit_version", "_row", "text", "_change_type")
            )
            for version, row, text, kind in zip(*facts, strict=True):
                sides[version, row, text].append(kind)
        changes = ValueChanges({}, {}, set())
        for (version, _, text), kinds in sorted(sides.items()):
            match kinds:
                case ["delete" | "update_preimage"]:
                    changes.lost[text] = version
                case ["insert" | "update_postimage" as kind]:
                    changes.got[text] = version
                    if kind != "insert":
                        changes.moved.add(text)
        return changes


def texts_of(images: BatchImages, names: Iterable[str]) -> pa.Array:
    """Return the values of some columns as text, each row's together; raises RefusedError if one is gone."""
    columns = columns_of(images.columns, names)
    if not columns:
        raise RefusedError("the columns of its foreign key have other names since")
    return key_texts(images, columns, Images(None, columns))
