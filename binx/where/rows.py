"""The transactions that change a row which fulfils a condition, and the ends of such XA transactions.

The rows of the transactions that pass all other filters are decoded to find out; which is the only way, and
costs about what ``to-parquet`` costs without its writing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.transactions.table import TransactionTable
from binx.log.arrow import arrow_array
from binx.log.file import BinlogFile
from binx.log.selection.xa_ends import XaEnds
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.images import BatchImages, ChangeGroup
from binx.where.condition import Condition
from binx.where.tables import AskedCondition


class RowFilter(AskedCondition):
    """Finds the transactions with a row change that passes.

    Args:
        condition: what a row change must fulfil.
        catalog: the tables known beforehand; moved on by the schema statements met.
        takes_table: whether a table's rows count, by database and name.
        limit: how many transactions may pass, at most; what the rows decide comes before the limit.
        in_parts: whether others filter other parts of the logs; see
            :class:`~binx.log.selection.xa_ends.XaEnds`.
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
        self._left = limit
        self._catalog = catalog
        self._takes_table = takes_table
        self._decoder: ChangeDecoder | None = None

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
        self.note_table(images)
        versions = images.system("_commit_version")
        for group, marks in self._asked(images):
            yield from pc.unique(group.images.pick(versions).filter(marks)).to_pylist()

    def _asked(self, images: BatchImages) -> list[tuple[ChangeGroup, pa.BooleanArray]]:
        """The changes of a batch with their marks; none passes if the condition does not apply."""
        found = self.ask(images)
        if found is not None:
            return found
        return [
            (group, pa.repeat(pa.scalar(False), images.size_of(group.images))) for group in images.groups()
        ]
