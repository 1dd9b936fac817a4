"""Row changes and statements of selected transactions in the order of the log, as text, in bounded memory.

The decoder fills columns table by table, which loses how the rows of several tables follow one another. Here
all tables are taken from it together, in pieces: each piece holds every row between two places of the log,
and a kernel writes the rows of all tables by commit version and row number. The transactions around them are
facts of the transaction index; usual ones, of row changes alone, are framed by a kernel many at a time.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.render.transactions import TransactionTexts
from binx.kernels.transactions.selection import whole_transactions
from binx.kernels.transactions.table import TransactionTable
from binx.log.arrow import arrow_scalar
from binx.log.file import BinlogFile
from binx.log.identifiers import anonymous_id
from binx.log.index.transactions import index_batch
from binx.log.scanning import TransactionScan
from binx.rows.batches import ChangeBatch
from binx.rows.columns.types import ArrowOptions
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import TAKE, ChangeDecoder, DecoderOptions
from binx.rows.statements import Statement
from binx.slices.rendering import Changes, Piece
from binx.slices.search import Selected
from binx.source.wording import encoded

if TYPE_CHECKING:
    from binx.slices.options import RowChoice
    from binx.slices.sql.write import StatementSizes

PIECE_ROWS = 32_768
"""Rows of a table at which a piece ends."""

PIECE_BYTES = 16 * 1024 * 1024
"""Decoded bytes of all tables at which a piece ends."""

PIECE_TABLES = 16_384
"""Tables with rows at which a piece ends."""

_FRAMED = 4096
"""Transactions whose heads are made at once."""

_FACTS_READ = 1024
"""Transactions whose facts are made at once."""


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction begins.

    Attributes:
        facts: a row of the data set's ``transactions``; times in µs since 1970.
    """

    file: BinlogFile
    facts: dict[str, Any]
    table: TransactionTable
    index: int

    @property
    def version(self) -> int:
        """The commit version."""
        version: int = self.facts["commit_version"]
        return version


@dataclass(frozen=True, slots=True)
class RowTexts:
    """Row changes of the transaction that has begun.

    Attributes:
        mark: what the renderer noted about them all.
    """

    piece: Piece
    first: int
    last: int
    mark: int

    def text(self) -> Iterator[bytes]:
        """Their texts one behind the other, in chunks."""
        return self.piece.text(self.first, self.last)


@dataclass(frozen=True, slots=True)
class WholeTexts:
    """Whole transactions as text, with what stands around their row changes."""

    count: int
    text: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class End:
    """The transaction that has begun is complete."""


Item = Begin | RowTexts | WholeTexts | Statement | End


class Run(NamedTuple):
    """Transactions of a part, and the runs of a piece that are their row changes.

    Attributes:
        taken: the indexes of the transactions that are wanted.
        first: the place there of the transaction that comes next.
        run: the run that comes next.
        stop: the run at which to stop; a run before it has all that its transaction has from there on.
    """

    part: Selected
    taken: array[int]
    first: int
    piece: Piece
    run: int
    stop: int

    def usual(self, commits: bool = False, mark: int = 0, without_gtid: bool = True) -> int:
        """How many transactions come next that are row changes alone.

        Args:
            commits: take only those that ended in a commit of a storage engine.
            mark: take only those whose row changes all have that mark.
            without_gtid: take those without GTID, too.
        """
        piece, stop = self.piece, min(self.stop, self.run + _FRAMED)
        return whole_transactions(
            *(self.part.table, self.taken, self.first, piece.versions, piece.marks, piece.ends),
            *(self.run, stop, commits, mark, without_gtid),
        )


class Frame(NamedTuple):
    """What stands around the row changes of some transactions.

    Attributes:
        head_ends: where the text before each ends; 8 bytes each, native byte order.
    """

    transactions: int
    head_ends: bytes
    heads: bytes
    foot: bytes


Frames = Callable[[Run], Frame | None]
"""Makes what stands around as many transactions as can be written at once; None: the next is none of them."""


