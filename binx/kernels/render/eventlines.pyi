"""Lines of text about events, from the records of a walk over them."""

from collections.abc import Callable, Sequence
from enum import IntEnum

from binx.kernels.walk.event_records import EventWalk

class EventColumn(IntEnum):
    """What a line can say of an event."""

    EVENT_FILE = 0
    EVENT_POSITION = 1
    EVENT_INNER = 2
    EVENT_TYPE = 3
    EVENT_SIZE = 4
    EVENT_END = 5
    EVENT_NEXT_POSITION = 6
    EVENT_SERVER_ID = 7
    EVENT_TIMESTAMP = 8
    EVENT_FLAGS = 9
    EVENT_CHECKSUM = 10
    EVENT_TRANSACTION = 11
    EVENT_GTID = 12
    EVENT_EXPECTED = 13

class EventLines:
    """What makes lines of events."""

    def __init__(
        self,
        columns: Sequence[int],
        leads: Sequence[bytes],
        json: bool,
        zone: Callable[[int], tuple[int, bytes]] | None,
        type_of: Callable[[int], bytes],
        flags_of: Callable[[int], bytes],
    ) -> None:
        """Say what lines look like.

        Args:
            columns: numbers of :class:`EventColumn`.
            leads: for each column the text before its value: a name in JSON, or a tab.
            json: JSON objects; else plain fields, a hyphen for what is not known.
            zone: gives for seconds since 1970 the offset in seconds and the suffix of times; None for UTC.
            type_of: gives for an event type's number the text that shows it.
            flags_of: gives for a header's flags the text that shows them.
        """

    def begin_file(self, file: bytes) -> None:
        """Go on with the events of another file, whose name the lines show so."""

    def render(self, walk: EventWalk, most: int) -> bytes:
        """The lines of the records that a walk keeps, at most so many."""
