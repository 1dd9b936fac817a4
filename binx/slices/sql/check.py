"""Whether transactions can be written as SQL, found out before a byte is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from binx.kernels.transactions.table import Kind, TransactionTable
from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.statements import Statement
from binx.slices.changes import Selected, ordered_changes
from binx.slices.pieces import Changes
from binx.slices.row_choice import RowChoice
from binx.slices.sql.refusals import CHECKED_FACTS, PreparedXa, refuse_statement
from binx.slices.sql.tables import UntoldTables, refuse_table

_PLAIN_KINDS = frozenset({int(Kind.KIND_DML), int(Kind.KIND_EMPTY)})


def check_sql(selected: Iterable[Selected], catalog: Catalog, choice: RowChoice | None = None) -> list[str]:
    """Find out whether the transactions can be written as SQL, without writing a byte.

    Returns:
        Warnings about tables and statements, in sentences.

    Raises:
        RefusedError: a table's columns have no names, or a statement cannot be written.
        DamagedError, UnsupportedError: a transaction cannot be decoded.
    """

    def nothing(_: ChangeBatch, __: BinlogFile) -> list[Changes]:
        raise AssertionError("no rows are decoded")

    checked: set[int] = set()
    decoders: list[ChangeDecoder] = []
    prepared = PreparedXa()
    items = ordered_changes(
        _telling(selected, prepared),
        catalog.copy(),
        nothing,
        resolve_only=True,
        decoders=decoders,
        facts=CHECKED_FACTS,
        told=prepared.looks_at,
        choice=choice,
    )
    for item in items:
        prepared.take(item)
        if isinstance(item, Statement):
            refuse_statement(item)
    untold = UntoldTables()
    for decoder in decoders:
        for changes in decoder.tables:
            if id(changes) not in checked:
                checked.add(id(changes))
                refuse_table(changes.resolved)
                untold.take(changes.resolved)
    warnings = [warning for decoder in decoders for warning in decoder.report.warnings]
    return [*warnings, *untold.warnings()]


def _telling(selected: Iterable[Selected], prepared: PreparedXa) -> Iterator[Selected]:
    """The parts of the logs that can have something to refuse.

    Whether a table can be written is up to its table maps and the statements before, and most parts of a log
    have neither a new map nor a statement.
    """
    known = _KnownTables()
    for part in selected:
        if known.look_at(part) or prepared.looks_at(part):
            yield part


class _KnownTables:
    """Which tables were looked at since their columns may have changed."""

    def __init__(self) -> None:
        self._file: BinlogFile | None = None
        self._maps = 0
        self._stale: set[int] = set()

    def look_at(self, part: Selected) -> bool:
        """Whether there is something new in a part, which is looked at if so."""
        if part.file is not self._file:
            self._file, self._maps, self._stale = part.file, 0, set()
        maps, scan = part.scan.map_count, part.scan
        if maps is None or part.behind_damage or part.mask.count(1) < len(part.mask):
            # Of what is not selected here nothing is learnt.
            return True
        tables = {*memoryview(part.table.count_column(0)).cast("q")} if self._stale else set()
        statements = _has_statements(part.table)
        if maps == self._maps and not statements and self._stale.isdisjoint(tables):
            return False
        self._maps = maps
        self._stale -= tables
        if statements:
            # Wherever in the part they stand, what comes behind the part is looked at anew.
            self._stale = {*range(scan.table_count)}
        return True


def _has_statements(table: TransactionTable) -> bool:
    """Whether some of the transactions are more than row changes between BEGIN and COMMIT."""
    marks = table.mask()
    table.keep_range(marks, "statements", 1, 2**63 - 1)
    return any(marks) or not _PLAIN_KINDS.issuperset(memoryview(table.column("kind")).cast("q"))
