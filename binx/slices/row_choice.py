"""Which rows of the selected transactions are written."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from binx.log.file import BinlogFile
from binx.log.selection.table_filter import TableFilter
from binx.rows.batches import CHANGE_TYPES, ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.table_statements import table_effect
from binx.rows.statements import Statement
from binx.slices.rendering import Changes, Renderer
from binx.where.condition import Condition
from binx.where.rows import RowFilter

_NEEDED = ("XA ", "-- INCIDENT ")


class RowChoice:
    """Selects row changes by table, operation and condition; statements are left out."""

    def __init__(
        self,
        tables: TableFilter,
        operations: frozenset[str],
        condition: Condition | None = None,
        *,
        undone: bool = False,
    ) -> None:
        self.takes_table = tables.takes
        self._tables = tables
        self._undone = undone
        self.left_out = 0
        self._codes = [code for code, name in enumerate(CHANGE_TYPES) if name.partition("_")[0] in operations]
        self._filter = None if condition is None else RowFilter(condition, Catalog(), tables.takes)

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
        """Whether a statement is needed besides the rows: ends of XA transactions, and incidents.

        If rows are undone, statements on their tables are needed too, except those that only create a table.
        """
        if statement.kind == "other":
            return statement.sql.startswith(_NEEDED)
        effect = table_effect(statement, self._tables) if self._undone else None
        if effect is not None and (effect.type != "create" or effect.may_change_rows):
            return True
        self.left_out += 1
        return False

    @property
    def warnings(self) -> list[str]:
        """Warnings for the users of the output."""
        if not self.left_out:
            return []
        return [f"statements left out, as only rows were asked for: {self.left_out:,}"]
