"""Row changes and statements of selected transactions as text, in log order and bounded memory.

The decoder fills columns table by table, which loses the order of rows across tables. Here all tables are
taken from it together, in pieces: a piece holds every row between two positions of the log, and a kernel
writes the rows of all tables by commit version and row number. Facts about the transactions come from the
transaction index. Ordinary transactions, which consist of row changes only, are framed by a kernel in bulk.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from binx.log.binlog_file import BinlogFile
from binx.log.index.transactions import index_batch
from binx.rows.batches import ChangeBatch
from binx.rows.columns.types import ArrowOptions
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import DecoderOptions
from binx.rows.logged_statements import Statement
from binx.rows.reading import Reading, every_table
from binx.slices.items import Begin, End, Frames, Item, RowTexts, Run, WholeTexts
from binx.slices.rendering import MergedChanges, Renderer, StatementSizes
from binx.slices.row_choice import RowChoice
from binx.slices.search import Selected

PIECE_ROWS = 32_768
"""A piece ends when a table has this many rows."""

PIECE_BYTES = 16 * 1024 * 1024
"""A piece ends when the tables together have this many decoded bytes."""

PIECE_TABLES = 16_384
"""A piece ends when this many tables have rows."""

_FACTS_READ = 1024
"""Number of transactions whose facts are read at a time."""


class _Facts:
    """Facts about transactions, read for some of them at a time."""

    def __init__(self, part: Selected, indexes: array[int], facts: Sequence[str] | None) -> None:
        self._part = part
        self._indexes = indexes
        self._facts = facts
        self._batch: pa.Table | None = None
        self._first = 0
        self._read: list[dict[str, Any]] = []

    def at(self, index: int) -> dict[str, Any]:
        """Return the facts about the transaction at an index of those selected; times in µs since 1970."""
        if not self._first <= index < self._first + len(self._read):
            if self._batch is None:
                self._batch = self._columns()
            indexes = self._indexes[index : index + _FACTS_READ]
            rows = pa.Array.from_buffers(pa.int64(), len(indexes), [None, pa.py_buffer(indexes)])
            self._first, self._read = index, self._batch.take(rows).to_pylist()
        return self._read[index - self._first]

    def _columns(self) -> pa.Table:
        part = self._part
        batch = index_batch(part.file, part.scan, part.table, epoch=part.epoch, first_seqno=part.first_seqno)
        names = batch.schema.names if self._facts is None else ["commit_version", *self._facts]
        return pa.table({name: _plain(batch.column(name)) for name in names})


def _plain(column: pa.Array) -> pa.Array:
    return column.cast(pa.timestamp("us")).cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def reading_in_pieces(
    catalog: Catalog,
    *,
    choice: RowChoice | None = None,
    raw_text: bool = False,
    exact_values: bool = False,
    undone: bool = False,
    as_stored: bool = False,
    resolve_only: bool = False,
    unreadable: set[tuple[str, str]] | None = None,
    keeps: bool = False,
) -> Reading:
    """Return a reading for :func:`ordered_changes`, in pieces of bounded memory.

    Args:
        catalog: the tables known so far; updated by the schema statements in the logs.
        choice: selects row changes and statements; None for all.
        raw_text: leave text in the columns' own character sets.
        exact_values: leave ENUM and SET as numbers if member names are ambiguous, and return JSON documents
            as SQL expressions if their text loses the types of values.
        undone: include rows that their transaction undid itself, by the ROLLBACK TO SAVEPOINT that is yielded
            too; never with a choice.
        as_stored: take columns as table maps describe them, and text as its bytes; see
            :class:`~binx.rows.decoder.DecoderOptions`.
        resolve_only: skip the rows, and only resolve names and schemas.
        unreadable: see :class:`~binx.rows.decoder.ChangeDecoder`.
        keeps: see :class:`~binx.rows.reading.Reading`.
    """
    options = DecoderOptions(
        row_group_rows=PIECE_ROWS,
        memory=PIECE_BYTES,
        tables=PIECE_TABLES,
        arrow=ArrowOptions(raw_text=raw_text or as_stored, exact_values=exact_values),
        markers=True,
        undone=undone and choice is None,
        as_stored=as_stored,
    )
    wanted = every_table if choice is None else choice.takes_table
    return Reading(catalog, wanted, options, resolve_only=resolve_only, unreadable=unreadable, keeps=keeps)


def ordered_changes(
    selected: Iterable[Selected],
    reading: Reading,
    render: Renderer,
    *,
    backwards: bool = False,
    facts: Sequence[str] | None = None,
    separator: bytes = b"",
    frames: Frames | None = None,
    sizes: StatementSizes | None = None,
    choice: RowChoice | None = None,
) -> Iterator[Item]:
    """Yield everything that the selected transactions hold, in log order.

    Args:
        reading: from :func:`reading_in_pieces`.
        render: makes the text of row changes.
        backwards: order the row changes within each :class:`RowTexts` newest first.
        facts: the facts about transactions to read; None for all.
        separator: written between two row changes of one transaction.
        frames: frames ordinary transactions, which are then yielded as :class:`WholeTexts`.
        sizes: measures the texts of row changes.
        choice: selects row changes and statements, as for the reading; None for all.

    Raises:
        DamagedError, UnsupportedError: a transaction cannot be decoded.
    """
    if choice is not None:
        render, frames = choice.rendered_by(render), None
    for part in selected:
        decoder = reading.of(part.file, part.payloads)

        def piece(
            batches: Iterable[ChangeBatch], last_version: int, file: BinlogFile = part.file
        ) -> MergedChanges:
            return MergedChanges(
                chain.from_iterable(render(batch, file) for batch in batches),
                backwards=backwards,
                separator=separator,
                last_version=last_version,
                statement_bytes=0 if sizes is None else sizes.statement_bytes,
            )

        walk = _Walk(part, facts, frames, piece, sizes)
        for item in reading.items(part.file, part.table, part.mask, after_damage=part.behind_damage):
            if isinstance(item, ChangeBatch):
                yield from walk.emit(chain((item,), decoder.flush()))
            elif choice is None or choice.takes_statement(item):
                walk.wait(item, decoder.row_number)
                # Whoever meets a definition must not have tables in hand that are defined after it.
                if item.context is not None or walk.waits_long:
                    yield from walk.emit(decoder.flush())
        yield from walk.emit(decoder.flush(), final=True)
        yield from walk.up_to(None)


class _Walk:
    """Walks the selected transactions of a transaction table, beginning and ending them as changes come."""

    def __init__(
        self,
        part: Selected,
        facts: Sequence[str] | None,
        frames: Frames | None,
        make_piece: Callable[[Iterable[ChangeBatch], int], MergedChanges],
        sizes: StatementSizes | None,
    ) -> None:
        self._part = part
        self._frames = frames
        self._make_piece = make_piece
        self._sizes = sizes
        self._taken = part.table.marked(part.mask)
        self._next = 0
        self._facts = _Facts(part, self._taken, facts)
        self._current: Begin | None = None
        self._last_version = -1
        self._waiting: deque[tuple[Statement, int]] = deque()
        self._waiting_bytes = 0

    def wait(self, statement: Statement, row_number: int) -> None:
        """Keep a statement for the piece that holds its transaction's next row changes.

        Args:
            row_number: the number of row changes in its transaction before it.
        """
        self._waiting.append((statement, row_number))
        self._waiting_bytes += len(statement.sql)

    @property
    def waits_long(self) -> bool:
        """Whether so many statements wait that a piece must end."""
        return self._waiting_bytes > PIECE_BYTES or len(self._waiting) > PIECE_ROWS

    def _statement(self) -> Iterator[Begin | End | Statement]:
        """Yield the first of the waiting statements."""
        statement, _ = self._waiting.popleft()
        self._waiting_bytes -= len(statement.sql)
        yield from self.up_to(statement.commit_version)
        yield statement

    def up_to(self, version: int | None) -> Iterator[Begin | End]:
        """Begin and end transactions until the one with this version is open; with None, all the others."""
        if self._current is not None:
            if self._current.version == version:
                return
            yield from self._end()
        while self._next < len(self._taken):
            head = Begin(self._part, self._taken[self._next], self._facts.at(self._next))
            self._next += 1
            yield head
            if head.version == version:
                self._current = head
                return
            yield End()

    def _end(self) -> Iterator[End]:
        self._current = None
        yield End()

    def emit(self, batches: Iterator[ChangeBatch], *, final: bool = False) -> Iterator[Item]:
        """Yield the row changes of one piece, and the waiting statements; a final piece is the last one.

        Batches are taken one at a time, and whatever the texts do not need is released before the next: a
        piece may contain thousands of tables.
        """
        first = next(batches, None)
        if first is not None:
            every = chain((first,), batches)
            del first
            yield from self._changes(self._make_piece(every, self._last_version), final=final)
        while self._waiting:
            yield from self._statement()

    def _changes(self, piece: MergedChanges, *, final: bool) -> Iterator[Item]:
        """Yield the changes of a piece, and the waiting statements before them."""
        run, runs = 0, len(piece.ends)
        # The last transaction may continue after the piece.
        stop = runs if final else runs - 1
        while run < runs:
            version = piece.versions[run]
            while self._waiting and self._waiting[0][0].commit_version < version:
                yield from self._statement()
            if self._current is not None and self._current.version != version:
                yield from self._end()
            frame = None
            if self._current is None and self._frames is not None:
                ordinary = stop
                if self._waiting:
                    ordinary = bisect_left(piece.versions, self._waiting[0][0].commit_version, run, stop)
                if run < ordinary:
                    frame = self._frames(Run(self._part, self._taken, self._next, piece, run, ordinary))
            if frame is not None:
                count = frame.transactions
                yield WholeTexts(count, piece.framed(run, run + count, *frame[1:]))
                self._next += count
                run += count
                continue
            yield from self.up_to(version)
            yield from self._run(piece, run)
            run += 1
        self._last_version = piece.last_version
        if self._sizes is not None:
            self._sizes.take(piece.long_texts, piece.longest)

    def _run(self, piece: MergedChanges, run: int) -> Iterator[Item]:
        """Yield a run of changes, divided where waiting statements stand between two of them."""
        version, mark = piece.versions[run], piece.marks[run]
        first, last = piece.ends[run - 1] if run else 0, piece.ends[run]
        while self._waiting and self._waiting[0][0].commit_version == version:
            cut = piece.cut(first, last, self._waiting[0][1])
            older, newer = ((cut, last), (first, cut)) if piece.backwards else ((first, cut), (cut, last))
            if newer[0] == newer[1]:
                break
            if older[0] < older[1]:
                yield RowTexts(piece, *older, mark)
            yield from self._statement()
            first, last = newer
        yield RowTexts(piece, first, last, mark)
