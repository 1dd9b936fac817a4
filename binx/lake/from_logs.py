"""A data set of few tables, made from logs and a backup to answer one question, and removed with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from binx.dataset.options import ParquetOptions
from binx.dataset.parquet import to_parquet
from binx.errors import AbsentError, BinxError
from binx.kernels.walk.scan import Level
from binx.lake.base.importing import import_bases
from binx.lake.table_name import TableName, UnknownTableError
from binx.log.binlog_file import BinlogFile
from binx.log.scan import find_transactions
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection, Selector
from binx.rows.columns.schema import (
    DEFAULT_CONTEXT,
    Provenance,
    StatementContext,
    TableDefinition,
)
from binx.rows.columns.types import ArrowOptions
from binx.rows.ddl.catalog import Catalog, Followed
from binx.rows.ddl.parsed_statements import changed_tables, modelled_tables, renamed_tables
from binx.rows.ddl.tokens import identifier
from binx.rows.decoder import DecoderOptions
from binx.rows.reading import Reading, no_table
from binx.source.wording import did_you_mean
from binx.sql.create_table import needed_sequences

_ROW_GROUP_ROWS = 1 << 15
"""Few, as whole groups are read."""


@contextmanager
def data_set_of_logs(
    files: Sequence[BinlogFile],
    tables: Iterable[TableName],
    catalog: Catalog | None,
    *,
    exact: bool = False,
    verify: bool = True,
    on_damage: OnDamage = OnDamage.STOP,
    bases: Sequence[str] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> Iterator[str]:
    """Export what decides about the rows of some tables to a data set in a temporary folder.

    That is each table under all its names, and the tables whose foreign keys change its rows. Memory is
    bounded; the folder takes the space of these tables' changes.

    Args:
        files: the logs, in chain order.
        tables: the tables, by any of their names.
        catalog: the tables known beforehand.
        exact: whether values are as SQL needs them, with the types of values in JSON documents.
        verify: whether to check the logs' checksums.
        bases: backups with rows that were there before.
        progress: called at intervals with the number of bytes done in all logs.

    Raises:
        BinxError: a log or a backup cannot be read, or the folder cannot be written.
    """
    related = _Related(Catalog() if catalog is None else catalog)
    for file in files:
        reading = Reading(related, no_table)
        for transactions in find_transactions(file, Level.LEVEL_EVENTS, verify=False):
            reading.follow(file, transactions)
    patterns = tuple(_pattern(name) for name in related.names(tables))
    decoder = DecoderOptions(_ROW_GROUP_ROWS, arrow=ArrowOptions(exact_values=exact))
    options = ParquetOptions("lz4", decoder=decoder, verify=verify, jobs=1, on_damage=on_damage)
    with TemporaryDirectory(prefix="binx-") as folder:
        for _ in import_bases(bases, folder, options, tables=patterns, needs_all=False):
            pass
        selector = Selector(Selection(tables=patterns), in_parts=True)
        for _ in to_parquet(files, folder, selector, catalog, options, progress):
            pass
        try:
            yield folder
        except UnknownTableError as error:
            near = _near(error.table, files)
            raise AbsentError(f"{error.message.removesuffix(near)}{near}") from None
        except BinxError as error:
            # Nobody knows the temporary folder.
            error.path = None if error.path == folder else error.path
            raise


def _near(table: str, files: Sequence[BinlogFile]) -> str:
    """Return which table of the logs is meant."""
    seen: dict[str, None] = {}
    for file in files:
        scan = find_transactions(file, Level.LEVEL_TABLES, verify=False)
        for _ in scan:
            seen |= dict.fromkeys(str(TableName(*scan.table_name(one))) for one in range(scan.table_count))
    seen.pop(table, None)
    return did_you_mean(table, seen)


def _pattern(name: TableName) -> str:
    return f"{identifier(name.db)}.{identifier(name.table)}"


class _Related(Catalog):
    """Notes former names of tables, which were made LIKE which, and what foreign keys refer to."""

    def __init__(self, known: Catalog) -> None:
        super().__init__()
        self.become(known)
        self._related: dict[TableName, set[TableName]] = defaultdict(set)
        for definition in self:
            self._take_keys(definition)

    def follow(
        self,
        statement: str,
        default_db: str,
        context: StatementContext = DEFAULT_CONTEXT,
        provenance: Provenance = Provenance.DDL,
    ) -> Followed:
        """Apply a statement, and note the names in it."""
        followed = super().follow(statement, default_db, context, provenance)
        for db, table in changed_tables(followed.parsed, default_db):
            self._take_spelling(TableName(db, table))
        for old, new in renamed_tables(followed.parsed):
            former, name = (TableName(*one.qualified(default_db)) for one in (old, new))
            self._related[name].add(former)
            # The table may be asked for by its name of then.
            self._related[former].add(name)
        for one, other in modelled_tables(followed.parsed):
            name, model = (TableName(*named.qualified(default_db)) for named in (one, other))
            self._related[name].add(model)
        for change in followed.changes:
            if change.table is not None:
                self._take_spelling(TableName(change.db, change.table))
            if change.definition is not None:
                self._take_keys(change.definition)
        return followed

    def _take_spelling(self, name: TableName) -> None:
        """With ``lower_case_table_names``, rows have names in lower case, statements as they were written."""
        lower = TableName(name.db.lower(), name.table.lower())
        if name != lower:
            self._related[lower].add(name)
            self._related[name].add(lower)

    def _take_keys(self, definition: TableDefinition) -> None:
        referring = TableName(definition.db, definition.name)
        self._related[referring] |= {TableName(key.db, key.table) for key in definition.foreign_keys}
        self._related[referring] |= set(map(TableName._make, needed_sequences(definition)))

    def names(self, tables: Iterable[TableName]) -> list[TableName]:
        """Return the names of tables, and those of the tables that their rows depend on."""
        found = {*tables}
        left = [*found]
        while left:
            more = self._related.get(left.pop(), set()) - found
            found |= more
            left += more
        return sorted(found)
