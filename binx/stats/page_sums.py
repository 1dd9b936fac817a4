"""What the HTML page needs beyond the figures, gathered in the same pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo

from binx.log.binlog_file import BinlogFile
from binx.slices.search import Selected
from binx.stats.activity import Activity
from binx.stats.breakdown import GroupSums
from binx.stats.dimensions import Dimension
from binx.stats.sums import Record

STATEMENTS_MAXIMUM = 64 * 1024 * 1024
"""Size of logs up to which their statements are read for the page without ``--by statement``."""


class PageSums:
    """Collects activity over time, and statements of logs that are not large.

    Args:
        by: the dimensions of the page's breakdown.
        quick: whether only the index is read.
    """

    def __init__(
        self, files: Sequence[BinlogFile], by: Sequence[Dimension], zone: tzinfo, *, quick: bool
    ) -> None:
        self.activity = Activity(zone)
        is_small = sum(file.size for file in files) <= STATEMENTS_MAXIMUM
        reads_statements = is_small and not quick and Dimension.STATEMENT not in by
        self._statements = GroupSums([Dimension.STATEMENT], zone=zone) if reads_statements else None

    @property
    def takers(self) -> list[Callable[[Selected], None]]:
        """What takes the selected transactions."""
        return [self.activity.take, *([] if self._statements is None else [self._statements.take])]

    @property
    def statements(self) -> Record | None:
        """The breakdown by statement, if statements were read; call it once."""
        return None if self._statements is None else self._statements.breakdown()
