"""What each transaction of a log did, as a digest.

It is that of the text of the row changes, one behind the other, and of the statements between them. Usual
transactions, of row changes alone, are written by a kernel many at a time, a line each.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from binx.export.changes import Begin, Frame, RowTexts, Selected, WholeTexts, ordered_changes
from binx.export.diff_digests import DIGEST_BYTES
from binx.export.json_lines import JsonRows
from binx.export.pieces import Piece
from binx.kernels.heads import whole_transactions
from binx.rows.catalog import Catalog
from binx.rows.statements import Statement

_FRAMED = 4096
"""Transactions whose lines are written at once."""

_END = b"\n"
"""Ends a line; JSON has none within."""


def digested(
    selected: Iterable[Selected], unreadable: set[tuple[str, str]]
) -> Iterator[tuple[str | None, bytes]]:
    """GTID and digest of each transaction; None for one without GTID.

    Args:
        selected: the transactions.
        unreadable: see :class:`~binx.rows.decoder.ChangeDecoder`.

    Raises:
        DamagedError, UnsupportedError: a transaction cannot be decoded.
    """
    digest = blake2b(digest_size=DIGEST_BYTES)
    gtid: str | None = None
    lines = _Lines()
    items = ordered_changes(
        selected,
        Catalog(),
        JsonRows(lines=False),
        as_stored=True,
        facts=("gtid",),
        frames=lines,
        unreadable=unreadable,
    )
    for item in items:
        if isinstance(item, Begin):
            digest = blake2b(digest_size=DIGEST_BYTES)
            gtid = item.facts["gtid"]
        elif isinstance(item, WholeTexts):
            yield from zip(lines.gtids, _line_digests(item.text), strict=True)
        elif isinstance(item, RowTexts):
            for chunk in item.text():
                digest.update(chunk)
        elif isinstance(item, Statement):
            digest.update(json.dumps([item.kind, item.db, item.sql]).encode())
        else:
            yield gtid, digest.digest()


def _line_digests(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The digest of each line of a text."""
    begun = blake2b(digest_size=DIGEST_BYTES)
    for chunk in chunks:
        first, *lines = chunk.split(_END)
        begun.update(first)
        for line in lines:
            yield begun.digest()
            begun = blake2b(line, digest_size=DIGEST_BYTES)


class _Lines:
    """Lets each usual transaction be a line.

    Attributes:
        gtids: of the transactions whose lines come next; None for one without.
    """

    def __init__(self) -> None:
        self.gtids: list[str | None] = []

    def frame(
        self, part: Selected, taken: array[int], first: int, piece: Piece, run: int, stop: int
    ) -> Frame | None:
        """As many as come; see :class:`~binx.export.changes.Frames`."""
        runs, stop = (piece.versions, piece.marks, piece.ends), min(stop, run + _FRAMED)
        count = whole_transactions(part.table, taken, first, *runs, run, stop, False, 0, True)
        if not count:
            return None
        self.gtids = [part.table.gtid(index) for index in taken[first : first + count]]
        return Frame(count, bytes(8 * count), b"", _END)


__all__ = ["digested"]
