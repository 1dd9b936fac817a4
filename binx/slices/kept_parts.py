"""What a search has found, for whoever goes over it twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binx.slices.changes import Selected

KEPT_BYTES = 16 * 1024 * 1024
"""Records of some 80,000 transactions."""


class KeptParts:
    """Keeps the parts of logs that a search yields, unless they take too much memory.

    A log of few large transactions need not be searched a second time for what is known of these.

    Attributes:
        parts: all parts, once the search has ended; None where they were too many.
    """

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        self.parts: list[Selected] | None = []
        self._left = limit

    def over(self, selected: Iterable[Selected]) -> Iterator[Selected]:
        """Go over the parts for the first time."""
        for part in selected:
            self._left -= part.table.bytes_held + len(part.mask)
            if self._left < 0:
                self.parts = None
            elif self.parts is not None:
                self.parts.append(part)
            yield part
