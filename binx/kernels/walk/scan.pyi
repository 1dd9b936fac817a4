"""Scan a log file's events for transactions."""

from enum import IntEnum

from typing_extensions import Buffer

from binx.kernels.walk.machine import TransactionMachine

class Level(IntEnum):
    """How much a scan reads."""

    LEVEL_INDEX = 0
    LEVEL_EVENTS = 1
    LEVEL_TABLES = 2

class Stop(IntEnum):
    """Why a walk came back to Python."""

    STOP_LIMIT = 0
    STOP_FORMAT = 1
    STOP_TRUNCATED = 2
    STOP_END = 3
    STOP_PAYLOAD = 4
    STOP_COMPRESSED_ROWS = 5
    STOP_BEYOND = 6

def whole_events(window: Buffer) -> tuple[int, int]:
    """How many bytes of a window whole events take, and how many the event behind them says that it has.

    The second is 0 where its header is cut, and less than a header where no event can be that small.
    """

class Scanner(TransactionMachine):
    """A walk over one file, resumable at every event.

    Attributes:
        drift: what the position in the last event's header is more than the offset of its end, modulo 2^32.
        misplaced: events of whose headers the position is not the offset of their end.
        first_misplaced: where the first of them begins; -1 where there is none.
        unplaced: events in whose headers the position is 0.
        position: offset of the next event.
        is_seeking: whether the beginning of a transaction is still looked for, see :meth:`seek`.
        resumed: where it was found; -1 where it was not.
        ends_passed: ends of transactions that were passed over whenever one was looked for.
    """

    drift: int
    misplaced: int
    first_misplaced: int
    unplaced: int
    position: int
    is_seeking: bool
    resumed: int
    ends_passed: int

    def __init__(
        self, level: int, file_size: int, position: int, transitions: tuple[bytes, bytes, bytes], verify: bool
    ) -> None:
        """Begin a walk.

        Args:
            level: how much is read, one of :class:`Level`.
            file_size: bytes of the file; no event may reach beyond.
            position: offset of the first event to read.
            transitions: actions, next states and kinds of the boundary state machine, by state and class.
            verify: whether the checksum of every event that is read is compared.
        """

    def set_format(self, checksum_size: int, post_header: Buffer) -> None:
        """Take over from a format description the checksum's bytes and the types' post-header lengths."""

    def skip(self, size: int, event_type: int) -> None:
        """Pass over an event that Python has read."""

    def feed(self, window: Buffer, origin: int, limit: int) -> int:
        """Walk events until one begins at or behind ``limit``; returns a :class:`Stop`.

        Args:
            window: the file's bytes from ``origin`` on.
            origin: offset in the file of the window's first byte.
            limit: offset in the file.

        Raises:
            DamagedError: an event is not what the format allows; what was found before stays in ``table``.
            UnsupportedError: an event that binx does not know, or that is encrypted.
        """

    def vouch(self, stored: int, found: int) -> None:
        """Have the payload event at ``position`` taken by its beginning: all of it was read piece by piece.

        The next :meth:`feed` takes it where its window holds the event's first bytes.

        Args:
            stored: the checksum behind it.
            found: that of its bytes; where the walk does not verify, both may be 0.
        """

    @property
    def beyond(self) -> tuple[int, int]:
        """After ``STOP_BEYOND``: the span of the file that :meth:`feed_beyond` wants to see."""

    def feed_beyond(self, window: Buffer, tail: Buffer) -> None:
        """Take a transaction by its length that reaches beyond a window; what lies between need not be read.

        A transaction whose length is not to be trusted is left where it is: the next :meth:`feed` walks it.

        Args:
            window: the file's bytes from ``position`` on.
            tail: the bytes of the span that ``beyond`` tells.

        Raises:
            DamagedError: an event is not what the format allows.
        """

    def feed_inner(self, events: Buffer) -> None:
        """Walk events of a decompressed payload, which must be whole; see :func:`whole_events`.

        Raises:
            DamagedError, UnsupportedError: as for :meth:`feed`.
        """

    def end_payload(self) -> None:
        """Close the transaction whose payload was fed, and pass over the payload event.

        Raises:
            DamagedError: the payload does not hold a transaction's end.
        """

    def feed_replacement(self, event: Buffer, size: int) -> None:
        """Take a decompressed rows event in place of the one of ``size`` bytes at ``position``.

        Raises:
            DamagedError, UnsupportedError: as for :meth:`feed`.
        """

    def open_gtid(self) -> str | None:
        """The GTID of the transaction that has no end yet, or None."""

    def type_totals(self) -> dict[int, tuple[int, int]]:
        """Events and bytes by event type, as far as the walk has seen them."""

    def inner_type_totals(self) -> dict[int, int]:
        """Events within compressed payloads, by event type."""

    def search(self, intervals: dict[bytes, bytes]) -> None:
        """Look for GTIDs alone: at ``LEVEL_INDEX`` transactions that have none of them may be left out.

        They are passed over by their length, or header by header, where the next transaction's GTID event
        follows in its place; whatever is less sure than that is walked.

        Args:
            intervals: by source's key, its intervals: pairs of unsigned 64-bit integers, first and last.

        Raises:
            ValueError: the walk has begun.
        """

    def seek(self, position: int, named: bool) -> None:
        """Give up the transaction at hand, and look for the beginning of another from an event on.

        Args:
            position: where the event stands.
            named: whether each transaction begins with a GTID event.
        """
