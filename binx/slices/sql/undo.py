"""``extract --format sql --reverse``: SQL that takes transactions back, the newest first.

The row changes come from the last to the first, in one transaction, which checks itself
(:mod:`binx.slices.sql.undo_check`). Nothing is written unless everything can be undone: statements in between
(DDL, statement-based changes), images that lack what was there before, and XA transactions whose end is not
known are reported together, and refused.

The log is read forwards and its undoing is wanted backwards. What undoes a piece of it, newest change first,
goes to a temporary file as it comes; in the end the pieces are copied out from the last to the first. So
memory does not grow with the log, and the temporary folder needs as much space as the output.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from binx.event.format import Flavour, FormatDescription
from binx.log.file import BinlogFile
from binx.log.selection.moments import format_time
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.statements import Statement
from binx.slices.backwards import NO_MARK, Backwards
from binx.slices.changes import Begin, RowTexts, Selected, ordered_changes
from binx.slices.options import DatabaseNames, OnConflict, RowChoice
from binx.slices.rendering import Changes, gathered
from binx.slices.sql.cascades import Cascades, Restored
from binx.slices.sql.literals import comment_text
from binx.slices.sql.passes import ChangedAgain, without_rolled_back
from binx.slices.sql.refusals import Obstacles, UndoStatements, refuse_other_flavour
from binx.slices.sql.script import PARTIAL
from binx.slices.sql.session import SqlSession
from binx.slices.sql.tables import SqlDialect, TypedDocuments, UntoldTables
from binx.slices.sql.undo_check import ROWS_BEFORE_KEYS, UndoCheck
from binx.slices.sql.undo_rows import UndoRows
from binx.slices.sql.write import STATEMENT_BYTES, StatementSizes
from binx.storage.output import Sink


@dataclass(frozen=True, slots=True)
class UndoReport:
    """What became of a request.

    Attributes:
        unknown: rows that went by foreign keys and are not restored, in sentences.
    """

    undone: int
    nothing: int
    warnings: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def write_undo(
    selected: Iterable[Selected],
    output: Sink,
    catalog: Catalog,
    *,
    on_conflict: OnConflict = OnConflict.STOP,
    statement_bytes: int = STATEMENT_BYTES,
    every: Callable[[], Iterable[Selected]] | None = None,
    choice: RowChoice | None = None,
    databases: DatabaseNames | None = None,
) -> UndoReport:
    """Write what undoes transactions.

    Raises:
        RefusedError: something cannot be undone; its message lists all of it, and nothing was written.
        DamagedError, UnsupportedError: a transaction cannot be decoded.
        OutputError: the output, or the temporary folder, cannot be written.
    """
    every = None if every is None else without_rolled_back(every)
    with Backwards() as spool:
        again = None if every is None else ChangedAgain()
        known = catalog.copy()
        cascades = Cascades(catalog, known, databases)
        check = UndoCheck(on_conflict)
        undoing = _Undoing(
            spool,
            check,
            StatementSizes(statement_bytes),
            cascades,
            again,
            partial=choice is not None,
            databases=databases,
        )
        items = ordered_changes(
            selected,
            catalog,
            undoing.render,
            raw_text=True,
            exact_members=True,
            backwards=True,
            sizes=undoing.sizes,
            choice=choice,
        )
        for item in items:
            undoing.take(item)
        undoing.statements.finish()
        if cascades.found and every is not None:
            undoing.restored = cascades.restored(every, known, check)
            undoing.warnings += undoing.restored.warnings
        if again is not None and every is not None:
            undoing.warnings += again.warnings(every(), known)
        return undoing.copy_out(output)


class _Undoing:
    def __init__(
        self,
        spool: Backwards,
        check: UndoCheck,
        sizes: StatementSizes,
        cascades: Cascades,
        again: ChangedAgain | None,
        *,
        partial: bool,
        databases: DatabaseNames | None,
    ) -> None:
        self._spool = spool
        self._check = check
        self._cascades = cascades
        self._again = again
        self._partial = partial
        self._databases = databases
        self.restored = Restored()
        self._versions = array("q")
        self.warnings: list[str] = []
        self._obstacles = Obstacles()
        self.statements = UndoStatements(self._obstacles)
        self.sizes = sizes
        self._rows: UndoRows | None = None
        self._format: FormatDescription | None = None
        self._begin: Begin | None = None
        self._number = -1
        self._with_rows = False
        self._untold = UntoldTables()
        self._typed = TypedDocuments()

    def render(self, changes: ChangeBatch, file: BinlogFile) -> list[Changes]:
        if self._rows is None or self._rows.dialect != SqlDialect.of(file.format):
            self._rows = UndoRows(
                SqlDialect.of(file.format),
                self._obstacles,
                self._check,
                self._cascades,
                self._again,
                self._databases,
            )
        self._untold.take(changes.table.resolved)
        self._typed.take(changes)
        return self._rows(changes, file)

    def take(self, item: object) -> None:
        if isinstance(item, Begin):
            self._take_begin(item)
        elif isinstance(item, RowTexts):
            self._take_rows(item)
        elif isinstance(item, Statement):
            assert self._begin is not None
            facts = self._begin.facts
            self.statements.take(item, self._number, facts["file"], facts["start"])
        else:
            self._take_end()

    def copy_out(self, output: Sink) -> UndoReport:
        undone: set[int] = set()
        for piece in gathered(self._script(undone)):
            output.write(piece)
        nothing = self._number + 1 - len(undone)
        warnings = (
            *self._untold.warnings(),
            *self._typed.warnings(),
            *self.sizes.warnings,
            *self.warnings,
        )
        unknown = tuple(self.restored.unknown)
        return UndoReport(undone=len(undone), nothing=nothing, warnings=warnings, unknown=unknown)

    def _script(self, undone: set[int]) -> Iterator[bytes | memoryview]:
        """The script in pieces; the numbers of the transactions that it undoes are put into a set."""
        if self._format is None:
            return
        session = SqlSession(self._format)
        yield self._head(session).encode()
        rows, last = 0, -1
        for transaction, mark, count, pieces in self._spool.backwards():
            if transaction in self.statements.void:
                continue
            undone.add(transaction)
            if last not in {-1, transaction}:
                yield from self._restored_with(last, session)
            last = transaction
            if rows + count > ROWS_BEFORE_KEYS:
                yield self._check.print_keys().encode()
                rows = 0
            rows += count
            if mark != NO_MARK:
                yield session.for_rows(mark).encode()
            yield from pieces
        if last != -1:
            yield from self._restored_with(last, session)
        yield self._check.end().encode()

    def _restored_with(self, transaction: int, session: SqlSession) -> Iterator[bytes]:
        """The rows that went with those that a transaction's undoing has brought back."""
        texts = self.restored.texts.get(self._versions[transaction])
        if texts:
            yield b"-- rows that foreign keys deleted or changed, which the log does not have:\n"
            yield session.for_rows(0).encode()
            yield from texts

    def _head(self, session: SqlSession) -> str:
        mariadb = self._format is not None and self._format.flavour is Flavour.MARIADB
        server, client = ("MariaDB", "mariadb") if mariadb else ("MySQL", "mysql")
        return (
            f"-- Undoes transactions from binary logs of {server}, newest first, written by binx.\n"
            f"-- To run it: {client} --binary-mode --default-character-set=utf8mb4 < THIS_FILE\n"
            f"{self._check.head()}"
            f"{''.join(f'-- {comment_text(line)}.{chr(10)}' for line in self.warnings)}"
            f"{''.join(f'-- {comment_text(line)}.{chr(10)}' for line in self.restored.unknown)}"
            f"{f'-- {PARTIAL}' + chr(10) if self._partial else ''}"
            f"{session.start()}{self._check.start()}"
        )

    def _take_begin(self, begin: Begin) -> None:
        if self._format is None:
            self._format = begin.file.format
        refuse_other_flavour(self._format.flavour, begin)
        self._begin, self._with_rows = begin, False
        self._number += 1
        self._versions.append(begin.version)
        if self._again is not None:
            self._again.take_transaction(begin.version)

    @property
    def _transaction(self) -> str:
        assert self._begin is not None
        transaction: str = self._begin.facts["transaction"]
        return transaction

    def _take_rows(self, rows: RowTexts) -> None:
        assert self._begin is not None
        if not self._with_rows:
            self._with_rows = True
            if self._begin.facts["kind"] == "rollback":
                self._obstacles.add(
                    "transactions that ended in ROLLBACK: which of their changes persist is unknown",
                    [self._transaction],
                )
        # The texts stand newest first, and what is added last is written first.
        last = rows.last
        while last > rows.first:
            first = rows.first + (last - rows.first - 1) // ROWS_BEFORE_KEYS * ROWS_BEFORE_KEYS
            self._spool.add(rows.piece.text(first, last), self._number, rows.mark, last - first)
            last = first

    def _take_end(self) -> None:
        begin = self._begin
        assert begin is not None
        if not self._with_rows:
            return
        facts = begin.facts
        remark = (
            f"undoes {comment_text(facts['transaction'])}, {comment_text(facts['file'])}"
            f" {facts['start']}-{facts['end']}, committed {format_time(facts['commit_timestamp'])}"
        )
        self._spool.add([f"\n-- {remark}\n".encode()], self._number)
