"""Scan a log file's events for transactions.

The state machine that finds transaction boundaries.
"""

from collections.abc import Callable
from enum import IntEnum

from typing_extensions import Buffer

from binx.errors import DamagedError
from binx.kernels.rows.layouts import TableMaps
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.framing import OpenedPayloads

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
        """How many rows events have no table map, see :func:`binx.event.rows_events.unmapped_rows`."""

    @property
    def open_transaction(self) -> int | None:
        """Where the transaction begins that has no end yet, or None."""

    @property
    def control_events(self) -> list[tuple[int, int, int]]:
        """Type, position and size of each event about the file itself that stood between transactions."""

class Level(IntEnum):
    """How much a scan reads; see the module ``scan.pyx``."""

    LEVEL_INDEX = 0
    LEVEL_EVENTS = 1
    LEVEL_TABLES = 2

class Stop(IntEnum):
    """Why a scan returned to Python."""

    STOP_LIMIT = 0
    STOP_FORMAT = 1
    STOP_TRUNCATED = 2
    STOP_END = 3
    STOP_PAYLOAD = 4
    STOP_COMPRESSED_ROWS = 5
    STOP_BEYOND = 6
    STOP_PARTIAL_ROWS = 7

class Scanner(TransactionMachine):
    """A scan of one file, resumable at every event.

    Attributes:
        drift: the position in the last event's header minus the offset of its end, modulo 2^32.
        misplaced: number of events whose header position is not the offset of their end.
        first_misplaced: offset of the first of them; -1 if there is none.
        unplaced: number of events whose header position is 0.
        position: offset of the next event.
        is_seeking: whether the scan still seeks the start of a transaction, see :meth:`seek`.
        resumed: the offset at which it was found; -1 if it was not.
        ends_passed: number of transaction ends that were skipped while seeking.
        in_payload: whether the last error of :meth:`feed` was in a payload event.
    """

    drift: int
    misplaced: int
    first_misplaced: int
    unplaced: int
    position: int
    is_seeking: bool
    resumed: int
    ends_passed: int
    in_payload: bool

    def __init__(
        self, level: int, file_size: int, position: int, transitions: tuple[bytes, bytes, bytes], verify: bool
    ) -> None:
        """Begin a scan.

        Args:
            level: how much to read, a :class:`Level`.
            file_size: bytes of the file; no event may extend beyond.
            position: offset of the first event to read.
            transitions: actions, next states and kinds of the boundary state machine, by state and class.
            verify: whether to verify the checksum of every event that is read.
        """

    def set_format(self, checksum_size: int, post_header: Buffer) -> None:
        """Set the checksum size and the post-header lengths from a format description."""

    def skip(self, size: int, event_type: int) -> None:
        """Skip an event that Python has read."""

    def feed(self, window: Buffer, origin: int, limit: int) -> int:
        """Scan events until one begins at or after ``limit``; return a :class:`Stop`.

        Args:
            window: the file's bytes from ``origin`` on.
            origin: offset in the file of the window's first byte.
            limit: offset in the file.

        Raises:
            DamagedError: an event is invalid; transactions found before it stay in ``table``.
            UnsupportedError: an event is unknown to binx or encrypted.
        """

    def vouch(self, stored: int, found: int) -> None:
        """Accept the payload event at ``position`` by its first bytes; the caller has read all of it.

        The next :meth:`feed` accepts it if its window holds the event's first bytes.

        Args:
            stored: the checksum stored after the event.
            found: the checksum computed from its bytes; both may be 0 if the scan does not verify.
        """

    @property
    def beyond(self) -> tuple[int, int]:
        """After ``STOP_BEYOND``: the range of the file that :meth:`feed_beyond` needs."""

    def feed_beyond(self, window: Buffer, tail: Buffer) -> None:
        """Jump over a transaction that extends beyond the window; the bytes between need not be read.

        If its length cannot be trusted, the transaction is not consumed: the next :meth:`feed` walks it.

        Args:
            window: the file's bytes from ``position`` on.
            tail: the bytes of the range given by ``beyond``.

        Raises:
            DamagedError: an event is invalid.
        """

    def open_payloads(self, opened: OpenedPayloads) -> None:
        """Walk the events of these payloads where the scan comes to them, and return for others."""

    def feed_inner(self, events: Buffer) -> None:
        """Scan events of a decompressed payload, which must be whole.

        Raises:
            DamagedError, UnsupportedError: as for :meth:`feed`.
        """

    def end_payload(self) -> None:
        """End the transaction whose payload was fed, and skip the payload event.

        Raises:
            DamagedError: the payload does not contain the transaction's end.
        """

    def feed_replacement(self, event: Buffer, size: int) -> None:
        """Scan a decompressed rows event in place of the one of ``size`` bytes at ``position``.

        Raises:
            DamagedError, UnsupportedError: as for :meth:`feed`.
        """

    def pass_piece(self, size: int, joined: Buffer | None) -> None:
        """Pass a piece of ``size`` bytes of a rows event, after ``STOP_PARTIAL_ROWS``.

        Args:
            joined: after the last piece the rows event, decompressed and without checksum.

        Raises:
            DamagedError, UnsupportedError: as for :meth:`feed`.
        """

    def open_gtid(self) -> str | None:
        """Return the GTID of the open transaction, or None."""

    def type_totals(self) -> dict[int, tuple[int, int]]:
        """Return (events, bytes) by event type, as far as the scan has read headers."""

    def inner_type_totals(self) -> dict[int, int]:
        """Events within compressed payloads, by event type."""

    def search(self, intervals: dict[bytes, bytes]) -> None:
        """Search for GTIDs only: at ``LEVEL_INDEX``, transactions with other GTIDs may be omitted.

        They are skipped by their length, or header by header, if the next transaction's GTID event
        follows in its place; otherwise they are walked.

        Args:
            intervals: intervals by the source's key: pairs of unsigned 64-bit integers, first and last.

        Raises:
            ValueError: the scan has begun.
        """

    def seek(self, position: int, named: bool) -> None:
        """Abandon the current transaction, and seek the start of another from an event on.

        Args:
            position: offset of the event.
            named: whether each transaction begins with a GTID event.
        """
