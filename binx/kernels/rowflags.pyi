"""The flags of many rows events, by the places where they stand."""

from typing_extensions import Buffer

def rows_flags(
    window: Buffer, origin: int, positions: Buffer, first: int, post_header: Buffer, flags: Buffer
) -> int:
    """Fill in the low byte of the flags of the events from ``first`` on, as far as the window shows them.

    What is no rows event has none.

    Args:
        window: the file's bytes from ``origin`` on.
        origin: offset in the file of the window's first byte.
        positions: where the events stand, 64-bit integers; one may be named many times, one after another.
        first: the number of the first event that is wanted.
        post_header: the post-header lengths of the types, from type 1 on.
        flags: a byte for each event.

    Returns:
        The number of the first event that the window does not show.
    """
