"""A piece of the log as text: the row changes of all tables between two places, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from binx.kernels.render.row_changes import ChangeTexts, State
from binx.rows.images import BatchImages, ChangeGroup
from binx.rows.parts import Part, assembled, kernel_part, numbers

if TYPE_CHECKING:
    from binx.kernels.render.row_changes import KernelPart

CHUNK_BYTES = 256 * 1024
"""Bytes of text that are handed over at a time."""

BUFFER_BYTES = 1024 * 1024
"""How much is collected before it is written."""

_ANY = 1 << 62


@dataclass(frozen=True, slots=True)
class Changes:
    """Row changes of one table that are written alike, in the log's order.

    Attributes:
        versions: commit versions of a batch's rows, as memory of int64.
        numbers: their numbers within the transaction, as memory of int64.
        rows: which rows of the batch; None for all.
        marks: a small number for each change, uint8; None where all are 0.
        statement: what stands before the first and behind the last of the changes that one statement takes
            together, and behind their number, which is written if this is not empty; None where each stands
            for itself.
    """

    versions: memoryview
    numbers: memoryview
    rows: pa.Array | None
    count: int
    parts: list[KernelPart]
    marks: pa.Array | None = None
    statement: tuple[bytes, bytes, bytes] | None = None


def changes_of(
    images: BatchImages,
    parts: Callable[[ChangeGroup], Iterable[bytes | Part]],
    marks: Callable[[ChangeGroup], pa.Array] | None = None,
    statement: Callable[[ChangeGroup], tuple[bytes, bytes, bytes] | None] | None = None,
) -> list[Changes]:
    """A batch's row changes, those that are written alike together."""
    versions, rows = images.integers("_commit_version"), images.integers("_row")
    return [
        Changes(
            versions,
            rows,
            group.images.rows,
            images.size_of(group.images),
            [kernel_part(part) for part in assembled(parts(group))],
            None if marks is None else marks(group),
            None if statement is None else statement(group),
        )
        for group in images.groups()
    ]


def gathered(chunks: Iterable[bytes | memoryview]) -> Iterator[bytearray]:
    """Many short chunks as few longer ones: a call of the system for each would take longer than they do."""
    buffer = bytearray()
    for chunk in chunks:
        buffer += chunk
        if len(buffer) >= BUFFER_BYTES:
            yield buffer
            buffer = bytearray()
    yield buffer


class Piece:
    """Row changes of several tables, merged by commit version and number.

    Args:
        separator: stands between two changes of one transaction.
        last_version: the transaction of the change that was written before the piece.
        packet: bytes beyond which the text of a change counts as long; None: none does.
        statement_bytes: bytes up to which a statement takes several changes together.

    Attributes:
        versions: for each run of changes of one transaction and one mark its commit version.
        ends: the place behind its last change.
    """

    def __init__(
        self,
        changes: Iterable[Changes],
        *,
        backwards: bool = False,
        separator: bytes = b"",
        last_version: int = -1,
        packet: int | None = None,
        statement_bytes: int = 0,
    ) -> None:
        self._texts = ChangeTexts(
            separator, CHUNK_BYTES, _ANY if packet is None else packet, last_version, statement_bytes
        )
        for one in changes:
            self._texts.add(
                one.versions,
                one.numbers,
                None if one.rows is None else numbers(one.rows),
                None if one.marks is None else _bytes(one.marks),
                one.count,
                one.parts,
                one.statement,
            )
        versions, marks, ends = self._texts.merge(backwards)
        self.versions = memoryview(versions).cast("q")
        self.marks = marks
        self.ends = memoryview(ends).cast("q")

    @property
    def last_version(self) -> int:
        """The transaction of the change that was written last."""
        return self._texts.last_version

    @property
    def long_texts(self) -> int:
        """How many changes or statements were written so far that are longer than a packet."""
        return self._texts.long_texts

    @property
    def longest(self) -> int:
        """Bytes of the longest change or statement written so far."""
        return self._texts.longest

    def text(self, first: int, last: int, ordinal: int = 0) -> Iterator[bytes]:
        """The text of the changes from one place up to another, in chunks.

        Args:
            first: the first of them.
            last: the one behind the last.
            ordinal: the first one's number in its rows event.
        """
        self._texts.begin(first, last, ordinal)
        return self._chunks()

    def framed(
        self,
        first: int,
        last: int,
        head_ends: bytes,
        heads: bytes,
        foot: bytes,
    ) -> Iterator[bytes]:
        """The text of some runs, each of which is a whole transaction, in chunks."""
        self._texts.begin_framed(first, last, head_ends, heads, foot)
        return self._chunks()

    def _chunks(self) -> Iterator[bytes]:
        texts = self._texts
        while (state := texts.step()) != State.STATE_DONE:
            if texts.size:
                yield texts.taken()
            if state == State.STATE_ASKED:
                ask, row = texts.asked()
                size = 0
                for chunk in ask(row):
                    size += len(chunk)
                    yield chunk
                texts.go_on(size)
        if texts.size:
            yield texts.taken()


def _bytes(array: pa.Array) -> memoryview:
    return memoryview(array.buffers()[1])[array.offset :][: len(array)]
