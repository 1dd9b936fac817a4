"""Scan a log file's events for transactions."""

from enum import IntEnum

from typing_extensions import Buffer

from binx.kernels.walk.machine import TransactionMachine
from binx.kernels.walk.payloads import OpenedPayloads

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
