"""Payload events: their fields, the small ones ahead in a window, and the events that were in them."""

from collections.abc import Sequence
from typing import Any

from typing_extensions import Buffer

def whole_events(window: Buffer) -> tuple[int, int]:
    """Return the bytes of whole events at a window's start, and the size field of the event after them.

    The second is 0 if that event's header is truncated, and less than a header if the size is invalid.
    """

def payload_fields(body: Buffer, origin: int) -> tuple[int, int | None, int | None, int | None]:
    """Read the fields of a TRANSACTION_PAYLOAD event before its compressed bytes.

    Args:
        body: the event's bytes after its header, or the first of them.
        origin: offset in the file of the first byte.

    Returns:
        The number of bytes that the fields take; the payload's size, its compression and its size before it
        was compressed, each None if the event does not have it.

    Raises:
        DamagedError: the fields do not fit the bytes.
    """

def small_payloads(
    window: Buffer, origin: int, position: int, checksum_size: int, limit: int
) -> tuple[bytes, bytes, bytes]:
    """Find the payload events of zstd that follow an event, as far as they are whole in a window.

    Args:
        origin: offset in the file of the window's first byte.
        position: offset in the file of an event.
        limit: bytes that they may take together once they are decompressed.

    Returns:
        64-bit integers: the offset of each in the file; offset in the window and size of its compressed
        bytes; its size before it was compressed, as the event has it.
    """

class OpenedPayloads:
    """The events of payload events, decompressed together.

    Args:
        positions: offsets of the payload events in the file, ascending, as 64-bit integers.
        payloads: the events of each, as a buffer.
    """

    def __init__(self, positions: bytes, payloads: Sequence[Any]) -> None: ...
    def __len__(self) -> int:
        """Bytes of all events."""

    @property
    def last(self) -> int:
        """Offset of the last payload event; -1 if there is none."""

    def at(self, position: int) -> memoryview | None:
        """Return the events of the payload event at that offset; None if they are not here, or not whole."""
