"""The fields of many transactions as JSON has them before their row changes."""

from __future__ import annotations

from array import array

from binx.export.changes import Frame, Selected
from binx.export.json_values import plain_json
from binx.export.pieces import Piece
from binx.kernels.heads import whole_transactions
from binx.kernels.lines import LineColumn, TransactionLines
from binx.log.identifiers import anonymous_id
from binx.log.scanning import TransactionScan
from binx.source.wording import encoded

_COLUMNS = [
    column
    for column in LineColumn
    if column not in {LineColumn.COLUMN_STATEMENTS, LineColumn.COLUMN_DURATION}
]
"""Those of the data set's ``transactions`` but for the number of statements, in whose place these stand."""

_FRAMED = 4096
"""Transactions whose fields are written at once."""


class JsonFrames:
    """What stands around the changes of transactions without statements, each a line of JSON."""

    def __init__(self) -> None:
        names = [column.name.removeprefix("COLUMN_").lower() for column in _COLUMNS]
        leads = [f'{", " if place else "{"}"{name}": '.encode() for place, name in enumerate(names)]
        self._lines = TransactionLines(_COLUMNS, leads, True, None, b', "changes": [')
        self._scan: TransactionScan | None = None

    def frame(
        self, part: Selected, taken: array[int], first: int, piece: Piece, run: int, stop: int
    ) -> Frame | None:
        """As many as come; see :class:`~binx.export.changes.Frames`."""
        runs, stop = (piece.versions, piece.marks, piece.ends), min(stop, run + _FRAMED)
        count = whole_transactions(part.table, taken, first, *runs, run, stop, False, 0, True)
        if not count or not part.first_seqno:
            return None
        if self._scan is not part.scan:
            self._begin_file(part)
        mask = bytearray(len(part.table))
        for index in taken[first : first + count]:
            mask[index] = 1
        heads, ends = self._lines.render(part.table, mask, part.first_seqno)
        return Frame(count, ends, heads, b'], "statements": []}\n')

    def _begin_file(self, part: Selected) -> None:
        scan, file = part.scan, part.file
        self._scan = scan

        def name_of(number: int) -> bytes:
            db, table = scan.table_name(number)
            return encoded(f'{{"db": {plain_json(db)}, "table": {plain_json(table)}')

        self._lines.begin_file(
            encoded(plain_json(file.name)),
            file.commit_version(0),
            part.epoch,
            name_of,
            lambda start: anonymous_id(file, start).encode(),
        )


class RowFrames:
    """Nothing stands around row changes that are lines of their own."""

    def frame(
        self, part: Selected, taken: array[int], first: int, piece: Piece, run: int, stop: int
    ) -> Frame | None:
        """As many as come; see :class:`~binx.export.changes.Frames`."""
        runs = (piece.versions, piece.marks, piece.ends)
        count = whole_transactions(part.table, taken, first, *runs, run, stop, True, 0, True)
        return Frame(count, bytes(8 * count), b"", b"") if count else None


__all__ = ["JsonFrames", "RowFrames"]
