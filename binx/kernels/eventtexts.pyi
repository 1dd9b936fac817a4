"""What events say, as lines for people."""

PLACE_WIDTH: int
"""Characters of an event's place, at least."""

class EventTexts:
    """Writes what events say, one behind the other: a part of :class:`binx.kernels.shown.ShownTexts`."""
