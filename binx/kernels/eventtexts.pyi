"""What events say, as lines for people."""

class EventTexts:
    """Writes what events say, one behind the other: a part of :class:`binx.kernels.shown.ShownTexts`."""
