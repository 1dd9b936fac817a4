"""``extract --format sql --reverse``: SQL that undoes transactions, newest first.

The row changes are undone from the last to the first, in one transaction that checks itself
(:mod:`binx.undo.self_check`). Nothing is written unless everything can be undone: statements in between
(DDL, statement-based changes), images that lack the previous values, and XA transactions with unknown outcome
are reported together and refused.

The log is read forwards, but must be undone backwards. The statements that undo a piece of it, newest change
first, are appended to a temporary file; finally the pieces are copied from the last to the first. Memory
therefore does not grow with the log, and the temporary folder needs as much space as the output.

The logs are read up to four times: for the undone changes; if foreign keys deleted or changed rows, twice for
a data set that tells what these were; and for rows that other transactions changed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from binx.event.format import Flavour, FormatDescription
from binx.event.rows_events import UNMAPPED_ROWS
from binx.log.binlog_file import BinlogFile
from binx.log.scanning import OnDamage
from binx.log.selection.times import format_time
from binx.rows.change_groups import ChangePlace
from binx.rows.ddl.catalog import Catalog
from binx.rows.logged_statements import Statement
from binx.slices.changes import ordered_changes, reading_in_pieces
from binx.slices.items import Begin, Item, RowTexts
from binx.slices.renaming import SAME_NAMES, DatabaseNames
from binx.slices.rendering import STATEMENT_BYTES, StatementSizes, gathered
from binx.slices.row_choice import RowChoice
from binx.slices.search import Selected
from binx.slices.sql.refusals import refuse_other_flavour
from binx.slices.sql.transaction_script import PARTIAL
from binx.sql.dialect import SqlDialect
from binx.sql.literals import comment_text
from binx.sql.session_settings import SqlSession
from binx.storage.output import Sink
from binx.undo.child_rows import ChildRows, LostParents, RestoredRows
from binx.undo.names_today import NamesToday
from binx.undo.obstacles import UndoStatements
from binx.undo.options import OnConflict
from binx.undo.passes import without_rolled_back
from binx.undo.self_check import ROWS_BEFORE_KEYS, UndoCheck
from binx.undo.spool import NO_MARK, ReverseSpool
from binx.undo.undo_rows import UndoRows


@dataclass(frozen=True, slots=True)
class UndoReport:
    """The result of writing an undo script.

    Attributes:
        unknown: one sentence for each group of rows that foreign keys deleted or changed and that are not
            restored.
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
    every: Callable[[], Iterable[Selected]] = tuple,
    logs: Sequence[BinlogFile] = (),
    on_damage: OnDamage = OnDamage.STOP,
    choice: RowChoice | None = None,
    databases: DatabaseNames = SAME_NAMES,
) -> UndoReport:
    """Write SQL that undoes transactions.

    Args:
        every: returns all transactions of the logs, for rows that were changed again.
        logs: the logs, for rows that foreign keys deleted or changed.

    Raises:
        RefusedError: something cannot be undone; the message lists everything, and nothing was written.
        DamagedError, UnsupportedError: a transaction cannot be decoded.
        OutputError: the output or the temporary folder cannot be written.
    """
    known = catalog.copy()
    with ReverseSpool() as spool:
        today = NamesToday(logs, known)
        rows = UndoRows(UndoCheck(on_conflict), LostParents(catalog), today, databases)
        sizes = StatementSizes(statement_bytes)
        undoing = _Undoing(spool, rows, sizes, [log.path for log in logs], partial=choice is not None)
        reading = reading_in_pieces(catalog, choice=choice, raw_text=True, exact_values=True)
        for item in ordered_changes(
            selected,
            reading,
            rows,
            backwards=True,
            sizes=sizes,
            choice=choice,
        ):
            undoing.take(item)
        if reading.unmapped:
            rows.obstacles.add(UNMAPPED_ROWS, ["the selected transactions"], reading.unmapped)
        undoing.finish(without_rolled_back(every), known, today)
        undoing.restore(ChildRows(rows.parents, logs, known, today, databases, on_damage), today)
        return undoing.copy_out(output)