class Heads:
    """Makes frames of usual transactions.

    Args:
        texts: makes what stands before the row changes of each.
        shown: a file's name as heads show it.
        table: a table's database and name, as heads show them.
    """

    def __init__(
        self,
        texts: TransactionTexts,
        foot: bytes,
        shown: Callable[[str], str],
        table: Callable[[str, str], str],
    ) -> None:
        self._texts = texts
        self._foot = foot
        self._shown = shown
        self._table = table
        self._scan: TransactionScan | None = None

    def frame(self, run: Run, count: int) -> Frame | None:
        """The frame of so many transactions."""
        if not count:
            return None
        part = run.part
        if self._scan is not part.scan:
            scan = self._scan = part.scan
            self._texts.begin_file(
                encoded(self._shown(scan.file.name)),
                scan.file.commit_version(0),
                part.epoch,
                lambda number: encoded(self._table(*scan.table_name(number))),
                lambda start: anonymous_id(scan.file, start).encode(),
            )
        heads, ends = self._texts.render_taken(part.table, run.taken, run.first, count, part.first_seqno)
        return Frame(count, ends, heads, self._foot)


class _Facts:
    """Facts about transactions, made for some of them at a time."""

    def __init__(self, part: Selected, taken: array[int], facts: Sequence[str] | None) -> None:
        self._part = part
        self._taken = taken
        self._facts = facts
        self._batch: pa.Table | None = None
        self._first = 0
        self._known: list[dict[str, Any]] = []

    def at(self, place: int) -> dict[str, Any]:
        """The facts about the transaction at a place among those taken; times in µs since 1970."""
        if not self._first <= place < self._first + len(self._known):
            if self._batch is None:
                self._batch = self._columns()
            indexes = self._taken[place : place + _FACTS_READ]
            rows = pa.Array.from_buffers(pa.int64(), len(indexes), [None, pa.py_buffer(indexes)])
            self._first, self._known = place, self._batch.take(rows).to_pylist()
        return self._known[place - self._first]

    def _columns(self) -> pa.Table:
        part = self._part
        batch = index_batch(part.file, part.scan, part.table, epoch=part.epoch, first_seqno=part.first_seqno)
        names = batch.schema.names if self._facts is None else ["commit_version", *self._facts]
        return pa.table({name: _plain(batch.column(name)) for name in names})


def _plain(column: pa.Array) -> pa.Array:
    return column.cast(pa.timestamp("us")).cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def taken_indexes(mask: bytearray) -> array[int]:
    """The indexes of the transactions that a mask takes."""
    marks = pa.Array.from_buffers(pa.uint8(), len(mask), [None, pa.py_buffer(mask)])
    taken = array("q")
    places = pc.indices_nonzero(pc.equal(marks, arrow_scalar(TAKE, pa.uint8())))
    taken.frombytes(memoryview(places.buffers()[1])[: 8 * len(places)])
    return taken


Renderer = Callable[[ChangeBatch, BinlogFile], list[Changes]]


def ordered_changes(
    selected: Iterable[Selected],
    catalog: Catalog,
    render: Renderer,
    *,
    raw_text: bool = False,
    exact_values: bool = False,
    undone: bool = False,
    backwards: bool = False,
    as_stored: bool = False,
    resolve_only: bool = False,
    decoders: list[ChangeDecoder] | None = None,
    facts: Sequence[str] | None = None,
    separator: bytes = b"",
    frames: Frames | None = None,
    sizes: StatementSizes | None = None,
    unreadable: set[tuple[str, str]] | None = None,
    choice: RowChoice | None = None,
) -> Iterator[Item]:
    """Everything that the selected transactions hold, in the log's order.

    Args:
        catalog: the tables known so far; moved on by the schema statements met.
        render: says what row changes consist of as text.
        raw_text: leave text in the columns' own character sets.
        exact_values: leave ENUM and SET as numbers where texts of members do not tell these, and have JSON
            documents whose text does not tell the types of all values as expressions of SQL.
        undone: take in rows that their transaction undid itself, by the ROLLBACK TO SAVEPOINT that comes too.
        backwards: let the row changes within one :class:`RowTexts` stand last first.
        as_stored: take columns for what table maps must tell of them; see
            :class:`~binx.rows.decoder.DecoderOptions`.
        resolve_only: pass over the rows, and find out only names and schemas.
        decoders: takes in the decoders used, which know tables and warnings.
        facts: those of the facts about transactions that are looked at; None for all.
        separator: stands between two row changes of one transaction.
        frames: writes usual transactions, which then come as :class:`WholeTexts`.
        sizes: measures the texts of row changes.
        unreadable: see :class:`~binx.rows.decoder.ChangeDecoder`.
        choice: which row changes come, and which statements; None for all.

    Raises:
        DamagedError, UnsupportedError: a transaction cannot be decoded.
    """
    options = DecoderOptions(
        row_group_rows=PIECE_ROWS,
        memory=PIECE_BYTES,
        tables=PIECE_TABLES,
        arrow=ArrowOptions(raw_text=raw_text, exact_values=exact_values),
        markers=True,
        undone=undone and choice is None,
        as_stored=as_stored,
    )
    if choice is not None:
        render, frames = choice.rendered_by(render), None
    decoder: ChangeDecoder | None = None
    for part in selected:
        if decoder is None or decoder.file is not part.file:
            wanted = every_table if choice is None else choice.takes_table
            decoder = ChangeDecoder(part.file, catalog, wanted, options)
            decoder.resolve_only = resolve_only
            decoder.unreadable = unreadable
            if decoders is not None:
                decoders.append(decoder)
        if part.behind_damage:
            decoder.forget_tables()

        def piece(batches: Iterable[ChangeBatch], last_version: int, file: BinlogFile = part.file) -> Piece:
            return Piece(
                chain.from_iterable(render(batch, file) for batch in batches),
                backwards=backwards,
                separator=separator,
                last_version=last_version,
                statement_bytes=0 if sizes is None else sizes.statement_bytes,
            )

        walk = _Walk(part, facts, frames, piece, sizes)
        for item in decoder.decode(part.table, part.mask):
            if isinstance(item, ChangeBatch):
                yield from walk.emit(chain((item,), decoder.flush()))
            elif choice is None or choice.takes_statement(item):
                yield from walk.emit(decoder.flush())
                yield from walk.up_to(item.commit_version)
                yield item
        yield from walk.emit(decoder.flush(), final=True)
        yield from walk.up_to(None)


