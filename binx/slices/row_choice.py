"""Which rows of the selected transactions are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from binx.log.binlog_file import BinlogFile
from binx.log.selection.table_filter import TableFilter
from binx.rows.batches import CHANGE_TYPES, ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.table_statements import table_effect
from binx.rows.logged_statements import Statement
from binx.slices.rendering import Changes, Renderer

if TYPE_CHECKING:
    from binx.where.condition import Condition
    from binx.where.matching_transactions import RowFilter

_NEEDED = ("XA ", "-- INCIDENT ")


class RowChoice:
    """Selects row changes by table, operation and condition.

    Args:
        excluded: the tables whose statements are left out, too.
        only_rows: whether all statements are left out.
        undone: whether the changes are undone.
    """

    def __init__(
        self,
        tables: TableFilter,
        operations: frozenset[str],
        condition: Condition | None = None,
        excluded: TableFilter | None = None,
        *,
        only_rows: bool = True,
        undone: bool = False,
    ) -> None:
        self.takes_table = tables.takes
        self._tables, self._excluded, self.only_rows = tables, excluded, only_rows
        self._undone = undone
        self.left_out = 0
        self._codes = [code for code, name in enumerate(CHANGE_TYPES) if name.partition("_")[0] in operations]
        self._filter: RowFilter | None = None
        if condition is not None:
            # The parser of conditions takes longer to load than most transactions to be written.
            from binx.where.matching_transactions import RowFilter

            self._filter = RowFilter(condition, Catalog(), tables.takes)

    def chosen(self, batch: ChangeBatch) -> ChangeBatch:
        """Return the selected row changes of a batch."""
        codes = frozenset(self._codes)
        if not codes.issuperset(batch.change_types):
            kinds = pa.Array.from_buffers(pa.int8(), batch.rows, [None, pa.py_buffer(batch.change_types)])
            is_chosen = pc.is_in(kinds, value_set=pa.array(self._codes, pa.int8()))
            batch = batch.take(pc.indices_nonzero(is_chosen))
        return batch if self._filter is None or not batch.rows else self._filter.chosen(batch)[0]

    def rendered_by(self, render: Renderer) -> Renderer:
        """Return a renderer that renders only the selected row changes."""

        def chosen(changes: ChangeBatch, file: BinlogFile) -> list[Changes]:
            selected = self.chosen(changes)
            return render(selected, file) if selected.rows else []

        return chosen

    def takes_statement(self, statement: Statement) -> bool:
        """Whether a statement is written besides the rows: ends of XA transactions and incidents always are.

        If rows are undone, statements on their tables are needed too, except those that only create a table.
        """
        if statement.kind == "other":
            return not self.only_rows or statement.sql.startswith(_NEEDED)
        if self._is_excluded(statement):
            return False
        if not self.only_rows:
            return True
        effect = table_effect(statement, self._tables) if self._undone else None
        if effect is not None and (effect.type != "create" or effect.may_change_rows):
            return True
        self.left_out += 1
        return False

    def _is_excluded(self, statement: Statement) -> bool:
        """Whether a statement concerns excluded tables alone."""
        effect = None if self._excluded is None else table_effect(statement, self._excluded)
        if effect is None:
            return False
        return effect.type == "truncate" or table_effect(statement, self._tables) is None

    @property
    def warnings(self) -> list[str]:
        """Warnings for the users of the output."""
        if not self.left_out:
            return []
        return [f"statements left out, as only rows were asked for: {self.left_out:,}"]
