"""From the rows events of selected transactions to column buffers."""

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
    def __init__(self, file_number: int, row_limit: int, byte_limit: int, memory_limit: int) -> None:
        """Begin with no builders.

        Args:
            file_number: the upper half of every commit version.
            row_limit: rows at which a builder is handed over.
            byte_limit: bytes at which a builder is handed over.
            memory_limit: bytes that all builders may hold together.
        """

    def set_format(self, checksum_size: int, post_header: Buffer) -> None:
        """Take over from a format description the checksum's bytes and the types' post-header lengths."""

    with_markers: bool
    """Whether savepoints and the statements around an XA transaction's changes come back as statements."""

    resolves_only: bool
    """Whether rows that have no builder are not even counted."""

    table_limit: int
    """Builders that may hold rows at a time, as each takes memory beside its rows; 0: any."""

    def begin(
        self, table: TransactionTable, mask: Buffer, id_offsets: bytes, id_text: bytes, undone: bytes
    ) -> None:
        """Set out on the marked transactions of a table.

        ``id_offsets`` (32 bits, one more than there are records) and ``id_text`` hold their identifiers;
        ``undone`` has three 64-bit integers for each run of rows events to be passed over: the record's
        index, the number of the first among its rows events, and the number behind the last.
        """

    def run(self, window: Buffer, origin: int) -> int:
        """Decode on until Python is needed (a :class:`Need`), or until the last transaction is done.

        Where the window does not hold all of the event at ``position``, ``NEED_WINDOW``.

        Raises:
            DamagedError, UnsupportedError: a rows event cannot be decoded.
        """

    def run_inner(self, window: Buffer) -> tuple[int, int]:
        """Decode the events in a window that stand in for the event at ``position``: (need, bytes consumed).

        Raises:
            DamagedError, UnsupportedError: as for :meth:`run`.
        """

    def pass_bytes(self, size: int) -> None:
        """Go on behind the event at ``position``, of that size, which Python has dealt with."""

    def set_builder(self, map: int, builder: RowBuilder | None) -> None:  # noqa: A002 - the kernel's name
        """Say where the rows of a table map go; None: they are counted and passed over."""

    def forget(self, table: int) -> None:
        """Ask anew for the builders of a table (by its number): its columns have changed their names."""

    def take(self, builder: RowBuilder) -> dict[str, Any]:
        """Hand over a builder's rows, see :meth:`RowBuilder.finish`."""

    def filtered(self) -> dict[int, int]:
        """Row images that were passed over, by table number."""

    def recounted(self) -> dict[int, tuple[int, list[int]]]:
        """Rows events that a scan cannot count, as only a definition tells the widths of their columns.

        By table number: how many they are, and their [inserts, updates, deletes].
        """

    def undone_rows(self) -> dict[int, list[int]]:
        """Row changes that were passed over as undone, by table number: [inserts, updates, deletes]."""
