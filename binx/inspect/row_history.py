"""The history of one row: who changed it, when, and from what to what.

A row is identified by its primary key. If an update changes the key, the history continues under the new key,
and later changes of a row with the old key are listed too. A condition can select changes instead of a key.

Statements on the row's table are listed between its changes: those that create, empty, rename or drop the
table, and changes logged as statements, for which the log does not show which rows they changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa

from binx.errors import AbsentError, UsageError
from binx.inspect.event_details import document
from binx.inspect.followed_keys import FollowedKeys
from binx.kernels.transactions.table import FLAG_HAS_THREAD, TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.log.selection.table_filter import TableFilter
from binx.log.selection.times import format_time, in_zone
from binx.rows.batches import ChangeBatch
from binx.rows.change_groups import BatchImages, ChangePlace
from binx.rows.columns.names import ResolvedTable
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.table_statements import restored_by, table_effect
from binx.rows.decoder import DecoderOptions
from binx.rows.logged_statements import ROWS, Statement
from binx.rows.reading import Reading
from binx.slices.json_lines import JsonRows
from binx.slices.rendering import MergedChanges
from binx.slices.search import Search
from binx.source.json_text import json_text
from binx.sql.create_table import known_statement, statement_of_rows
from binx.sql.dialect import SqlDialect
from binx.sql.values import ReadableValues
from binx.where.condition import Condition
from binx.where.matching_transactions import TrackedCondition

_LINE_END = b"}\n"
_OFFSET = 0xFFFFFFFF
_OF_CHANGE = ("file", "start", "server_id", "thread_id", "sql", "moved", "uncertain", "restored_by")


@dataclass(frozen=True, slots=True)
class RowChange:
    """A change of the row, or a statement on its table.

    Attributes:
        row: the change in the form of ``extract --format json --rows``: ``transaction``, ``commit_version``,
            ``commit_timestamp``, ``db``, ``table``, ``type``, ``row``, ``before``, ``after``. For a statement
            the same up to ``type`` (see :class:`~binx.rows.ddl.table_statements.TableEffect`).
        commit_timestamp: its transaction's commit time.
        file: the log's name.
        start: offset of the transaction.
        server_id: ID of the server that first executed the change.
        thread_id: the connection; None if the log does not record it.
        sql: the text of the statement, or of the one that the change was logged with; None if the server does
            not log it.
        moved: whether the change gave the row another key.
        uncertain: whether it is a statement that may have changed the row, without images in the log.
        restored_by: for a statement that dropped or emptied the table, the command that writes its earlier
            contents.
        is_statement: whether it is a statement on the table.
        create_table: the statement that makes the table as it was at the change, or as a statement left it;
            None if the logs do not tell, the table was dropped, or nobody asked.
    """

    row: dict[str, Any]
    commit_timestamp: datetime
    file: str
    start: int
    server_id: int
    thread_id: int | None
    sql: str | None = None
    moved: bool = False
    uncertain: bool = False
    restored_by: str | None = None
    is_statement: bool = False
    create_table: str | None = None


class _WritableChange(NamedTuple):
    """A row change that can be written.

    Attributes:
        statement: number of its statement in the transaction.
    """

    piece: MergedChanges
    table: tuple[str, str]
    number: int
    statement: int
    moved: bool = False


_ChangeLine = tuple[RowChange, Iterator[bytes]]
"""A change without its row, and the row's JSON line in chunks."""


