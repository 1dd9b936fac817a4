"""Decode the rows events of selected transactions into column buffers, without the GIL.

Decode row images directly into Arrow buffers.
"""

from enum import IntEnum
from typing import Any

from typing_extensions import Buffer

from binx.kernels.rows.layouts import TableMaps
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.framing import OpenedPayloads

class Codec(IntEnum):
    """How a value of a row image becomes a value of an Arrow column."""

    CODEC_NULL = 0
    CODEC_COPY1 = 1
    CODEC_COPY2 = 2
    CODEC_COPY4 = 3
    CODEC_COPY8 = 4
    CODEC_UINT8 = 5
    CODEC_UINT16 = 6
    CODEC_INT24 = 7
    CODEC_UINT24 = 8
    CODEC_UINT32 = 9
    CODEC_UINT64_DECIMAL = 10
    CODEC_DECIMAL = 11
    CODEC_DECIMAL_TEXT = 12
    CODEC_BITS = 13
    CODEC_BOOL = 14
    CODEC_YEAR = 15
    CODEC_DATE = 16
    CODEC_DATETIME = 17
    CODEC_OLD_DATETIME = 18
    CODEC_TIMESTAMP = 19
    CODEC_OLD_TIMESTAMP = 20
    CODEC_TIME = 21
    CODEC_OLD_TIME = 22
    CODEC_ENUM = 23
    CODEC_ENUM_NUMBER = 24
    CODEC_SET = 25
    CODEC_BYTES = 26
    CODEC_PADDED = 27
    CODEC_JSON = 28
    CODEC_GEOMETRY = 29

class RowBuilder:
    """The columns of one table, being filled by a :class:`~binx.kernels.rows.images.RowDecoder`.

    Args:
        plan: for each column: codec, bytes of the length prefix (0: fixed width), width, parameter. The
            parameter is precision << 8 | scale for DECIMAL, fractional digits for times, the padded length
            for BINARY, the number of members for ENUM.
        key: the caller's key for the table.

    Attributes:
        bytes: approximate size of the rows.
    """

    key: Any
    rows: int
    columns: int
    @property
    def bytes(self) -> int: ...
    def __init__(self, plan: list[tuple[int, int, int, int]], key: object) -> None: ...
    def finish(self) -> dict[str, Any]:
        """Return all rows and start over.

        Returns:
            ``rows``; the system columns and the events' ``flags`` by name, each
            memory of one value a row; ``present``: (validity,
            offsets, bits, nulls) or None where every row is whole; ``identifiers``: (offsets, text, count),
            which ``transaction`` numbers; ``columns``: for each column (validity or None, nulls, values,
            data, extra); ``misfits`` and ``differences`` (partial JSON): lists of (row, column, text);
            ``typed_documents``: how many JSON documents have values whose SQL types their text does not tell.
        """

class Need(IntEnum):
    """Why the decoder returned to Python."""

    NEED_NOTHING = 0
    NEED_BUILDER = 1
    NEED_FLUSH = 2
    NEED_MEMORY = 3
    NEED_STATEMENT = 4
    NEED_PAYLOAD = 5
    NEED_PLAIN_ROWS = 6
    NEED_WINDOW = 7
    NEED_PIECE = 8

class RowDecoder:
    """Decodes the rows events of one file.

    Attributes:
        maps: the table maps seen.
        position: offset of the current event.
        index: index of the current transaction in the table.
        event_size: bytes of the current event.
        pending_map: the table map that has no builder yet, after ``NEED_BUILDER``.
        full: the builder to take, after ``NEED_FLUSH``.
        statements_only: whether the current transaction is marked for its statements only.
    """

    @property
    def maps(self) -> TableMaps: ...
    @property
    def position(self) -> int: ...
    @property
    def index(self) -> int: ...
    @property
    def event_size(self) -> int: ...
    @property
    def row_number(self) -> int:
        """Number of row changes of the current transaction so far."""

    @property
    def pending_map(self) -> int: ...
    @property
    def full(self) -> RowBuilder | None: ...
    @property
    def statements_only(self) -> bool: ...
    with_markers: bool
    """Whether to return savepoints and the statements around an XA transaction's changes as statements."""

    with_texts: bool
    """Whether to return the texts logged with rows (ROWS_QUERY, ANNOTATE_ROWS) as statements."""

    next_statement: int
    """Number of statements of the current transaction so far.

    Statements logged as rows end with a flag of their last event; the caller counts the others.
    """

    resolves_only: bool
    """Whether to skip rows without a builder uncounted."""

    table_limit: int
    """Maximum number of builders that hold rows, as each takes memory besides its rows; 0 for no limit."""

    def __init__(self, file_number: int, row_limit: int, byte_limit: int, memory_limit: int) -> None:
        """Begin without tables.

        Args:
            file_number: the upper half of every commit version.
            row_limit: rows at which a builder is flushed.
            byte_limit: bytes at which a builder is flushed.
            memory_limit: bytes that all builders together may hold.
        """

    def set_format(self, checksum_size: int, post_header: Buffer) -> None:
        """Set the checksum size and the post-header lengths from a format description."""

    def begin(
        self, table: TransactionTable, mask: Buffer, id_offsets: bytes, id_text: bytes, undone: bytes
    ) -> None:
        """Begin to decode the marked transactions of a table.

        Args:
            table: the transactions.
            mask: 1 decodes rows and statements, 0 skips, all other marks skip the rows only; 2 sets
                ``statements_only``.
            id_offsets: 32-bit offsets into ``id_text``, one more than there are records.
            id_text: the transactions' identifiers.
            undone: three 64-bit integers for each run of rows events that the transaction itself undid, in
                order: the record's index, and the numbers of the first one among its rows events and of the
                one after the last.
        """

    def run(self, window: Buffer, origin: int) -> int:
        """Decode until Python is needed; return ``NEED_NOTHING`` after the table's last transaction.

        Raises:
            DamagedError, UnsupportedError: a rows event cannot be decoded.
        """

    def open_payloads(self, opened: OpenedPayloads) -> None:
        """Decode the events of these payloads where :meth:`run` comes to them, and return for others."""

    def take_inner(self) -> tuple[memoryview, int] | None:
        """Return a payload's events and where to go on in them, if :meth:`run` returned or failed in one.

        The caller takes the payload over: the next call returns None.
        """

    def run_inner(self, window: Buffer) -> tuple[int, int]:
        """Decode events that replace the event at ``position``; return (need, bytes consumed)."""

    def pass_bytes(self, size: int) -> None:
        """Skip the event of this size at ``position``, which Python has handled."""

    def set_builder(self, map: int, builder: RowBuilder | None) -> None:  # noqa: A002 - the kernel's name
        """Set the builder for a table map's rows; None to count and skip them."""

    def forget(self, table: int) -> None:
        """Request new builders for a table, by its number, as its columns' names have changed."""

    def take(self, builder: RowBuilder) -> dict[str, Any]:
        """Take a builder's rows, see ``RowBuilder.finish``."""

    @property
    def unmapped(self) -> int:
        """How many rows events have no table map, see :func:`binx.event.rows_events.unmapped_rows`."""

    def passed_over(self) -> dict[int, list[int]]:
        """Return counts by table number of what was not decoded, or not counted by the scan.

        These are: row images of unwanted tables; inserts, updates and deletes that their transaction undid;
        rows events that a scan cannot count, and the inserts, updates and deletes in them.
        """
