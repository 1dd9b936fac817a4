"""How these tests read events: bytes as a file holds them, under the format of the server that wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from binx.event.format import FormatDescription, parse_format
from binx.event.header import HEADER_SIZE, EventHeader, EventType, parse_header
from binx.event.parsers import Event, parse_event
from tests.event import samples

MYSQL = parse_format(samples.MYSQL_FORMAT, 0)
MARIADB = parse_format(samples.MARIADB_FORMAT, 0)
CHECKSUM_SIZE = 4


def sample_events() -> dict[str, tuple[bytes, FormatDescription]]:
    """All samples but the formats, by name, each with its server's format."""
    return {
        name: (data, MARIADB if name.startswith("MARIADB") else MYSQL)
        for name, data in vars(samples).items()
        if name.isupper() and not name.endswith("_FORMAT")
    }


def split(event: bytes) -> tuple[EventHeader, memoryview]:
    """Header and body of a whole event that ends in a checksum."""
    header = parse_header(event, 0)
    return header, memoryview(event)[HEADER_SIZE : header.size - CHECKSUM_SIZE]


def read(event: bytes, description: FormatDescription = MYSQL) -> Event:
    """What an event says."""
    header, body = split(event)
    return parse_event(body, header, description)


def events_of(path: Path) -> Iterator[tuple[EventHeader, memoryview, FormatDescription]]:
    """The whole events of a file, each with its body and the format in force."""
    data = memoryview(path.read_bytes())
    position, description = 4, parse_format(data, 4)
    while position < len(data):
        header = parse_header(data, position)
        if header.end > len(data):
            return
        checksum = description.checksum_size
        if header.type == EventType.FORMAT_DESCRIPTION:
            description, checksum = parse_format(data, position), 0
        yield header, data[position + HEADER_SIZE : header.end - checksum], description
        position = header.end
