"""Row changes and statements of selected transactions in the order of the log, as text, in bounded memory.

The decoder fills columns table by table, which loses how the rows of several tables follow one another. Here
all tables are taken from it together, in pieces: each piece holds every row between two places of the log.
What the rows of a table consist of as text is told once for all of them, and a kernel writes the rows of all
tables by commit version and row number.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from binx.kernels.transactions.table import TransactionTable
from binx.log.file import BinlogFile
from binx.log.scanning import TransactionScan
from binx.rows.batches import ChangeBatch
from binx.rows.columns.types import ArrowOptions
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder, DecoderOptions
from binx.rows.statements import Statement
from binx.slices.pieces import Changes, Piece
from binx.slices.transaction_facts import Frame, TransactionFacts, taken_indexes

if TYPE_CHECKING:
    from binx.slices.options import RowChoice
    from binx.slices.sql.write import StatementSizes

PIECE_ROWS = 32_768
"""Rows of a table at which a piece ends."""

PIECE_BYTES = 16 * 1024 * 1024
"""Decoded bytes of all tables at which a piece ends."""

PIECE_TABLES = 16_384
"""Tables with rows at which a piece ends."""


class Selected(NamedTuple):
    """Transactions of one file, as a scan at ``LEVEL_TABLES`` yields them.

    Attributes:
        scan: the scan; its file must stay open until the output is written.
        mask: a mark for each, as :meth:`~binx.rows.decoder.ChangeDecoder.decode` takes them.
        first_seqno: the chain's number of the table's first transaction.
        behind_damage: statements that define tables may have been lost right before.
    """

    scan: TransactionScan
    table: TransactionTable
    mask: bytearray
    epoch: int = 0
    first_seqno: int = 0
    behind_damage: bool = False

    @property
    def file(self) -> BinlogFile:
        """The file that the transactions are in."""
        return self.scan.file


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

    def each(self) -> Iterator[Iterator[bytes]]:
        """The text of each of them, in chunks that are to be taken before the next."""
        for place in range(self.first, self.last):
            yield self.piece.text(place, place + 1)


@dataclass(frozen=True, slots=True)
class WholeTexts:
    """Whole transactions as text, with what stands around their row changes."""

    count: int
    text: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class End:
    """The transaction that has begun is complete."""


class Frames(Protocol):
    """Writes what stands around usual transactions, many at a time."""

    def frame(
        self, part: Selected, taken: array[int], first: int, piece: Piece, run: int, stop: int
    ) -> Frame | None:
        """As many transactions as can be written at once.

        Args:
            part: where they are.
            taken: the indexes of the transactions that are wanted.
            first: the place there of the transaction that comes next.
            run: the run that comes next.
            stop: the run at which to stop; a run before it has all that its transaction has from there on.

        Returns:
            None where the next transaction is none of them.
        """


Renderer = Callable[[ChangeBatch, BinlogFile], list[Changes]]
_EVERY_TABLE: Callable[[str, str], bool] = lambda database, table: True  # noqa: E731


def ordered_changes(
    selected: Iterable[Selected],
    catalog: Catalog,
    render: Renderer,
    *,
    raw_text: bool = False,
    exact_members: bool = False,
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
) -> Iterator[Begin | RowTexts | WholeTexts | Statement | End]:
    """Everything that the selected transactions hold, in the log's order.

    Args:
        catalog: the tables known so far; moved on by the schema statements met.
        render: says what row changes consist of as text.
        raw_text: leave text in the columns' own character sets.
        exact_members: leave ENUM and SET as numbers where texts of members do not tell these.
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
    arrow = ArrowOptions(raw_text=raw_text, exact_members=exact_members)
    options = DecoderOptions(
        row_group_rows=PIECE_ROWS,
        memory=PIECE_BYTES,
        tables=PIECE_TABLES,
        arrow=arrow,
        markers=True,
        undone=undone and choice is None,
        as_stored=as_stored,
    )
    if choice is not None:
        render, frames = _choosing(render, choice), None
    look = _Look(backwards, facts, separator, frames, sizes)
    decoder: ChangeDecoder | None = None
    for part in selected:
        if decoder is None or decoder.file is not part.file:
            wanted = _EVERY_TABLE if choice is None else choice.takes_table
            decoder = ChangeDecoder(part.file, catalog, wanted, options)
            decoder.resolve_only = resolve_only
            decoder.unreadable = unreadable
            if decoders is not None:
                decoders.append(decoder)
        if part.behind_damage:
            decoder.forget_tables()
        walk = _Walk(part, render, look)
        for item in decoder.decode(part.table, part.mask):
            if isinstance(item, Statement) and not (choice is None or choice.takes_statement(item)):
                continue
            if isinstance(item, Statement):
                yield from walk.emit(decoder.flush())
                yield from walk.up_to(item.commit_version)
                yield item
            else:
                yield from walk.emit(chain((item,), decoder.flush()))
        yield from walk.emit(decoder.flush(), final=True)
        yield from walk.up_to(None)


def _choosing(render: Renderer, choice: RowChoice) -> Renderer:
    def chosen(changes: ChangeBatch, file: BinlogFile) -> list[Changes]:
        wanted = choice.chosen(changes)
        return render(wanted, file) if wanted.rows else []

    return chosen


class _Look(NamedTuple):
    """How pieces are written; see :func:`ordered_changes`."""

    backwards: bool
    facts: Sequence[str] | None
    separator: bytes
    frames: Frames | None
    sizes: StatementSizes | None


class _Walk:
    """The selected transactions of one table, begun and ended as their changes come."""

    def __init__(self, part: Selected, render: Renderer, look: _Look) -> None:
        self._part = part
        self._render = render
        self._look = look
        self._taken = taken_indexes(part.mask)
        self._next = 0
        self._facts = TransactionFacts(part, self._taken, look.facts)
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
        look = self._look
        rendered = (self._render(batch, self._part.file) for batch in chain((first,), batches))
        del first
        piece = Piece(
            chain.from_iterable(rendered),
            backwards=look.backwards,
            separator=look.separator,
            last_version=self._last_version,
            packet=None if look.sizes is None else look.sizes.packet,
            statement_bytes=0 if look.sizes is None else look.sizes.statement_bytes,
        )
        run, runs = 0, len(piece.ends)
        # Of the last transaction there may be more behind the piece.
        stop = runs if final else runs - 1
        while run < runs:
            version = piece.versions[run]
            if self._current is not None and self._current.version != version:
                yield from self._end()
            if self._current is None and look.frames is not None and run < stop:
                frame = look.frames.frame(self._part, self._taken, self._next, piece, run, stop)
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
        if look.sizes is not None:
            look.sizes.take(piece.long_texts, piece.longest)
