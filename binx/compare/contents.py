"""What each transaction of a log did, as a digest.

It is that of the text of the row changes, one behind the other, and of the statements between them. Usual
transactions, of row changes alone, are written by a kernel many at a time, a line each.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from binx.compare.digests import DIGEST_BYTES
from binx.kernels.transactions.selection import whole_transactions
from binx.rows.ddl.catalog import Catalog
from binx.rows.statements import Statement
from binx.slices.changes import Begin, Frame, RowTexts, Selected, WholeTexts, ordered_changes
from binx.slices.json_lines import JsonRows
from binx.slices.pieces import Piece

_FRAMED = 4096
"""Transactions whose lines are written at once."""

_END = b"\n"
"""Ends a line; JSON has none within."""


def digested(
    selected: Iterable[Selected], catalog: Catalog, unreadable: set[tuple[str, str]]
) -> Iterator[tuple[str | None, bytes]]:
    """GTID and digest of each transaction; None for one without GTID.

    Raises:
        DamagedError, UnsupportedError: a transaction cannot be decoded.
    """
    digest = blake2b(digest_size=DIGEST_BYTES)
    gtid: str | None = None
    lines = _Lines()
    items = ordered_changes(
        selected,
        catalog,
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
            digest.update(json.dumps(statement_facts(item)).encode())
        else:
            yield gtid, digest.digest()


def statement_facts(statement: Statement) -> list[object]:
    """All that decides what a statement that is run again does."""
    seeds = (statement.insert_id, statement.last_insert_id, statement.rand_seeds, statement.user_vars)
    return [statement.db, statement.sql, statement.kind, *seeds]


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
        """As many as come; see :class:`~binx.slices.changes.Frames`."""
        runs, stop = (piece.versions, piece.marks, piece.ends), min(stop, run + _FRAMED)
        count = whole_transactions(part.table, taken, first, *runs, run, stop, False, 0, True)
        if not count:
            return None
        self.gtids = [part.table.gtid(index) for index in taken[first : first + count]]
        return Frame(count, bytes(8 * count), b"", _END)
