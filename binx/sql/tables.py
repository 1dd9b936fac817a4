"""What the statements about a table share, and which tables and servers need special treatment."""

from __future__ import annotations

from binx.errors import RefusedError
from binx.event.rows_events import RowsFlag
from binx.rows.batches import ChangeBatch
from binx.rows.change_groups import BatchImages
from binx.rows.columns.names import ResolvedColumn, ResolvedTable, key_positions
from binx.rows.columns.schema import Provenance
from binx.rows.columns.types import Kind
from binx.rows.ddl.tokens import identifier
from binx.source.wording import listed
from binx.sql.session_settings import flagged_rows

_ROW_PERIODS = frozenset({"row_start", "row_end"})
_MOST_NAMED = 3
"""Maximum number of tables named in a warning."""


_UNKNOWN_GENERATED = (
    "the log does not say which columns of {tables} are generated, and servers reject values for those: if"
    " there are any, give --schema FILE, as written by mysqldump --no-data"
)
_TYPED_DOCUMENTS = (
    "JSON documents of {tables} have values of SQL types that columns alone give (BIT, BLOB …), or partial"
    " dates; SQL makes them numbers and strings, as mysqldump does, and --format binlog keeps them"
)

_REPLACED = (
    "REPLACE set columns of {tables} to their defaults, which MariaDB does not log with partial row images"
    " (binlog_row_image): the script leaves these values as they were"
)
_SEQUENCES = "values taken from {tables} stay taken, as after ROLLBACK: sequences are not undone"


class TableWarnings:
    """Warnings about tables that SQL is written for, for those who run it.

    Table maps have the names of columns at most, so a table without a known definition may have generated
    columns. Servers reject a value for one: MySQL with ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN (3105),
    MariaDB with error 1906.

    MySQL keeps DECIMAL, DATE, TIME, DATETIME and binary values in JSON documents with their types (opaque
    values, sql-common/json_binary.h), and SQL expressions can create them. None that all versions know makes
    values of BIT, BLOB and other columns, nor dates that a server may reject.
    """

    def __init__(self) -> None:
        self._tables: dict[str, dict[str, None]] = {
            sentence: {} for sentence in (_UNKNOWN_GENERATED, _TYPED_DOCUMENTS, _SEQUENCES, _REPLACED)
        }

    def take_table(self, resolved: ResolvedTable) -> None:
        """Check a table."""
        if resolved.definition is None:
            self._tables[_UNKNOWN_GENERATED][f"{resolved.db}.{resolved.name}"] = None

    def take_rows(self, changes: ChangeBatch) -> None:
        """Check some rows: their documents, and whether the log has all that was changed."""
        if flagged_rows(BatchImages(changes), RowsFlag.REPLACED) is not None:
            self._tables[_REPLACED][f"{changes.table.db}.{changes.table.name}"] = None
        if changes.typed_documents:
            self._tables[_TYPED_DOCUMENTS][f"{changes.table.db}.{changes.table.name}"] = None

    def take_sequence(self, name: str) -> None:
        """Record a sequence whose changes are not undone."""
        self._tables[_SEQUENCES][name] = None

    def sentences(self) -> list[str]:
        """Return the warnings."""
        return [self._sentence(text) for text, names in self._tables.items() if names and text != _REPLACED]

    def losses(self) -> list[str]:
        """Return what the rows will lack."""
        return [self._sentence(_REPLACED)] if self._tables[_REPLACED] else []

    def _sentence(self, text: str) -> str:
        return text.format(tables=listed(self._tables[text], _MOST_NAMED))


class SqlTable:
    """What the statements about one table share.

    Args:
        database: the database name in the statements; None for the table's own.

    Attributes:
        logged: database and name in the log.
        guarded: columns that a server may set to the current time in an UPDATE that does not assign them.

    Raises:
        RefusedError: the table's changes cannot be expressed in SQL.
    """

    def __init__(self, resolved: ResolvedTable, database: str | None = None) -> None:
        refuse_table(resolved)
        self.logged = (resolved.db, resolved.name)
        self.is_sequence = resolved.is_sequence
        self.db, self.table = database or resolved.db, resolved.name
        self.name = f"{identifier(self.db)}.{identifier(self.table)}"
        self.columns = resolved.columns
        self.names = [identifier(column.source_name) for column in resolved.columns]
        self.writable = [index for index, column in enumerate(self.columns) if column.generated is None]
        self.key = key_positions(self.columns)
        self.guarded = frozenset(
            index for index in self.writable if _may_follow_clock(self.columns[index], resolved)
        )


def _may_follow_clock(column: ResolvedColumn, table: ResolvedTable) -> bool:
    """Whether a server may set the column to the current time in an UPDATE that does not assign it."""
    if column.type.kind is not Kind.DATETIME:
        return column.type.kind is Kind.TIMESTAMP
    definition = table.definition
    if definition is None or definition.unknown is not None or table.unfit is not None:
        return True
    # CREATE TABLE IF NOT EXISTS may have found another table.
    declared = (
        None if definition.provenance is Provenance.IF_NOT_EXISTS else definition.column(column.source_name)
    )
    return declared is None or bool(declared.on_update)


def refuse_table(resolved: ResolvedTable) -> None:
    """Raise RefusedError for a table whose changes cannot be expressed in SQL."""
    name = f"{resolved.db}.{resolved.name}"
    if any(column.provenance.name is Provenance.NONE for column in resolved.columns):
        raise RefusedError(
            f"SQL needs the names of the columns of {name}, which are not known: {resolved.why_unknown}"
        )
    if any(column.generated in _ROW_PERIODS for column in resolved.columns):
        raise RefusedError(
            f"{name} is system-versioned (WITH SYSTEM VERSIONING), and SQL statements cannot write its"
            " history; use --format binlog"
        )
