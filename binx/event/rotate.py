"""ROTATE and STOP: how a file ends, and which one comes next.

Source: MySQL's libs/mysql/binlog/event/control_events.cpp (``Rotate_event``, ``Stop_event``).
"""

from __future__ import annotations

from typing import NamedTuple

from binx.event.format import FormatDescription
from binx.event.header import EventHeader
from binx.event.reader import body_reader

_POST_HEADER = 8
_FIRST_POSITION = 4


class Rotate(NamedTuple):
    """The log goes on in another file.

    Attributes:
        next_file: name of that file, without a folder in logs of servers.
        next_position: offset there of the first event that follows, 4 but for artificial events.
    """

    next_file: str
    next_position: int


class Stop(NamedTuple):
    """The server was shut down."""


def parse_rotate(body: memoryview, header: EventHeader, description: FormatDescription) -> Rotate:
    """Read ROTATE.

    Raises:
        DamagedError: the body is cut, or names no file.
    """
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
