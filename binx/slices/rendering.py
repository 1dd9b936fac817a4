"""The building blocks of row change texts, which a kernel writes from column memory."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from binx.kernels.render.transactions import ChangeTexts, Spelling, State
from binx.log.binlog_file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.change_groups import BatchImages, ChangeGroup, numbers
from binx.sql.values import Spelled

if TYPE_CHECKING:
    from binx.kernels.render.transactions import Column, KernelPart

CHUNK_BYTES = 256 * 1024
"""Bytes of text per chunk."""

BUFFER_BYTES = 1024 * 1024
"""Bytes collected before a write."""

PACKET_BYTES = 16 * 1024 * 1024
"""``max_allowed_packet`` of the clients ``mysql`` and ``mariadb``, and of MariaDB's server; that of MySQL's
server is 64 MiB since 8.0. Sources: the manuals of both, on the system variable and the clients' options."""

LARGEST_PACKET_BYTES = 1024 * 1024 * 1024
"""Maximum of ``max_allowed_packet`` in clients and servers."""

STATEMENT_BYTES = 1024 * 1024
"""Default maximum bytes of a statement that inserts several rows."""

_LONGEST_CHARACTER = 4
"""Maximum bytes of a character in UTF-8."""

_FLOAT_BYTES = 4


class Part(NamedTuple):
    """A part of a row's text.

    Attributes:
        lead: text before the value or null.
        spelled: the column; None if there is none.
        rows: row index in the column for each change; None for the first rows.
        mask: the changes that have the part; None for all.
        otherwise: text for the changes that do not have it.
        listed: whether it is an item of the row's list, with a comma before each item except the first.
    """

    lead: bytes = b""
    spelled: Spelled | None = None
    rows: pa.Array | None = None
    mask: pa.BooleanArray | None = None
    otherwise: bytes = b""
    listed: bool = False


Parts = Iterator[bytes | Part]
"""Parts of a row's text and constant texts between them."""


def columns(lead: bytes, values: Iterable[Spelled], rows: pa.Array | None) -> Iterator[Part]:
    """Yield the parts of one value, which may take several columns."""
    for number, spelled in enumerate(values):
        yield Part(b"" if number else lead, spelled, rows)


def _assembled(items: Iterable[bytes | Part]) -> list[Part]:
    """Merge constant texts into parts: a text becomes the lead of the next part."""
    parts: list[Part] = []
    lead = b""
    for item in items:
        if isinstance(item, bytes):
            lead += item
        elif item.listed or item.mask is not None:
            parts += [Part(lead), item] if lead else [item]
            lead = b""
        else:
            parts.append(item._replace(lead=lead + item.lead) if lead else item)
            lead = b""
    return [*parts, Part(lead)] if lead else parts


def _kernel_part(part: Part) -> KernelPart:
    """Convert a part for the kernel."""
    spelled = part.spelled or _NOTHING
    texts = (
        *(part.lead, spelled.open, spelled.close, spelled.null, part.otherwise),
        *(spelled.odd_open, spelled.odd_close),
    )
    return (
        spelled.spelling,
        texts,
        spelled.parameter,
        part.listed,
        None if spelled.column is None else _memory(spelled.column),
        None if part.rows is None else numbers(part.rows),
        None if part.mask is None else (part.mask.buffers()[1], part.mask.offset),
    )


_NOTHING = Spelled(Spelling.SPELL_NOTHING)


