"""The transactions that change a row which fulfils a condition, and the ends of such XA transactions.

The rows of the transactions that pass all other filters are decoded to find out; which is the only way, and
costs about what ``to-parquet`` costs without its writing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from binx.export.images import BatchImages, ChangeGroup
from binx.export.where import Condition
from binx.export.where_values import IncomparableError
from binx.kernels.transactions import TransactionTable
from binx.log.arrow import arrow_array
from binx.log.file import BinlogFile
from binx.log.xa import XaEnds
from binx.rows.batches import ChangeBatch
from binx.rows.catalog import Catalog
from binx.rows.decoder import ChangeDecoder


@dataclass(frozen=True, slots=True)
class RowsSeen:
    """The tables whose rows a filter looked at.

    Attributes:
        tables: their names.
        applied: whether the condition could be asked of one of them.
        incomparable: of versions of tables of which it could not be asked, though they have its columns, the
            table's name and why; each once.
    """

    tables: tuple[str, ...] = ()
    applied: bool = False
    incomparable: tuple[tuple[str, str], ...] = ()


class RowFilter:
    """Finds the transactions with a row change that passes.

    Args:
        condition: what a row change must fulfil.
        catalog: the tables known beforehand; moved on by the schema statements met.
        takes_table: whether a table's rows count, by database and name.
        limit: how many transactions may pass, at most; what the rows decide comes before the limit.
        in_parts: whether others filter other parts of the logs; see :class:`~binx.log.xa.XaEnds`.
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
        self._condition = condition
        self._xa_ends = XaEnds(all_pass=in_parts)
        self._left = limit
        self._catalog = catalog
        self._takes_table = takes_table
        self._decoder: ChangeDecoder | None = None
        self._tables: dict[str, None] = {}
        self._applied = False
        self._incomparable: dict[tuple[str, str], None] = {}
        self._untold: dict[str, None] = {}

    def keep(
        self,
        file: BinlogFile,
        table: TransactionTable,
        mask: bytearray,
        lost: Iterable[int] = (),
    ) -> None:
        """Take the marks away from transactions without a row change that passes.

        The end of an XA transaction goes the way of what it ends.

        Tables must come in the order of the chain.

        Args:
            file: where the transactions are.
            table: the transactions.
            mask: the marks.
            lost: transactions that cannot be decoded.

        Raises:
            DamagedError, UnsupportedError: a transaction cannot be decoded.
        """
        work = bytearray(mask)
        table.mark_work(work)
        for index in lost:
            work[index] = 0
        if not any(work):
            return
        passing: set[int] = set()
        for batch in self._batches(file, table, work):
            passing.update(self._passing(batch))
        steps = set(self._xa_ends.steps(table, mask))
        for index in table.marked(mask):
            passes = file.commit_version(table.value("start", index)) in passing
            if index in steps:
                passes = self._xa_ends.passes(file, table, index, passes)
            mask[index] = self._left != 0 and passes
            if self._left is not None:
                self._left -= mask[index]

    def forget_tables(self) -> None:
        """Know no table any more: statements that define some may have been lost in damage."""
        self._catalog.clear()
        self._decoder = None

    @property
    def complete(self) -> bool:
        """Whether the limit is reached."""
        return self._left == 0

    def chosen(self, batch: ChangeBatch) -> tuple[ChangeBatch, tuple[int, int, int]]:
        """The row changes of a batch that pass, and how many inserts, updates and deletes do not."""
        images = BatchImages(batch)
        passing: list[int] = []
        dropped = Counter[str]()
        for group, marks in self._asked(images):
            passing += images.rows_of(group, marks)
            dropped[group.operation] += len(marks) - marks.true_count
        rows = batch.batch.take(arrow_array(sorted(passing), pa.int64()))
        counts = (dropped["insert"], dropped["update"], dropped["delete"])
        return batch.with_rows(rows), counts

    @property
    def seen(self) -> RowsSeen:
        """The tables whose rows were looked at."""
        return RowsSeen(tuple(self._tables), self._applied, tuple(self._incomparable))

    def take_seen(self, seen: RowsSeen) -> None:
        """Count what another filter of the same condition has looked at as seen here."""
        self._tables.update(dict.fromkeys(seen.tables))
        self._applied |= seen.applied
        self._incomparable.update(dict.fromkeys(seen.incomparable))

    @property
    def warnings(self) -> list[str]:
        """Sentences about versions of tables of which the condition could not be asked."""
        return [passed_over(table, why) for table, why in self._incomparable]

    def take_warnings(self) -> dict[str, None]:
        """The warnings about what was looked at since this was asked last, each once."""
        untold, self._untold = self._untold, {}
        return untold

    def check(self) -> None:
        """Raise an error where the condition could be asked of no table at all.

        Raises:
            AbsentError: none had its columns.
            IncomparableError: those that had could not be compared as it wants.
        """
        if self._applied:
            return
        for _, why in self._incomparable:
            raise IncomparableError(why)
        if self._tables:
            raise self._condition.lacking(self._tables)

    def _batches(self, file: BinlogFile, table: TransactionTable, work: bytearray) -> Iterator[ChangeBatch]:
        if self._decoder is None or self._decoder.file is not file:
            self._decoder = ChangeDecoder(file, self._catalog, self._takes_table)
        for item in self._decoder.decode(table, work):
            if isinstance(item, ChangeBatch):
                yield item
        yield from self._decoder.flush()

    def _passing(self, batch: ChangeBatch) -> Iterator[int]:
        """Commit versions of the transactions in which a change passes."""
        images = BatchImages(batch)
        self._tables[f"{batch.table.db}.{batch.table.name}"] = None
        versions = images.system("_commit_version")
        for group, marks in self._asked(images):
            yield from pc.unique(group.images.pick(versions).filter(marks)).to_pylist()

    def _asked(self, images: BatchImages) -> list[tuple[ChangeGroup, pa.BooleanArray]]:
        """The changes of a batch with their marks; none passes where the condition cannot be asked."""
        if self._condition.applies(images):
            try:
                found = list(self._condition.passing(images))
            except IncomparableError as error:
                table = images.changes.table
                name = f"{table.db}.{table.name}"
                self._incomparable[name, error.message] = None
                self._untold[passed_over(name, error.message)] = None
            else:
                self._applied = True
                return found
        return [
            (group, pa.repeat(pa.scalar(False), images.size_of(group.images))) for group in images.groups()
        ]


def passed_over(table: str, why: str) -> str:
    """The warning about a version of a table of which a condition could not be asked."""
    return f"{table}: rows to which the condition does not apply were skipped: {why}"


__all__ = ["RowFilter", "RowsSeen", "passed_over"]
