"""The self-describing format in which MySQL 8.3 and later write GTID_TAGGED events.

A message is a version, its size, the last field that a reader must know, then
fields of an id and a value each, absent where they have their default. Integers
take 1 to 9 bytes: the number of trailing one bits in the first byte is the
number of bytes that follow it.

Source: MySQL's libs/mysql/serialization/readme.md.
"""

from __future__ import annotations

from binx.errors import UnsupportedError
from binx.event.reader import Reader

_VERSION = 1
_LONGEST = 8


def read_variable(reader: Reader) -> int:
    """An unsigned integer of 1 to 9 bytes.

    Raises:
        DamagedError: it is cut.
    """
    first = reader.u8()
    following = _LONGEST if first == 0xFF else (~first & (first + 1)).bit_length() - 1
    if following == _LONGEST:
        return reader.u64()
    return (first | reader.unsigned(following) << 8) >> (following + 1)


def read_variable_signed(reader: Reader) -> int:
    """A signed integer of 1 to 9 bytes; its lowest bit is the sign.

    Raises:
        DamagedError: it is cut.
    """
    value = read_variable(reader)
    return -(value >> 1) - 1 if value & 1 else value >> 1


def read_string(reader: Reader) -> str:
    """A text after its length.

    Raises:
        DamagedError: it is cut.
    """
    return reader.text(reader.count(read_variable(reader), 1, "characters"))


def open_message(reader: Reader, last_known_field: int) -> Reader:
    """Read what stands before the fields; the reader that comes back holds the fields alone.

    Args:
        reader: at the message's first byte.
        last_known_field: the highest field id that the caller can read.

    Raises:
        DamagedError: the message is cut.
        UnsupportedError: the message's version, or a field that must be known, is not.
    """
    start = reader.index
    version = read_variable(reader)
    if version != _VERSION:
        raise UnsupportedError(
            f"expected version {_VERSION} of MySQL's serialization format, found {version}; "
            "a newer server wrote this event",
            offset=reader.position,
        )
    size = read_variable(reader)
    last_required = read_variable(reader)
    if last_required > last_known_field:
        raise UnsupportedError(
            f"expected fields up to {last_known_field}, found that field {last_required} must be known; "
            "a newer server wrote this event",
            offset=reader.position,
        )
    return reader.slice(size - (reader.index - start))
