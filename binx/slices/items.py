"""What a walk over selected transactions yields: their beginnings, row changes, statements and ends.

Ordinary transactions, which consist of row changes only, are framed by a kernel in bulk.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from binx.kernels.render.transactions import TransactionTexts
from binx.kernels.transactions.summaries import whole_transactions
from binx.kernels.transactions.table import TransactionTable
from binx.log.binlog_file import BinlogFile, TransactionScan
from binx.log.identifiers import anonymous_id
from binx.rows.logged_statements import Statement
from binx.slices.rendering import MergedChanges
from binx.slices.search import Selected
from binx.source.wording import encoded

_FRAMED = 4096
"""Maximum number of transactions framed at a time."""


@dataclass(frozen=True, slots=True)
class Begin:
    """The start of a transaction.

    Attributes:
        part: the transactions that it is one of.
        index: its index there.
        facts: a row of the data set's ``transactions``; times in µs since 1970.
    """

    part: Selected
    index: int
    facts: dict[str, Any]

    @property
    def file(self) -> BinlogFile:
        """The file that contains it."""
        return self.part.file

    @property
    def table(self) -> TransactionTable:
        """The table that contains it."""
        return self.part.table

    @property
    def version(self) -> int:
        """The commit version."""
        version: int = self.facts["commit_version"]
        return version


@dataclass(frozen=True, slots=True)
class RowTexts:
    """Row changes of the current transaction.

    Attributes:
        mark: the mark that the renderer gave all of them.
    """

    piece: MergedChanges
    first: int
    last: int
    mark: int

    def text(self) -> Iterator[bytes]:
        """Return their texts, concatenated, in chunks."""
        return self.piece.text(self.first, self.last)


@dataclass(frozen=True, slots=True)
class WholeTexts:
    """Whole transactions as text, including the text around their row changes."""

    count: int
    text: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class End:
    """The end of the current transaction."""


Item = Begin | RowTexts | WholeTexts | Statement | End


class Run(NamedTuple):
    """Transactions of a part, and the runs of a piece that hold their row changes.

    Attributes:
        taken: indexes of the selected transactions.
        first: index into ``taken`` of the next transaction.
        run: the next run.
        stop: the run to stop at; earlier runs have all remaining changes of their transaction.
    """

    part: Selected
    taken: array[int]
    first: int
    piece: MergedChanges
    run: int
    stop: int

    def usual(self, commits: bool = False, mark: int = 0, without_gtid: bool = True) -> int:
        """Return how many of the next transactions are ordinary: row changes only.

        Args:
            commits: accept only transactions that ended in a storage engine's commit.
            mark: accept only transactions whose row changes all have this mark.
            without_gtid: also accept transactions without GTID.
        """
        piece, stop = self.piece, min(self.stop, self.run + _FRAMED)
        return whole_transactions(
            *(self.part.table, self.taken, self.first, piece.versions, piece.marks, piece.ends),
            *(self.run, stop, commits, mark, without_gtid),
        )


class Frame(NamedTuple):
    """The text around the row changes of some transactions.

    Attributes:
        head_ends: end offset of the text before each transaction; 8 bytes each, native byte order.
    """

    transactions: int
    head_ends: bytes
    heads: bytes
    foot: bytes


Frames = Callable[[Run], Frame | None]
"""Frames as many ordinary transactions as possible; None if the next transaction is not ordinary."""


class Heads:
    """Makes the texts before transactions' row changes, and the frames of ordinary transactions.

    Args:
        texts: makes the text before each transaction's row changes.
        shown: formats a file's name.
        table: formats a table's database and name.
    """

    def __init__(
        self,
        texts: TransactionTexts,
        foot: bytes,
        file_text: Callable[[str], str],
        table: Callable[[str, str], str],
    ) -> None:
        self._texts = texts
        self._foot = foot
        self._file_text = file_text
        self._table = table
        self._scan: TransactionScan | None = None

    def frame(self, run: Run, count: int) -> Frame | None:
        """Return the frame of the next ``count`` transactions."""
        if not count:
            return None
        heads, ends = self._render(run.part, run.taken[run.first : run.first + count])
        return Frame(count, ends, heads, self._foot)

    def text(self, begin: Begin) -> bytes:
        """Return the text before a transaction's row changes."""
        return self._render(begin.part, array("q", [begin.index]))[0]

    def _render(self, part: Selected, indexes: array[int]) -> tuple[bytes, bytes]:
        if self._scan is not part.scan:
            scan = self._scan = part.scan
            self._texts.begin_file(
                encoded(self._file_text(scan.file.name)),
                scan.file.commit_version(0),
                part.epoch,
                lambda number: encoded(self._table(*scan.table_name(number))),
                lambda start: anonymous_id(scan.file, start).encode(),
            )
        return self._texts.render(part.table, indexes, part.first_seqno)
