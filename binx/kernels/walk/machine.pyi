"""The state machine that finds transaction boundaries."""

from collections.abc import Callable
from enum import IntEnum

from binx.errors import DamagedError
from binx.kernels.rows.layouts import TableMaps
from binx.kernels.transactions.table import TransactionTable

class Action(IntEnum):
    """What a step of the boundary state machine does to the transaction."""

    ACTION_KEEP = 0
    ACTION_START = 1
    ACTION_START_END = 2
    ACTION_END = 3
    ACTION_ILLEGAL = 255

class EventClass(IntEnum):
    """What an event is to the boundary state machine."""

    CLASS_CONTROL = 0
    CLASS_GTID = 1
    CLASS_GTID_STANDALONE = 2
    CLASS_GTID_GROUP = 3
    CLASS_BEGIN = 4
    CLASS_COMMIT = 5
    CLASS_ROLLBACK = 6
    CLASS_XA_START = 7
    CLASS_XA_PREPARE = 8
    CLASS_XA_ONE_PHASE = 9
    CLASS_XA_COMMIT = 10
    CLASS_XA_ROLLBACK = 11
    CLASS_CHANGE = 12
    CLASS_STATEMENT = 13
    CLASS_MARKER = 14
    CLASS_PREPARATION = 15
    CLASS_TABLE_MAP = 16
    CLASS_ROWS = 17
    CLASS_ROWS_END = 18
    CLASS_LOAD_BLOCK = 19
    CLASS_LOAD_END = 20
    CLASS_ANNOTATION = 21
    CLASS_PAYLOAD = 22
    CLASS_INCIDENT = 23
    CLASS_CONTEXT = 24
    CLASS_UNKNOWN = 25
    CLASSES = 26

def unexpected_piece(
    piece: int, pieces: int, found: int, of_found: int, event_type: int, position: int
) -> DamagedError:
    """Return the error of a rows event in pieces that do not follow one another.

    Args:
        piece: the number of the piece that was expected.
        pieces: how many there were to be; 0 before the first.
        found: the number of the piece that was found, if it is one.
        of_found: how many there are by that piece.
        event_type: the type of the event that was found.
        position: its offset.
    """

class TransactionMachine:
    """The state between two events, and the transactions that have ended.

    Attributes:
        table: the transactions found since the last :meth:`new_table`.
        maps: the table maps seen.
        has_gtids: whether an event that names a transaction was met.
    """

    has_gtids: bool

    @property
    def table(self) -> TransactionTable: ...
    @property
    def maps(self) -> TableMaps: ...
    def new_table(self) -> TransactionTable:
        """Begin a new table for the transactions to come, and return the one that was filled."""

    def search_texts(self, texts: list[bytes]) -> None:
        """Search the texts of statements; the field ``text`` of transactions then has a :class:`TextMatch`.

        Args:
            texts: in lower case; the case of ASCII letters is ignored.
        """

    def show_events(self, reader: Callable[[bytes, int], None]) -> None:
        """Pass to the reader each event that the walk itself does not parse.

        Of events that differ only in what their parser does not look at, such as the text of statements, it
        gets the first.

        Args:
            reader: gets an event without its checksum, and its offset, or that of the payload event
                around it.
        """

    def uncounted_events(self, table: int) -> int:
        """How many rows events of a table are not counted, as nobody knows how wide a column of it is."""

    @property
    def unmapped(self) -> int:
        """How many rows events have no table map, see :func:`binx.event.rows.unmapped_rows`."""

    @property
    def open_transaction(self) -> int | None:
        """Where the transaction begins that has no end yet, or None."""

    @property
    def control_events(self) -> list[tuple[int, int, int]]:
        """Type, position and size of each event about the file itself that stood between transactions."""