class RowLife:
    """Finds the changes of a row.

    Args:
        selection: the transactions to search; its tables must be a single table name.
        key: the primary key's values as text, in key order; empty if a condition is given.
        condition: what a change must match, before or after; None if a key is given.
        readable: write values for people; else as ``extract --format json`` does.
        definitions: whether changes have the CREATE TABLE of their moment.
        on_damage: what to do if a log is damaged; salvage also leaves out what cannot be decoded.

    Raises:
        UsageError: neither or both of key and condition are given.
    """

    def __init__(
        self,
        chain: Sequence[ChainLog],
        selection: Selection,
        *,
        key: Sequence[str] = (),
        condition: Condition | None = None,
        catalog: Catalog | None = None,
        readable: bool = False,
        definitions: bool = False,
        verify: bool = True,
        on_damage: OnDamage = OnDamage.STOP,
    ) -> None:
        if bool(key) == (condition is not None):
            raise UsageError("expected either a key (--pk VALUE) or a condition (--where)")
        self._definitions = definitions
        self._made: tuple[ResolvedTable, str | None] | None = None
        self._logs = [log.file.path for log in chain]
        self.search = Search(chain, selection, verify=verify, on_damage=on_damage)
        self.search.leave_out_undecodable(Catalog() if catalog is None else catalog, intact=True)
        self._keys = FollowedKeys(key) if key else None
        self._condition = None if condition is None else TrackedCondition(condition)
        self._catalog = Catalog() if catalog is None else catalog.copy()
        self._reading = Reading(self._catalog, self.search.selector.takes_table, DecoderOptions(texts=True))
        self._render = JsonRows(lines=True, values=ReadableValues() if readable else None, keys=readable)
        self._tables = TableFilter(selection.databases, selection.tables, selection.exclude_tables)
        self._is_table_found = False
        self._text: Statement | None = None
        """The last logged statement text; its rows come next."""

    @property
    def warnings(self) -> list[str]:
        """Warnings about versions of the table to which the condition does not apply."""
        return [] if self._condition is None else self._condition.warnings

    def __iter__(self) -> Iterator[RowChange]:
        """Yield the changes, and the statements on the table, in the order of the chain.

        Raises:
            RefusedError: the table's key is not known.
            UsageError: the number of key values is wrong, or a value is invalid for its column's type.
            AbsentError: no file has changes of the table or statements on it, or it lacks columns of the
                condition.
            DamagedError, UnsupportedError: a transaction cannot be decoded.
        """
        for change, text in self._changes():
            yield replace(change, row=document(text))

    def lines(self) -> Iterator[_ChangeLine]:
        """Yield the changes without their rows, each with its JSON line in chunks.

        Take the chunks before the next change. A line has the members of ``extract --format json --rows``,
        then ``file``, ``start`` and who made the change.
        """
        for change, text in self._changes():
            members = (*_OF_CHANGE, "create_table") if self._definitions else _OF_CHANGE
            yield change, _line({name: getattr(change, name) for name in members}, text)

    def _changes(self) -> Iterator[_ChangeLine]:
        """Yield the changes; hold back leading statements that change no row until something else follows."""
        pending: list[_ChangeLine] = []
        is_begun = False
        for change, text in self._read_changes():
            pending.append((change, text))
            is_begun = is_begun or change.uncertain or not change.is_statement
            if is_begun:
                yield from pending
                pending.clear()

    def _read_changes(self) -> Iterator[_ChangeLine]:
        for part in self.search.walk(Level.LEVEL_TABLES):
            part.table.mark_work(part.mask)
            if any(part.mask):
                yield from self._of_table(part.file, part.table, part.mask)
        if not self._is_table_found:
            selection = self.search.selector.selection
            within = "files" if selection._replace(tables=()).is_everything else "selected transactions"
            sought = self.search.selector.names
            near = [] if sought is None else sought.sentences("these files")
            raise AbsentError(
                f"no changes of {', '.join(selection.tables)} in the {within};"
                f" {'; '.join(near) or 'binx stats lists the tables'}"
            )
        if self._condition is not None:
            self._condition.check()

    def _of_table(self, file: BinlogFile, table: TransactionTable, mask: bytearray) -> Iterator[_ChangeLine]:
        decoder = self._reading.of(file)
        for item in decoder.decode(table, mask):
            batches = [item] if isinstance(item, ChangeBatch) else []
            yield from self._of_rows([*batches, *decoder.flush()], file, table)
            if isinstance(item, Statement) and item.kind == ROWS:
                self._text = item
            elif isinstance(item, Statement):
                yield from self._of_statement(item, file, table, decoder.index)
        yield from self._of_rows(list(decoder.flush()), file, table)

    def _of_statement(
        self, statement: Statement, file: BinlogFile, table: TransactionTable, index: int
    ) -> Iterator[_ChangeLine]:
        """Yield a statement if it concerns the table."""
        effect = table_effect(statement, self._tables)
        if effect is None:
            return
        self._is_table_found = True
        row = {
            "transaction": statement.transaction,
            "commit_version": statement.commit_version,
            "commit_timestamp": format_time(statement.commit_timestamp),
            "db": effect.db,
            "table": effect.table,
            "type": effect.type,
        }
        restored = restored_by(
            statement.followed, statement.db, self._logs, file.name, table.value("start", index)
        )
        made = [
            known_statement(change.definition, SqlDialect.of(table.format))
            for change in (statement.followed.changes if statement.followed and self._definitions else ())
            if change.table is not None and self._tables.takes(change.db, change.table)
        ]
        change = replace(
            _change_in(file, table, index),
            row=row,
            sql=statement.sql,
            is_statement=True,
            create_table=made[-1] if made else None,
            uncertain=effect.may_change_rows,
            restored_by=next((text for *name, text in restored if self._tables.takes(*name)), None),
        )
        yield change, iter([f"{json_text(row)}\n".encode()])

    def _of_rows(
        self, batches: list[ChangeBatch], file: BinlogFile, table: TransactionTable
    ) -> Iterator[_ChangeLine]:
        """Yield the selected changes of some batches in log order."""
        written: dict[ChangePlace, _WritableChange] = {}
        for batch in batches:
            self._is_table_found = True
            written |= self._of_batch(batch, file)
        if not written:
            return
        starts = {table.value("start", index): index for index in range(len(table))}
        text = self._text
        for place, (piece, name, number, ordinal, moved) in sorted(written.items()):
            change = _change_in(file, table, starts[place.version & _OFFSET])
            logged = text is not None and (text.commit_version, text.ordinal) == (place.version, ordinal)
            statement = text.sql if text is not None and logged else None
            made = self._made_at(place.version, name, file, SqlDialect.of(table.format))
            yield (
                replace(change, moved=moved, sql=statement, create_table=made),
                piece.text(number, number + 1),
            )

    def _made_at(
        self, version: int, name: tuple[str, str], file: BinlogFile, dialect: SqlDialect
    ) -> str | None:
        """Return the CREATE TABLE of a table whose rows a transaction changed, if it is wanted and known."""
        table = self._reading.of(file).resolved_at(version, *name) if self._definitions else None
        if table is None:
            return None
        if self._made is None or self._made[0] is not table:
            self._made = table, statement_of_rows(table, dialect)
        return self._made[1]

    def _of_batch(self, batch: ChangeBatch, file: BinlogFile) -> dict[ChangePlace, _WritableChange]:
        images = BatchImages(batch)
        if self._keys is None:
            assert self._condition is not None
            self._condition.note_table(images)
            passing = self._condition.evaluate(images) or ()
            rows = [row for group, marks in passing for row in images.rows_of(group, marks)]
            return self._rendered(batch, rows, file)
        changes: dict[ChangePlace, _WritableChange] = {}
        for touched in self._keys.touched(images):
            for place, written in self._rendered(batch, touched.rows, file).items():
                if place > touched.since:
                    changes[place] = written._replace(moved=place in touched.moved)
        return changes

    def _rendered(
        self, batch: ChangeBatch, rows: list[int], file: BinlogFile
    ) -> dict[ChangePlace, _WritableChange]:
        """Write rows of a batch in the form of ``extract --format json --rows``."""
        if not rows:
            return {}
        matching = batch.take(pa.array(sorted(rows), pa.int64()))
        piece = MergedChanges(self._render(matching, file))
        names = ("_commit_version", "_row", "_statement")
        columns = (matching.batch.column(name).to_pylist() for name in names)
        # An update has two images.
        places = {ChangePlace(version, row): number for version, row, number in zip(*columns, strict=True)}
        return {
            place: _WritableChange(piece, (batch.table.db, batch.table.name), number, statement)
            for number, (place, statement) in enumerate(places.items())
        }


def _change_in(file: BinlogFile, table: TransactionTable, index: int) -> RowChange:
    """Return a change with its transaction's facts, without the row."""
    thread = table.value("thread_id", index)
    return RowChange(
        row={},
        commit_timestamp=in_zone(table.value("commit_timestamp", index), UTC),
        file=file.name,
        start=table.value("start", index),
        server_id=table.value("server_id", index),
        thread_id=thread if table.value("flags", index) & FLAG_HAS_THREAD else None,
    )


def _line(members: Mapping[str, Any], text: Iterator[bytes]) -> Iterator[bytes]:
    """Return a change with more members as a line of JSON."""
    previous = b""
    for chunk in text:
        yield previous
        previous = chunk
    # The row's line ends in a brace and a line feed.
    yield previous.removesuffix(_LINE_END)
    yield f", {json_text(members)[1:]}\n".encode()