def _memory(array: pa.Array) -> Column:
    """Return a column's memory."""
    kind = array.type
    validity, *buffers = array.buffers()
    if not array.null_count:
        validity = None
    if pa.types.is_dictionary(kind):
        codes = array.indices
        data, width, offsets, size, unit, *_ = _memory(array.dictionary)
        place = (codes.type.bit_width // 8, codes.offset, len(codes))
        return (data, width, offsets, size, unit, validity, codes.buffers()[1], *place)
    rest = (validity, None, 0, array.offset, len(array))
    if pa.types.is_list(kind):
        assert array.values.offset == 0
        return (array.values.buffers()[1], 0, buffers[0], 4, _FLOAT_BYTES, *rest)
    if len(buffers) == 2:
        return (buffers[1], 0, buffers[0], 8 if pa.types.is_large_binary(kind) else 4, 1, *rest)
    return (buffers[0], kind.bit_width // 8, None, 0, 1, *rest)


@dataclass(frozen=True, slots=True)
class Changes:
    """Row changes of one table with the same structure, in log order.

    Attributes:
        versions: commit versions of a batch's rows, as memory of int64.
        numbers: their numbers within the transaction, as memory of int64.
        rows: indexes of the rows in the batch; None for all.
        parts: the parts of their texts.
        marks: a small number for each change, uint8; None if all are 0.
        statement: the texts before the first change of a multi-row statement, after the last one, and after
            their number, which is written if this text is not empty; None if each change is a statement of
            its own.
    """

    versions: memoryview
    numbers: memoryview
    rows: pa.Array | None
    count: int
    parts: Sequence[bytes | Part]
    marks: pa.Array | None = None
    statement: tuple[bytes, bytes, bytes] | None = None


Renderer = Callable[[ChangeBatch, BinlogFile], list[Changes]]
"""Makes the texts of the row changes of a file's batch."""


def changes_of(
    images: BatchImages,
    parts: Callable[[ChangeGroup], Iterable[bytes | Part]],
    marks: Callable[[ChangeGroup], pa.Array] | None = None,
    statement: Callable[[ChangeGroup], tuple[bytes, bytes, bytes] | None] | None = None,
    groups: Iterable[ChangeGroup] | None = None,
) -> list[Changes]:
    """Return the texts of a batch's row changes, in groups of one structure; all in as few as possible."""
    versions, rows = images.integers("_commit_version"), images.integers("_row")
    return [
        Changes(
            versions,
            rows,
            group.images.rows,
            images.size_of(group.images),
            [*parts(group)],
            None if marks is None else marks(group),
            None if statement is None else statement(group),
        )
        for group in (images.groups() if groups is None else groups)
    ]


def gathered(chunks: Iterable[bytes | memoryview]) -> Iterator[bytearray]:
    """Join short chunks to longer ones, because a system call per chunk would dominate."""
    buffer = bytearray()
    for chunk in chunks:
        buffer += chunk
        if len(buffer) >= BUFFER_BYTES:
            yield buffer
            buffer = bytearray()
    yield buffer


class MergedChanges(ChangeTexts):
    """Row changes of several tables, merged by commit version and row number.

    Args:
        separator: written between two changes of one transaction.
        last_version: commit version of the previously written change.
        statement_bytes: maximum bytes of a statement of several changes.

    Attributes:
        backwards: whether each run's changes are newest first.
        versions, marks, ends: for each run of changes with the same transaction and mark, the commit version,
            the mark and the index after its last change.
    """

    def __init__(
        self,
        changes: Iterable[Changes],
        *,
        backwards: bool = False,
        separator: bytes = b"",
        last_version: int = -1,
        statement_bytes: int = 0,
    ) -> None:
        super().__init__(separator, CHUNK_BYTES, PACKET_BYTES, last_version, statement_bytes)
        self.backwards = backwards
        for one in changes:
            rows = None if one.rows is None else numbers(one.rows)
            marks = None if one.marks is None else _bytes(one.marks)
            parts = [*map(_kernel_part, _assembled(one.parts))]
            self.add(one.versions, one.numbers, rows, marks, one.count, parts, one.statement)
        versions, run_marks, ends = self.merge(backwards)
        self.versions = memoryview(versions).cast("q")
        self.marks = run_marks
        self.ends = memoryview(ends).cast("q")

    def cut(self, first: int, last: int, number: int) -> int:
        """Return where a range of one transaction's changes is divided, at the change with a number.

        Changes with lower numbers are before the cut, or after it if the piece is backwards.
        """
        if self.backwards:
            return bisect_right(range(last), -number, first, key=lambda at: -self.number_at(at))
        return bisect_left(range(last), number, first, key=self.number_at)

    def text(self, first: int, last: int, ordinal: int = 0) -> Iterator[bytes]:
        """Return the text of a range of changes, in chunks.

        Args:
            ordinal: the first change's number in its rows event.
        """
        self.begin(first, last, ordinal)
        return self._chunks()

    def framed(self, first: int, last: int, head_ends: bytes, heads: bytes, foot: bytes) -> Iterator[bytes]:
        """Return the text of some runs, each of them a whole transaction, in chunks."""
        self.begin_framed(first, last, head_ends, heads, foot)
        return self._chunks()

    def _chunks(self) -> Iterator[bytes]:
        state: int = State.STATE_FULL
        while state == State.STATE_FULL:
            state = self.step()
            if self.size:
                yield self.taken()


def _bytes(array: pa.Array) -> memoryview:
    return memoryview(array.buffers()[1])[array.offset :][: len(array)]


class StatementSizes:
    """The lengths of statements, both those written for row changes and those logged as text."""

    def __init__(self, statement_bytes: int = STATEMENT_BYTES) -> None:
        self.statement_bytes = statement_bytes
        self._long = 0
        self._longest = 0

    def take(self, long_texts: int, longest: int) -> None:
        """Count statements."""
        self._long += long_texts
        self._longest = max(self._longest, longest)

    def take_text(self, sql: str) -> None:
        """Measure a statement that is logged as text."""
        if len(sql) * _LONGEST_CHARACTER > PACKET_BYTES:
            length = len(sql.encode("utf-8", "surrogatepass"))
            self.take(int(length > PACKET_BYTES), length)

    @property
    def warnings(self) -> list[str]:
        """Warnings for those who run the script."""
        if not self._long:
            return []
        which = "1 statement is" if self._long == 1 else f"{self._long:,} statements are"
        text = f"{which} longer than the {PACKET_BYTES:,} bytes that clients accept by default, the longest"
        if self._longest > LARGEST_PACKET_BYTES:
            return [f"{text} {self._longest:,}; no server accepts that, so use --format binlog"]
        return [
            f"{text} {self._longest:,}: run the script with --max-allowed-packet={self._longest}, on a"
            " server whose max_allowed_packet is at least as large"
        ]
