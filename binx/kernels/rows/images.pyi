"""Decode the rows events of selected transactions into column buffers, without the GIL."""

from enum import IntEnum
from typing import Any

from typing_extensions import Buffer

from binx.kernels.rows.builder import RowBuilder
from binx.kernels.rows.layouts import TableMaps
from binx.kernels.transactions.table import TransactionTable

class Need(IntEnum):
    """Why the walk came back to Python."""

    NEED_NOTHING = 0
    NEED_BUILDER = 1
    NEED_FLUSH = 2
    NEED_MEMORY = 3
    NEED_STATEMENT = 4
    NEED_PAYLOAD = 5
    NEED_PLAIN_ROWS = 6
    NEED_WINDOW = 7

class RowDecoder:
    """Rows events of one file, decoded.

    Attributes:
        maps: the table maps seen.
        position: offset of the event that the walk stands at.
        index: number in the table of the transaction that the walk stands in.
        event_size: bytes of that event.
        pending_map: the table map that has no builder yet, after ``NEED_BUILDER``.
        full: the builder to be taken, after ``NEED_FLUSH``.
        rows_flags: the flags that any rows event looked at so far had.
        statements_only: whether the transaction at hand was marked for its statements alone.
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
    def pending_map(self) -> int: ...
    @property
    def full(self) -> RowBuilder | None: ...
    @property
    def rows_flags(self) -> int: ...
    @property
    def statements_only(self) -> bool: ...
    with_markers: bool
    """Whether savepoints and the statements around an XA transaction's changes come back as statements."""

    with_texts: bool
    """Whether the texts that rows were logged with (ROWS_QUERY, ANNOTATE_ROWS) come back as statements."""

    next_statement: int
    """Statements that the transaction at hand has had.

    Those that are logged as rows end with a flag of their last event; the caller counts the others.
    """

    resolves_only: bool
    """Whether rows that have no builder are not even counted."""

    table_limit: int
    """Builders that may hold rows at a time, as each takes memory beside its rows; 0: any."""

    def __init__(self, file_number: int, row_limit: int, byte_limit: int, memory_limit: int) -> None:
        """Begin without tables.

        Args:
            file_number: the upper half of every commit version.
            row_limit: rows at which a builder is handed over.
            byte_limit: bytes at which a builder is handed over.
            memory_limit: bytes that all builders may hold together.
        """

    def set_format(self, checksum_size: int, post_header: Buffer) -> None:
        """Take over what a format description says: the checksum's bytes, each type's post-header length."""

    def begin(
        self, table: TransactionTable, mask: Buffer, id_offsets: bytes, id_text: bytes, undone: bytes
    ) -> None:
        """Set out on the marked transactions of a table.

        Args:
            table: the transactions.
            mask: 1 takes rows and statements, all other marks but 0 pass over the rows; 2 is for
                ``statements_only``.
            id_offsets: 32 bits, one more than there are records, into ``id_text``.
            id_text: the transactions' identifiers.
            undone: three 64-bit integers for each run of rows events that the transaction itself undid, in
                order: the record's index, the number of the first of them among its rows events, and the
                number behind the last.
        """

    def run(self, window: Buffer, origin: int) -> int:
        """Decode on until Python is needed; ``NEED_NOTHING`` when the table's last transaction is done.

        Raises:
            DamagedError, UnsupportedError: a rows event cannot be decoded.
        """

    def run_inner(self, window: Buffer) -> tuple[int, int]:
        """Decode the events that stand in for the event at ``position``: (need, bytes consumed)."""

    def pass_bytes(self, size: int) -> None:
        """Go on behind the event at ``position``, of that size, which Python has dealt with."""

    def set_builder(self, map: int, builder: RowBuilder | None) -> None:  # noqa: A002 - the kernel's name
        """Say where the rows of a table map go; None: they are counted and passed over."""

    def forget(self, table: int) -> None:
        """Ask anew for the builders of a table, by its number: its columns have changed their names."""

    def take(self, builder: RowBuilder) -> dict[str, Any]:
        """Hand over a builder's rows, see ``RowBuilder.finish``."""

    def passed_over(self) -> dict[int, list[int]]:
        """By table number: what was not decoded, or not counted by the scan.

        Row images of tables that are not wanted; inserts, updates and deletes that their transaction undid;
        rows events that a scan cannot count, and the inserts, updates and deletes in these.
        """
