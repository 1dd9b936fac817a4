"""What stands before the row changes of whole transactions, many transactions at a time.

A format is a list of fields: what is said of a transaction, and the text around it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

from binx.kernels.render.transactions import TransactionTexts
from binx.log.identifiers import anonymous_id
from binx.log.scanning import TransactionScan
from binx.slices.changes import Frame, Selected
from binx.source.wording import encoded

FRAMED = 4096
"""Transactions whose heads are made at once."""


class Heads:
    """Makes frames around the row changes of transactions."""

    def __init__(
        self,
        texts: TransactionTexts,
        foot: bytes,
        shown: Callable[[str], str],
        table: Callable[[str, str], str],
    ) -> None:
        self._texts = texts
        self._foot = foot
        self._shown = shown
        self._table = table
        self._scan: TransactionScan | None = None

    def frame(self, part: Selected, taken: array[int], first: int, count: int) -> Frame:
        """The frame of some transactions."""
        if self._scan is not part.scan:
            self._begin(part)
        heads, ends = self._texts.render_taken(part.table, taken, first, count, part.first_seqno)
        return Frame(count, ends, heads, self._foot)

    def _begin(self, part: Selected) -> None:
        scan, file = part.scan, part.file
        self._scan = scan
        self._texts.begin_file(
            encoded(self._shown(file.name)),
            file.commit_version(0),
            part.epoch,
            lambda number: encoded(self._table(*scan.table_name(number))),
            lambda start: anonymous_id(file, start).encode(),
        )
