"""Parse ROTATE, STOP, INCIDENT and VIEW_CHANGE events.

Sources: MySQL's libs/mysql/binlog/event/control_events.cpp and codecs/binary.cpp.
"""

from __future__ import annotations

from typing import NamedTuple

from binx.event.format import FormatDescription
from binx.event.header import EventHeader
from binx.event.reader import body_reader

_INCIDENT_NAMES = {1: "LOST_EVENTS"}
_VIEW_ID_SIZE = 40


class Incident(NamedTuple):
    """The server failed to log changes: replicas may differ from here on.

    Attributes:
        number: 1 for LOST_EVENTS, the only incident that servers write.
    """

    number: int
    message: str

    @property
    def is_known(self) -> bool:
        """Whether servers write this number."""
        return self.number in _INCIDENT_NAMES

    @property
    def name(self) -> str:
        """The incident's name, or its number if unknown."""
        return _INCIDENT_NAMES.get(self.number) or f"incident {self.number}"


class ViewChange(NamedTuple):
    """A member joined or left a replication group."""

    view_id: str


def parse_incident(body: memoryview, header: EventHeader, description: FormatDescription) -> Incident:
    """Read INCIDENT."""
    reader = body_reader(body, header)
    fixed = reader.slice(description.post_header_length(header.type, 2))
    return Incident(fixed.u16(), reader.text(reader.u8()) if reader.remaining else "")


def parse_view_change(body: memoryview, header: EventHeader, description: FormatDescription) -> ViewChange:
    """Read VIEW_CHANGE up to what the group certifies with."""
    view_id = body_reader(body, header).raw(_VIEW_ID_SIZE)
    return ViewChange(view_id.split(b"\0", 1)[0].decode("utf-8", "backslashreplace"))


_POST_HEADER = 8
_FIRST_POSITION = 4


class Rotate(NamedTuple):
    """The log continues in another file.

    Attributes:
        next_file: name of the next file, without a folder in logs of servers.
    """

    next_file: str
    next_position: int


class Stop(NamedTuple):
    """The server was shut down."""


def parse_rotate(body: memoryview, header: EventHeader, description: FormatDescription) -> Rotate:
    """Read ROTATE."""
    reader = body_reader(body, header)
    length = description.post_header_length(header.type, _POST_HEADER)
    next_position = _FIRST_POSITION
    if length:
        fixed = reader.slice(length)
        next_position = fixed.u64()
    next_file = reader.text(reader.remaining)
    if not next_file:
        raise reader.damaged("expected the next file's name, found none")
    return Rotate(next_file, next_position)


def parse_stop(body: memoryview, header: EventHeader, description: FormatDescription) -> Stop:
    """Read STOP, which has no body."""
    return Stop()
