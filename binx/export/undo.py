"""``extract --format sql --reverse``: SQL that takes transactions back, the newest first.

Each transaction is undone by one of its own, its row changes from the last to the first. Nothing is written
unless everything can be undone: statements in between (DDL, statement-based changes), images that lack what
was there before, and XA transactions whose end is not known are reported together, and refused.

The log is read forwards and its undoing is wanted backwards. What undoes a piece of it, newest change first,
goes to a temporary file as it comes; in the end the pieces are copied out from the last to the first. So
memory does not grow with the log, and the temporary folder needs as much space as the output.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Self

from binx.errors import OutputError, RefusedError
from binx.event.format import Flavour
from binx.export.changes import Begin, RowTexts, Selected, ordered_changes
from binx.export.output import Sink
from binx.export.pieces import Changes
from binx.export.sql_refusals import refuse_other_flavour
from binx.export.sql_script import comment_text
from binx.export.sql_session import SqlSession
from binx.export.sql_sizes import StatementSizes
from binx.export.sql_tables import SqlDialect, UntoldTables
from binx.export.sql_undo import Obstacles, UndoRows
from binx.log.file import BinlogFile
from binx.log.moments import format_time
from binx.rows.batches import ChangeBatch
from binx.rows.catalog import Catalog
from binx.rows.statements import Statement

PIECE_BYTES = 1024 * 1024
"""How much is copied at once."""

_RECORD = struct.Struct("<qqqq")
_RECORDS_AT_ONCE = 4096
_NO_MARK = -1
_MARKERS = ("SAVEPOINT ", "ROLLBACK TO ", "RELEASE SAVEPOINT ", "XA START ", "XA END ")


@dataclass(frozen=True, slots=True)
class UndoReport:
    """What became of a request.

    Attributes:
        undone: transactions that the script takes back.
        nothing: transactions that changed no row that is still changed.
        warnings: about the length of statements, and about tables, in sentences.
    """

    undone: int
    nothing: int
    warnings: tuple[str, ...] = ()


class _Spool:
    """Texts in a temporary file, to be read from the last to the first."""

    def __init__(self) -> None:
        self._texts: BinaryIO = tempfile.TemporaryFile(prefix="binx-")  # noqa: SIM115
        self._records: BinaryIO = tempfile.TemporaryFile(prefix="binx-")  # noqa: SIM115
        self._end = 0
        self._window = memoryview(b"")
        self._window_start = 0
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._texts.close()
        self._records.close()

    def add(self, text: Iterable[bytes], transaction: int, mark: int = _NO_MARK) -> None:
        """Put a text, given in chunks, behind the others.

        Raises:
            OutputError: the temporary folder has no space.
        """
        size = 0
        try:
            for chunk in text:
                self._texts.write(chunk)
                size += len(chunk)
            self._records.write(_RECORD.pack(self._end, size, transaction, mark))
        except OSError as error:
            raise OutputError(
                f"cannot write temporary files to {tempfile.gettempdir()}: {error.strerror}; set TMPDIR"
                " to a folder with more space"
            ) from error
        self._end += size
        self.count += 1

    def backwards(self) -> Iterator[tuple[int, int, Iterator[bytes | memoryview]]]:
        """Transaction, mark and the text in pieces, from the last to the first."""
        last = self.count
        while last:
            first = max(0, last - _RECORDS_AT_ONCE)
            self._records.seek(first * _RECORD.size)
            block = self._records.read((last - first) * _RECORD.size)
            for offset, size, transaction, mark in reversed(list(_RECORD.iter_unpack(block))):
                yield transaction, mark, self._text(offset, size)
            last = first

    def _text(self, offset: int, size: int) -> Iterator[bytes | memoryview]:
        """A text in pieces; short ones come out of a window that ends with the first of them."""
        if size <= PIECE_BYTES:
            begin = offset - self._window_start
            if not 0 <= begin <= len(self._window) - size:
                self._window_start = max(0, offset + size - PIECE_BYTES)
                self._texts.seek(self._window_start)
                self._window = memoryview(self._texts.read(offset + size - self._window_start))
                begin = offset - self._window_start
            yield self._window[begin : begin + size]
            return
        self._texts.seek(offset)
        while size:
            piece = self._texts.read(min(size, PIECE_BYTES))
            size -= len(piece)
            yield piece


def _together(pieces: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """Many short pieces as few longer ones: a call of the system for each would take longer than they do."""
    held: list[bytes | memoryview] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= PIECE_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


@dataclass(slots=True)
class _XaTransactions:
    """Prepared transactions whose end is still to come, and numbers of those that were rolled back.

    Attributes:
        prepared: number and id of the transaction, by XA name.
        void: numbers of transactions that were rolled back in the end.
    """

    prepared: dict[str, tuple[int, str]] = field(default_factory=dict)
    void: set[int] = field(default_factory=set)


def write_undo(
    selected: Iterable[Selected], output: Sink, catalog: Catalog, *, by_key: bool = False
) -> UndoReport:
    """Write what undoes transactions.

    Args:
        selected: the transactions, in the order of the log.
        output: where to; see :func:`~binx.export.output.open_output`.
        catalog: the tables known beforehand; moved on by the schema statements met.
        by_key: find rows by their keys alone, and not by all their columns.

    Raises:
        RefusedError: something cannot be undone; its message lists all of it, and nothing was written.
        DamagedError, UnsupportedError: a transaction cannot be decoded.
        OutputError: the output, or the temporary folder, cannot be written.
    """
    with _Spool() as spool:
        undoing = _Undoing(spool, by_key=by_key)
        items = ordered_changes(
            selected,
            catalog,
            undoing.render,
            raw_text=True,
            exact_members=True,
            backwards=True,
            sizes=undoing.sizes,
        )
        for item in items:
            undoing.take(item)
        undoing.finish()
        return undoing.copy_out(output)


class _Undoing:
    """One request: the log goes in forwards, the script comes out backwards.

    Attributes:
        sizes: measures the statements.
    """

    def __init__(self, spool: _Spool, *, by_key: bool) -> None:
        self._spool = spool
        self._by_key = by_key
        self._obstacles = Obstacles()
        self.sizes = StatementSizes()
        self._rows: UndoRows | None = None
        self._flavour: Flavour | None = None
        self._begin: Begin | None = None
        self._number = -1
        self._with_rows = False
        self._xa = _XaTransactions()
        self._untold = UntoldTables()

    def render(self, changes: ChangeBatch, file: BinlogFile) -> list[Changes]:
        """Row changes as the statements that undo them."""
        if self._rows is None or self._rows.dialect != SqlDialect.of(file.format):
            self._rows = UndoRows(SqlDialect.of(file.format), self._obstacles, by_key=self._by_key)
        self._untold.take(changes.table.resolved)
        return self._rows(changes, file)

    def take(self, item: object) -> None:
        """Take one item of the log.

        Raises:
            RefusedError: the logs are those of different kinds of servers.
            OutputError: see :class:`_Spool`.
        """
        if isinstance(item, Begin):
            self._take_begin(item)
        elif isinstance(item, RowTexts):
            self._take_rows(item)
        elif isinstance(item, Statement):
            self._take_statement(item)
        else:
            self._take_end()

    def finish(self) -> None:
        """Report what cannot be undone.

        Raises:
            RefusedError: there is something.
        """
        for xid, (_, transaction) in self._xa.prepared.items():
            self._obstacles.add(
                f"XA transaction {comment_text(xid)}: whether it was committed", [transaction]
            )
        if self._obstacles:
            reasons = "".join(f"\n  {comment_text(line)}" for line in self._obstacles.lines())
            raise RefusedError(
                "some changes cannot be undone; nothing was written. Choose other transactions, or"
                f" leave these out with --exclude-gtid:{reasons}"
            )

    def copy_out(self, output: Sink) -> UndoReport:
        """Write the script."""
        undone: set[int] = set()
        for piece in _together(self._script(undone)):
            output.write(piece)
        nothing = self._number + 1 - len(undone)
        warnings = (*self._untold.warnings(), *self.sizes.warnings)
        return UndoReport(undone=len(undone), nothing=nothing, warnings=warnings)

    def _script(self, undone: set[int]) -> Iterator[bytes | memoryview]:
        """The script in pieces; the numbers of the transactions that it undoes are put into a set."""
        session = SqlSession(self._flavour or Flavour.MYSQL)
        yield self._head(session).encode()
        for transaction, mark, pieces in self._spool.backwards():
            if transaction in self._xa.void:
                continue
            undone.add(transaction)
            if mark != _NO_MARK:
                yield session.for_rows(mark).encode()
            yield from pieces

    def _head(self, session: SqlSession) -> str:
        server, client = ("MariaDB", "mariadb") if self._flavour is Flavour.MARIADB else ("MySQL", "mysql")
        rows = "their key" if self._by_key else "all their columns, so rows changed since then are left alone"
        return (
            f"-- Undoes transactions from binary logs of {server}, newest first, written by binx.\n"
            f"-- To run it: {client} --binary-mode --default-character-set=utf8mb4 < THIS_FILE\n"
            f"-- Rows are matched by {rows}. Triggers fire. Rows deleted or changed\n"
            "-- by foreign keys are restored only if the log has them.\n" + session.start()
        )

    def _take_begin(self, begin: Begin) -> None:
        if self._flavour is None:
            self._flavour = begin.file.format.flavour
        refuse_other_flavour(self._flavour, begin)
        self._begin, self._with_rows = begin, False
        self._number += 1

    @property
    def _transaction(self) -> str:
        assert self._begin is not None
        transaction: str = self._begin.facts["transaction"]
        return transaction

    def _take_rows(self, rows: RowTexts) -> None:
        assert self._begin is not None
        if not self._with_rows:
            self._with_rows = True
            self._spool.add([b"COMMIT;\n"], self._number)
            if self._begin.facts["kind"] == "rollback":
                self._obstacles.add(
                    "transactions that ended in ROLLBACK: which of their changes persist is unknown",
                    [self._transaction],
                )
        self._spool.add(rows.text(), self._number, rows.mark)

    def _take_statement(self, statement: Statement) -> None:
        sql = statement.sql
        if statement.kind != "other":
            what = "a statement" if statement.kind == "ddl" else "a change logged as a statement"
            self._obstacles.add(f"{what}, “{_shortened(sql)}”", [statement.transaction])
        elif sql.startswith("XA PREPARE "):
            self._xa.prepared[sql.removeprefix("XA PREPARE ")] = (self._number, statement.transaction)
        elif sql.startswith(("XA COMMIT ", "XA ROLLBACK ")):
            self._end_xa(sql, statement.transaction)
        elif not sql.upper().startswith(_MARKERS):
            self._obstacles.add(f"“{_shortened(sql)}”", [statement.transaction])

    def _end_xa(self, sql: str, transaction: str) -> None:
        _, outcome, xid = sql.split(" ", 2)
        prepared = self._xa.prepared.pop(xid, None)
        if outcome == "ROLLBACK":
            if prepared is not None:
                self._xa.void.add(prepared[0])
        elif prepared is None:
            self._obstacles.add(
                f"XA transaction {comment_text(xid)}: its changes are in the transaction that prepared"
                " it, which is not selected",
                [transaction],
            )

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
        self._spool.add([f"\n-- {remark}\nBEGIN;\n".encode()], self._number)


def _shortened(sql: str) -> str:
    line = " ".join(sql.split())
    return line if len(line) <= 60 else line[:57] + "…"


__all__ = ["UndoReport", "write_undo"]