def every_table(_: str, __: str) -> bool:
    """Take each table."""
    return True


class _Walk:
    """The selected transactions of one table, begun and ended as their changes come."""

    def __init__(
        self,
        part: Selected,
        facts: Sequence[str] | None,
        frames: Frames | None,
        make_piece: Callable[[Iterable[ChangeBatch], int], Piece],
        sizes: StatementSizes | None,
    ) -> None:
        self._part = part
        self._frames = frames
        self._make_piece = make_piece
        self._sizes = sizes
        self._taken = taken_indexes(part.mask)
        self._next = 0
        self._facts = _Facts(part, self._taken, facts)
        self._current: Begin | None = None
        self._last_version = -1

    def up_to(self, version: int | None) -> Iterator[Begin | End]:
        """Begin and end transactions until the one with that version is open; None: until none is left."""
        if self._current is not None:
            if self._current.version == version:
                return
            yield from self._end()
        while self._next < len(self._taken):
            facts = self._facts.at(self._next)
            head = Begin(self._part.file, facts, self._part.table, self._taken[self._next])
            self._next += 1
            yield head
            if head.version == version:
                self._current = head
                return
            yield End()

    def _end(self) -> Iterator[End]:
        self._current = None
        yield End()

    def emit(
        self, batches: Iterator[ChangeBatch], *, final: bool = False
    ) -> Iterator[Begin | RowTexts | WholeTexts | End]:
        """The row changes of one piece; behind a final one nothing more comes.

        Batches are asked for one after another, and what a text does not need of one is let go before the
        next: a piece may be of thousands of tables.
        """
        first = next(batches, None)
        if first is None:
            return
        every = chain((first,), batches)
        del first
        piece = self._make_piece(every, self._last_version)
        run, runs = 0, len(piece.ends)
        # Of the last transaction there may be more behind the piece.
        stop = runs if final else runs - 1
        while run < runs:
            version = piece.versions[run]
            if self._current is not None and self._current.version != version:
                yield from self._end()
            frame = None
            if self._current is None and self._frames is not None and run < stop:
                frame = self._frames(Run(self._part, self._taken, self._next, piece, run, stop))
            if frame is not None:
                count = frame.transactions
                yield WholeTexts(count, piece.framed(run, run + count, *frame[1:]))
                self._next += count
                run += count
                continue
            yield from self.up_to(version)
            yield RowTexts(piece, piece.ends[run - 1] if run else 0, piece.ends[run], piece.marks[run])
            run += 1
        self._last_version = piece.last_version
        if self._sizes is not None:
            self._sizes.take(piece.long_texts, piece.longest)
