"""Which row changes are written of the transactions that pass, where not all of them are."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from binx.rows.batches import CHANGE_TYPES, ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.statements import Statement
from binx.where.condition import Condition
from binx.where.rows import RowFilter

_NEEDED = ("XA ", "-- INCIDENT ")


class RowChoice:
    """Chooses row changes by their table, their operation and a condition; statements are none of them.

    Args:
        takes_table: whether the rows of a table are wanted, by database and name.
        operations: those that are wanted: ``insert``, ``update``, ``delete``.
        condition: what an image of the row must match.

    Attributes:
        takes_table: whether the rows of a table are wanted, by database and name.
        left_out: statements that define tables or change data, and were left out so far.
    """

    def __init__(
        self,
        takes_table: Callable[[str, str], bool],
        operations: frozenset[str],
        condition: Condition | None = None,
    ) -> None:
        self.takes_table = takes_table
        self.left_out = 0
        self._codes = [code for code, name in enumerate(CHANGE_TYPES) if name.partition("_")[0] in operations]
        self._filter = None if condition is None else RowFilter(condition, Catalog(), takes_table)

    def chosen(self, batch: ChangeBatch) -> ChangeBatch:
        """The row changes of a batch that are wanted."""
        codes = frozenset(self._codes)
        if not codes.issuperset(batch.change_types):
            kinds = pa.Array.from_buffers(pa.int8(), batch.rows, [None, pa.py_buffer(batch.change_types)])
            wanted = pc.is_in(kinds, value_set=pa.array(self._codes, pa.int8()))
            batch = batch.with_rows(batch.batch.filter(wanted))
        return batch if self._filter is None or not batch.rows else self._filter.chosen(batch)[0]

    def takes_statement(self, statement: Statement) -> bool:
        """Whether a statement is needed beside the rows: ends of XA transactions, and incidents."""
        if statement.kind == "other":
            return statement.sql.startswith(_NEEDED)
        self.left_out += 1
        return False

    @property
    def warnings(self) -> list[str]:
        """What whoever uses the output must know, in sentences."""
        if not self.left_out:
            return []
        return [f"statements left out, as only rows were asked for: {self.left_out:,}"]


__all__ = ["RowChoice"]
