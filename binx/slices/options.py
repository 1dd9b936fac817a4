"""Options of an extraction: row filters, database renaming, conflict handling of an undo."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binx.log.file import BinlogFile
    from binx.log.selection.table_filter import TableFilter
    from binx.rows.batches import ChangeBatch
    from binx.rows.statements import Statement
    from binx.slices.changes import Renderer
    from binx.slices.rendering import Changes
    from binx.where.condition import Condition


class DatabaseNames:
    """New names of databases, for rows' tables and for the default database of statements.

    Names within the text of statements stay, as with mysqlbinlog's ``--rewrite-db``.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = dict(names)
        self._spoken: dict[str, int] = {}
        self._mention = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names)) if names else None

    def __bool__(self) -> bool:
        return bool(self._names)

    def __getitem__(self, name: str) -> str:
        """Return a database's new name."""
        return self._names.get(name, name)

    def in_statement(self, statement: Statement) -> Statement:
        """Rename a statement's default database; record statements whose text names the old one."""
        if self._mention is None:
            return statement
        self.note_text(statement.sql)
        return statement._replace(db=self[statement.db])

    def note_text(self, sql: str) -> None:
        """Record a statement whose text names a database by its old name."""
        for name in set(self._mention.findall(sql)) if self._mention is not None else ():
            self._spoken[name] = self._spoken.get(name, 0) + 1

    @property
    def warnings(self) -> list[str]:
        """Warnings for the users of the output."""
        return [
            f"statements whose text names {name}, which --rewrite-db leaves as it is: {count:,}"
            for name, count in self._spoken.items()
        ]


class OnConflict(Enum):
    """How to handle rows that differ from what the log left."""

    STOP = "stop"
    """List them and undo nothing."""
    SKIP = "skip"
    """List them and leave them as they are; undo all others."""
    FORCE = "force"
    """Find rows by key only, and restore them regardless of later changes."""


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
        # Imported here: a slice in binary log format needs no Arrow.
        from binx.rows.batches import CHANGE_TYPES
        from binx.rows.ddl.catalog import Catalog
        from binx.where.rows import RowFilter

        self.takes_table = tables.takes
        self._tables = tables
        self._undone = undone
        self.left_out = 0
        self._codes = [code for code, name in enumerate(CHANGE_TYPES) if name.partition("_")[0] in operations]
        self._filter = None if condition is None else RowFilter(condition, Catalog(), tables.takes)

    def chosen(self, batch: ChangeBatch) -> ChangeBatch:
        """Return the selected row changes of a batch."""
        import pyarrow as pa
        import pyarrow.compute as pc

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
        from binx.rows.ddl.table_statements import table_effect

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
