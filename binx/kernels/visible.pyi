"""Which characters a terminal does not show, as Unicode's tables have them."""

INVISIBLE: frozenset[str]
"""Categories of characters that are not shown, or do something to a terminal."""

def invisible_page(page: int) -> bytes:
    """A bit for each of 256 characters, the lowest of the first byte first, set where it is invisible."""
