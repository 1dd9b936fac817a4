"""Find transactions with a matching row change, and the ends of such XA transactions.

This requires decoding the rows of all transactions that pass the other filters, and costs about as much as
``to-parquet`` without writing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.transactions.table import TransactionTable
from binx.log.binlog_file import BinlogFile
from binx.log.selection.table_filter import XaEnds
from binx.rows.batches import ChangeBatch
from binx.rows.change_groups import BatchImages, ChangeGroup
from binx.rows.columns.schema import folded_name
from binx.rows.ddl.catalog import Catalog
from binx.rows.reading import Reading
from binx.where.condition import Condition
from binx.where.operands import IncomparableError


@dataclass(frozen=True, slots=True)
class RowsSeen:
    """The tables that a condition was evaluated on.

    Attributes:
        columns: the columns that any of them has.
        applied: whether the condition applies to any of them.
        skipped: name and reason, each once, of tables with rows that the condition could not be evaluated on:
            their types cannot be compared with its literals, or their images lack its columns.
    """

    tables: tuple[str, ...] = ()
    columns: frozenset[str] = frozenset()
    applied: bool = False
    skipped: tuple[tuple[str, str], ...] = ()


class TrackedCondition:
    """A condition that records which tables it was evaluated on."""

    def __init__(self, condition: Condition) -> None:
        self._condition = condition
        self._tables: dict[str, None] = {}
        self._columns: set[str] = set()
        self._applied = False
        self._skipped: dict[tuple[str, str], None] = {}
        self._unreported: dict[str, None] = {}

    def note_table(self, images: BatchImages) -> None:
        """Record that a table has rows; :meth:`check` fails if the condition applies to no such table."""
        self._tables[_name_of(images)] = None
        if not self._applied:
            self._columns.update(folded_name(column.source_name) for column in images.columns)

    def evaluate(self, images: BatchImages) -> list[tuple[ChangeGroup, pa.BooleanArray]] | None:
        """Return the changes of a batch with masks of matches; None if the condition does not apply."""
        if not self._condition.applies(images):
            return None
        lacking: set[str] = set()
        try:
            changes = list(self._condition.passing(images, lacking))
        except IncomparableError as error:
            self._note_skipped(images, error.message)
            return None
        if lacking:
            names = ", ".join(sorted(lacking))
            cause = "binlog_row_image was not FULL, or MariaDB left out what it generates"
            self._note_skipped(images, f"their images lack {names} ({cause})")
        self._applied = True
        return changes

    def _note_skipped(self, images: BatchImages, why: str) -> None:
        self._skipped[_name_of(images), why] = None
        self._unreported[_warning(_name_of(images), why)] = None

    @property
    def seen(self) -> RowsSeen:
        """The tables that the condition was evaluated on."""
        return RowsSeen(tuple(self._tables), frozenset(self._columns), self._applied, tuple(self._skipped))

    def take_seen(self, seen: RowsSeen) -> None:
        """Add the tables that the same condition was evaluated on elsewhere."""
        self._tables.update(dict.fromkeys(seen.tables))
        self._columns |= seen.columns
        self._applied |= seen.applied
        self._skipped.update(dict.fromkeys(seen.skipped))

    @property
    def warnings(self) -> list[str]:
        """Warnings about table versions to which the condition does not apply."""
        return [_warning(table, why) for table, why in self._skipped]

    def take_warnings(self) -> dict[str, None]:
        """Return the warnings since the last call, each once."""
        warnings, self._unreported = self._unreported, {}
        return warnings

    def check(self) -> None:
        """Raise an error if the condition applies to no table.

        Raises:
            AbsentError: no table has its columns.
            IncomparableError: the tables that have them cannot be compared with its literals.
        """
        if self._applied:
            return
        for _, why in self._skipped:
            raise IncomparableError(why)
        if self._tables:
            raise self._condition.absent_error(self._tables, self._columns)


def _name_of(images: BatchImages) -> str:
    table = images.changes.table
    return f"{table.db}.{table.name}"


def _warning(table: str, why: str) -> str:
    return f"{table}: rows to which the condition does not apply were skipped: {why}"


class RowFilter(TrackedCondition):
    """Finds the transactions with a row change that passes.

    Args:
        catalog: the tables known beforehand; updated by DDL in the logs.
        takes_table: whether a table's rows count, by database and name.
        limit: maximum number of transactions that pass, applied after the condition.
        in_parts: whether other filters handle other parts of the logs; see
            :class:`~binx.log.selection.table_filter.XaEnds`.
    """

    def __init__(
        self,
        condition: Condition,
        catalog: Catalog,
        takes_table: Callable[[str, str], bool],
        limit: int | None = None,
        *,
        in_parts: bool = False,
    ) -> None:
        super().__init__(condition)
        self._xa_ends = XaEnds(all_pass=in_parts)
        self._remaining = limit
        self._catalog = catalog
        self._takes_table = takes_table
        self._reading = Reading(catalog, takes_table)

    def keep(
        self,
        file: BinlogFile,
        table: TransactionTable,
        mask: bytearray,
        lost: Iterable[int] = (),
    ) -> None:
        """Unmark transactions without a row change that passes.

        The end of an XA transaction passes if the transaction does. Tables must come in chain order.

        Raises:
            DamagedError, UnsupportedError: a transaction cannot be decoded.
        """
        work_mask = bytearray(mask)
        table.mark_work(work_mask)
        for index in lost:
            work_mask[index] = 0
        if not any(work_mask):
            return
        passing: set[int] = set()
        for batch in self._batches(file, table, work_mask):
            passing.update(self._passing(batch))
        steps = set(self._xa_ends.steps(table, mask))
        for index in table.marked(mask):
            passes = file.commit_version(table.value("start", index)) in passing
            if index in steps:
                passes = self._xa_ends.passes(file, table, index, passes)
            mask[index] = self._remaining != 0 and passes
            if self._remaining is not None:
                self._remaining -= mask[index]

    def forget_tables(self) -> None:
        """Forget all tables, because statements that define some may have been lost in damage."""
        self._catalog.clear()
        self._reading = Reading(self._catalog, self._takes_table)

    @property
    def complete(self) -> bool:
        """Whether the limit is reached."""
        return self._remaining == 0

    def chosen(self, batch: ChangeBatch) -> tuple[ChangeBatch, tuple[int, int, int]]:
        """Return the row changes that pass, and the number of inserts, updates and deletes that do not."""
        images = BatchImages(batch)
        passing: list[int] = []
        dropped = Counter[str]()
        for group, mask in self._masked_changes(images):
            passing += images.rows_of(group, mask)
            dropped[group.operation] += len(mask) - mask.true_count
        counts = (dropped["insert"], dropped["update"], dropped["delete"])
        return batch.take(pa.array(sorted(passing), pa.int64())), counts

    def _batches(self, file: BinlogFile, table: TransactionTable, mask: bytearray) -> Iterator[ChangeBatch]:
        for item in self._reading.items(file, table, mask):
            if isinstance(item, ChangeBatch):
                yield item
        yield from self._reading.flush()

    def _passing(self, batch: ChangeBatch) -> Iterator[int]:
        """Yield the commit versions of transactions with a change that passes."""
        images = BatchImages(batch)
        self.note_table(images)
        versions = images.system("_commit_version")
        for group, mask in self._masked_changes(images):
            yield from pc.unique(group.images.pick(versions).filter(mask)).to_pylist()

    def _masked_changes(self, images: BatchImages) -> list[tuple[ChangeGroup, pa.BooleanArray]]:
        """Return the changes of a batch with their masks; none passes if the condition does not apply."""
        changes = self.evaluate(images)
        if changes is not None:
            return changes
        return [
            (group, pa.repeat(pa.scalar(False), images.size_of(group.images))) for group in images.groups()
        ]
