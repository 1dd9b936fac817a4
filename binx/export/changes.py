"""Row changes and statements of selected transactions in the order of the log, as text, in bounded memory.

The decoder fills columns table by table, which loses how the rows of several tables follow one another. Here
all tables are taken from it together, in pieces: each piece holds every row between two places of the log.
Its tables are made text one by one, a column at a time, and the texts are then merged by commit version and
row number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.transactions import TransactionTable
from binx.log.file import BinlogFile
from binx.log.index import index_batch
from binx.log.scanning import TransactionScan
from binx.rows.batches import ChangeBatch
from binx.rows.catalog import Catalog
from binx.rows.decoder import TAKE, ChangeDecoder, DecoderOptions
from binx.rows.statements import Statement
from binx.rows.types import ArrowOptions

PIECE_ROWS = 32_768
"""Rows of a table at which a piece ends."""

PIECE_BYTES = 32 * 1024 * 1024
"""Decoded bytes of all tables at which a piece ends."""

_HEADS = 1024


class Selected(NamedTuple):
    """Transactions of one file, as a scan at ``LEVEL_TABLES`` yields them.

    Attributes:
        scan: the scan; its file must stay open until the output is written.
        table: some of its transactions.
        mask: a mark for each, as :meth:`~binx.rows.decoder.ChangeDecoder.decode` takes them.
        epoch: see the data set's ``transactions``.
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
        file: where it is.
        facts: a row of the data set's ``transactions``; times in µs since 1970.
        table: the table of records that has it.
        index: its place there.
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
        text: the texts of one or more row changes, one behind the other.
        mark: what the renderer noted about them all.
    """

    text: memoryview
    mark: int


@dataclass(frozen=True, slots=True)
class End:
    """The transaction that has begun is complete."""


class Rendered(NamedTuple):
    """Row changes of one table as text, one element each, in any order.

    Attributes:
        versions: commit versions, int64.
        rows: numbers within the transaction, int64.
        texts: large_binary without nulls.
        marks: a small number for each, uint8; None where all are 0.
    """

    versions: pa.Array
    rows: pa.Array
    texts: pa.Array
    marks: pa.Array | None = None


Renderer = Callable[[ChangeBatch, BinlogFile], Rendered]


def ordered_changes(
    selected: Iterable[Selected],
    catalog: Catalog,
    render: Renderer,
    *,
    raw_text: bool = False,
    undone: bool = False,
    backwards: bool = False,
    as_stored: bool = False,
    resolve_only: bool = False,
    decoders: list[ChangeDecoder] | None = None,
    facts: Sequence[str] | None = None,
) -> Iterator[Begin | RowTexts | Statement | End]:
    """Everything that the selected transactions hold, in the log's order.

    Args:
        selected: the transactions, file by file in the chain's order.
        catalog: the tables known so far; moved on by the schema statements met.
        render: makes text of row changes.
        raw_text: leave text in the columns' own character sets.
        undone: take in rows that their transaction undid itself, by the ROLLBACK TO SAVEPOINT that comes too.
        backwards: let the row changes within one :class:`RowTexts` stand last first.
        as_stored: take columns for what table maps must tell of them; see
            :class:`~binx.rows.decoder.DecoderOptions`.
        resolve_only: pass over the rows, and find out only names and schemas.
        decoders: takes in the decoders used, which know tables and warnings.
        facts: those of the facts about transactions that are looked at; None for all.

    Raises:
        DamagedError, UnsupportedError: a transaction cannot be decoded.
    """
    arrow = ArrowOptions(raw_text=raw_text)
    options = DecoderOptions(
        row_group_rows=PIECE_ROWS,
        memory=PIECE_BYTES,
        arrow=arrow,
        markers=True,
        undone=undone,
        as_stored=as_stored,
    )
    decoder: ChangeDecoder | None = None
    for part in selected:
        if decoder is None or decoder.file is not part.file:
            decoder = ChangeDecoder(part.file, catalog, options=options)
            decoder.resolve_only = resolve_only
            if decoders is not None:
                decoders.append(decoder)
        if part.behind_damage:
            decoder.forget_tables()
        walk = _Walk(part, backwards=backwards, facts=facts)
        for item in decoder.decode(part.table, part.mask):
            batches = [*decoder.flush()]
            if isinstance(item, Statement):
                yield from walk.emit(batches, render)
                yield from walk.up_to(item.commit_version)
                yield item
            else:
                yield from walk.emit([item, *batches], render)
        yield from walk.emit([*decoder.flush()], render)
        yield from walk.up_to(None)


class _Walk:
    """The selected transactions of one table, begun and ended as their changes come."""

    def __init__(self, part: Selected, *, backwards: bool, facts: Sequence[str] | None) -> None:
        self._file = part.file
        self._backwards = backwards
        self._heads = _heads(part, facts)
        self._current: Begin | None = None

    def up_to(self, version: int | None) -> Iterator[Begin | End]:
        """Begin and end transactions until the one with that version is open; None: until none is left."""
        if self._current is not None:
            if self._current.version == version:
                return
            yield End()
            self._current = None
        for head in self._heads:
            yield head
            if head.version == version:
                self._current = head
                return
            yield End()

    def emit(self, batches: list[ChangeBatch], render: Renderer) -> Iterator[Begin | RowTexts | End]:
        """The row changes of one piece."""
        if not batches:
            return
        merged = _merged([render(batch, self._file) for batch in batches], backwards=self._backwards)
        texts = merged.texts
        offsets = memoryview(texts.buffers()[1]).cast("q")[texts.offset :]
        data = memoryview(texts.buffers()[2] or b"")
        for version, first, last in _runs(merged.versions):
            yield from self.up_to(version)
            marks = (
                [(0, 0, last - first)]
                if merged.marks is None
                else _runs(merged.marks.slice(first, last - first))
            )
            for mark, start, stop in marks:
                yield RowTexts(data[offsets[first + start] : offsets[first + stop]], mark)


def _heads(part: Selected, facts: Sequence[str] | None) -> Iterator[Begin]:
    """The transactions that are to be taken, with the facts about each."""
    taken = [index for index, mark in enumerate(part.mask) if mark == TAKE]
    if not taken:
        return
    batch = index_batch(part.file, part.scan, part.table, epoch=part.epoch, first_seqno=part.first_seqno)
    names = batch.schema.names if facts is None else ["commit_version", *facts]
    columns = [_plain(batch.column(name)) for name in names]
    for start in range(0, len(taken), _HEADS):
        indexes = taken[start : start + _HEADS]
        rows = pa.array(indexes, pa.int64())
        values = [_listed(column.take(rows)) for column in columns]
        for index, *row in zip(indexes, *values, strict=True):
            yield Begin(part.file, dict(zip(names, row, strict=True)), part.table, index)


def _plain(column: pa.Array) -> pa.Array:
    """Times as numbers, the rest as it is."""
    return column.cast(pa.timestamp("us")).cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def _listed(column: pa.Array) -> list[Any]:
    """The values in Python; numbers without the detour over Arrow's scalars."""
    if pa.types.is_int64(column.type) and not column.null_count:
        return memoryview(column.buffers()[1]).cast("q")[column.offset :][: len(column)].tolist()
    values: list[Any] = column.to_pylist()
    return values