class _Undoing:
    def __init__(
        self,
        spool: ReverseSpool,
        rows: UndoRows,
        sizes: StatementSizes,
        logs: Sequence[str],
        *,
        partial: bool,
    ) -> None:
        self._spool = spool
        self._rows = rows
        self._sizes = sizes
        self._check = rows.check
        self._partial = partial
        self._restored = RestoredRows()
        self._versions: list[int] = []
        self._places: dict[int, ChangePlace] = {}
        self._warnings: list[str] = []
        self._lost: list[str] = []
        self._statements = UndoStatements(rows.obstacles, logs)
        self._format: FormatDescription | None = None
        self._begin: Begin | None = None
        self._with_rows = False

    @property
    def _number(self) -> int:
        """The number of the current transaction, among those that are undone."""
        return len(self._versions) - 1

    def take(self, item: Item) -> None:
        if isinstance(item, Begin):
            self._format = self._format or item.file.format
            refuse_other_flavour(self._format.flavour, item)
            self._begin, self._with_rows = item, False
            self._versions.append(item.version)
            self._rows.again.take_transaction(item.version)
            return
        assert self._begin is not None
        facts = self._begin.facts
        if isinstance(item, RowTexts):
            if facts["kind"] == "rollback" and not self._with_rows:
                self._rows.obstacles.add(
                    "transactions that ended in ROLLBACK: which of their changes persist is unknown",
                    [facts["transaction"]],
                )
            self._with_rows = True
            self._spool_rows(item)
        elif isinstance(item, Statement):
            self._statements.take(item, self._number, facts["file"], facts["start"])
        elif self._with_rows:
            remark = (
                f"undoes {comment_text(facts['transaction'])}, {comment_text(facts['file'])}"
                f" {facts['start']}-{facts['end']}, committed {format_time(facts['commit_timestamp'])}"
            )
            self._spool.add([f"\n-- {remark}\n".encode()], self._number)

    def _spool_rows(self, rows: RowTexts) -> None:
        """Append the texts, which are newest first; what is appended last is written first.

        A text ends after each change that rows are restored with, and these will stand there.
        """
        assert self._begin is not None
        version, number_at = self._begin.version, rows.piece.number_at
        numbers = range(number_at(rows.last - 1), number_at(rows.first) + 1)
        places = {
            rows.piece.cut(rows.first, rows.last, row): row
            for row in self._rows.parents.places(version)
            if row in numbers
        }
        last = rows.last
        for first in sorted({*range(rows.first, last, ROWS_BEFORE_KEYS), *places} - {last}, reverse=True):
            if last in places:
                self._places[self._spool.count] = ChangePlace(version, places[last])
            self._spool.add(rows.piece.text(first, last), self._number, rows.mark, last - first)
            last = first

    def finish(self, every: Callable[[], Iterable[Selected]], known: Catalog, today: NamesToday) -> None:
        self._statements.finish()
        self._warnings += self._rows.again.warnings(every(), known.copy(), today)

    def restore(self, children: ChildRows, today: NamesToday) -> None:
        if self._rows.parents.count:
            assert self._format is not None
            rolled_back = [self._versions[number] for number in self._statements.void]
            dialect = SqlDialect.of(self._format)
            self._restored = children.restored(self._check, dialect, rolled_back, partial=self._partial)
        self._lost = today.losses

    def copy_out(self, output: Sink) -> UndoReport:
        undone: set[int] = set()
        for chunk in gathered(self._script(undone)):
            output.write(chunk)
        return UndoReport(
            undone=len(undone),
            nothing=len(self._versions) - len(undone),
            warnings=(*self._rows.warnings.sentences(), *self._sizes.warnings, *self._warnings),
            unknown=(*self._lost, *self._restored.unknown),
        )

    def _script(self, undone: set[int]) -> Iterator[bytes | memoryview]:
        """Yield the script in chunks; add the numbers of the transactions that it undoes to a set."""
        if self._format is None:
            return
        session = SqlSession(self._format)
        yield self._head(session, self._format.flavour).encode()
        rows, index = 0, self._spool.count
        for transaction, mark, count, text in self._spool.backwards():
            index -= 1
            if transaction in self._statements.void:
                continue
            undone.add(transaction)
            if rows + count > ROWS_BEFORE_KEYS:
                yield self._check.print_keys().encode()
                rows = 0
            rows += count
            if mark != NO_MARK:
                yield session.for_rows(mark).encode()
            yield from text
            if index in self._places:
                yield from self._restored_at(self._places[index], session)
        yield self._check.end().encode()

    def _restored_at(self, place: ChangePlace, session: SqlSession) -> Iterator[bytes]:
        """Restore the rows that foreign keys changed along with those of a change."""
        texts = self._restored.texts.get(place)
        if texts:
            yield b"-- rows that foreign keys deleted or changed, which the log does not have:\n"
            for mark, text in texts:
                yield session.for_rows(mark).encode()
                yield text

    def _head(self, session: SqlSession, flavour: Flavour) -> str:
        server, client = ("MariaDB", "mariadb") if flavour is Flavour.MARIADB else ("MySQL", "mysql")
        remarks = [
            f"{comment_text(line)}." for line in (*self._warnings, *self._lost, *self._restored.unknown)
        ]
        if self._partial:
            remarks.append(PARTIAL)
        return (
            f"-- Undoes transactions from binary logs of {server}, newest first, written by binx.\n"
            f"-- To run it: {client} --binary-mode --default-character-set=utf8mb4 < THIS_FILE\n"
            f"{self._check.head()}"
            f"{''.join(f'-- {remark}{chr(10)}' for remark in remarks)}"
            f"{session.start()}{self._check.start()}"
        )
