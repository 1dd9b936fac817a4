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
    def __init__(self, file_number: int, row_limit: int, byte_limit: int, memory_limit: int) -> None: ...
    def set_format(self, checksum_size: int, post_header: Buffer) -> None: ...
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

    def begin(
        self, table: TransactionTable, mask: Buffer, id_offsets: bytes, id_text: bytes, undone: bytes
    ) -> None: ...
    def run(self, window: Buffer, origin: int) -> int: ...
    def run_inner(self, window: Buffer) -> tuple[int, int]: ...
    def pass_bytes(self, size: int) -> None: ...
    def set_builder(self, map: int, builder: RowBuilder | None) -> None: ...  # noqa: A002 - the kernel's name
    def forget(self, table: int) -> None: ...
    def take(self, builder: RowBuilder) -> dict[str, Any]: ...
    def filtered(self) -> dict[int, int]: ...
    def recounted(self) -> dict[int, tuple[int, list[int]]]: ...
    def undone_rows(self) -> dict[int, list[int]]: ...