def _merged(parts: list[Rendered], *, backwards: bool) -> Rendered:
    """All row changes of a piece in the log's order, those of a transaction backwards where so asked."""
    marks = None
    if any(part.marks is not None for part in parts):
        marks = pa.concat_arrays(
            [
                pa.repeat(pa.scalar(0, pa.uint8()), len(part.rows)) if part.marks is None else part.marks
                for part in parts
            ]
        )
    versions = pa.concat_arrays([part.versions for part in parts])
    rows = pa.concat_arrays([part.rows for part in parts])
    texts = pa.concat_arrays([part.texts for part in parts])
    order = pc.sort_indices(
        pa.RecordBatch.from_arrays([versions, rows], names=["version", "row"]),
        sort_keys=[("version", "ascending"), ("row", "descending" if backwards else "ascending")],
    )
    return Rendered(
        versions.take(order),
        rows.take(order),
        texts.take(order),
        None if marks is None else marks.take(order),
    )


def _runs(values: pa.Array) -> Iterator[tuple[int, int, int]]:
    """Equal values that follow one another: value, first place, place behind the last."""
    encoded = pc.run_end_encode(values)
    first = 0
    for value, last in zip(encoded.values.to_pylist(), encoded.run_ends.to_pylist(), strict=True):
        yield value, first, last
        first = last


__all__ = ["Begin", "End", "Rendered", "Renderer", "RowTexts", "Selected", "ordered_changes"]
