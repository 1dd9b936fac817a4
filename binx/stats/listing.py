"""Transactions one by one, as ``ls`` shows them: in the order of the log, or sorted."""

from __future__ import annotations

import pickle
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from binx.errors import BinxError, OutputError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.kernels.transactions.selection import Measure, measures
from binx.kernels.walk.scan import Level
from binx.log.chain.ends import FileEnds
from binx.log.scanning import OnDamage, TransactionScan
from binx.log.selection.selection import Selection, required_level
from binx.slices.search import Search
from binx.stats.lines import LineWriter
from binx.stats.transaction import ListedTransaction, Page, Ranking, described

if TYPE_CHECKING:
    from binx.rows.ddl.catalog import Catalog
    from binx.where.condition import Condition

Item = TypeVar("Item")

_AT_ONCE = 4096

RANKED_MAXIMUM = 10_000
"""Transactions that a sorted listing with a limit holds in memory; with a larger limit all go to disk."""


class Order(Enum):
    """What a listing is sorted by."""

    LOG = "log"
    """As the transactions stand in the logs."""
    BYTES = "bytes"
    ROWS = "rows"
    TIME = "time"
    """Commit time, the earliest first; all others begin with the largest."""
    DURATION = "duration"


class Listing:
    """The transactions of a chain of logs; iterate once, over it or over :meth:`lines`.

    The memory is bounded whatever is asked: a sorted listing without a small limit goes through files in the
    folder for temporary ones. Of equals, those that stand earlier in the logs come first. Logs that cannot
    hold what is selected are passed over, and the search ends when all GTIDs asked for are found.

    Args:
        chain: the logs in their order, with their ends read; see :func:`binx.log.chain.inputs.open_chain`.
        selection: which transactions; its limit counts before the order does.
        reverse: begin with the smallest, or with the latest; cannot go with ``Order.LOG``.
        quick: read the index alone, so that rows and tables stay unknown.
        where: a condition; only transactions come that change a row which fulfils it.
        tables: the tables known beforehand, for the condition; left as they are.

    Raises:
        UsageError: the request contradicts itself.
    """

    def __init__(
        self,
        chain: Sequence[FileEnds],
        *,
        selection: Selection | None = None,
        order: Order = Order.LOG,
        reverse: bool = False,
        limit: int | None = None,
        quick: bool = False,
        verify: bool = True,
        on_damage: OnDamage = OnDamage.STOP,
        where: Condition | None = None,
        tables: Catalog | None = None,
    ) -> None:
        if limit is not None and limit < 1:
            raise UsageError(f"expected a limit of at least 1 transaction, found {limit}")
        if order is Order.LOG and reverse:
            raise UsageError("expected an order to reverse, such as time or bytes, found none")
        if order is Order.ROWS and quick:
            raise UsageError("sorting by rows needs row counts, which --quick does not read")
        if where is not None and quick:
            raise UsageError("--where needs rows, which --quick does not read")
        self._search = Search(
            chain, selection or Selection(), verify=verify, where=where, tables=tables, on_damage=on_damage
        )
        if where is not None:
            from binx.rows.ddl.catalog import Catalog

            self._search.leave_out_undecodable(tables or Catalog(), intact=True)
        self._order = order
        self._smallest = (order is Order.TIME) != reverse
        self._limit = limit
        self._level = Level.LEVEL_INDEX if quick else Level.LEVEL_TABLES
        self._cut_short = False
        self._uncounted: dict[str, None] = {}
        self._unread: list[str] = []

    @property
    def missing(self) -> GtidSet:
        """The GTIDs asked for that were not met, once the listing is over; none where its limit ended it."""
        return GtidSet() if self._cut_short else self._search.selector.missing()

    @property
    def damage(self) -> list[str]:
        """What was passed over as it could not be read, as far as the listing has come, in sentences."""
        return [*self._search.damage, *self._unread]

    @property
    def notes(self) -> list[str]:
        """How positions were understood, and what is not counted, as far as the listing has come."""
        uncounted = [
            f"rows of {name} are not counted, because the size of a column is not known"
            for name in self._uncounted
        ]
        return [*self._search.selector.notes, *self._search.warnings, *uncounted]

    def __iter__(self) -> Iterator[ListedTransaction]:
        """The transactions.

        Raises:
            DamagedError, UnsupportedError: after all that could be read.
        """
        if self._order is Order.LOG:
            for page in self._in_log_order():
                yield from described(page, page.indexes())
        elif self._limit is not None and self._limit <= RANKED_MAXIMUM:
            yield from self._ranked(described)
        else:
            for texts in self._sorted(_pickled):
                yield from map(pickle.loads, texts)

    def lines(self, writer: LineWriter) -> Iterator[bytes]:
        """The same as text, many lines at a time.

        Raises:
            DamagedError, UnsupportedError: after all that could be read.
        """
        if self._order is Order.LOG:
            for page in self._in_log_order():
                yield writer.lines(page)
        elif self._limit is not None and self._limit <= RANKED_MAXIMUM:
            yield from self._ranked(writer.each)
        else:
            yield from map(b"".join, self._sorted(lambda page: writer.each(page, page.indexes())))

    def _pages(self) -> Iterator[Page]:
        last: TransactionScan | None = None
        level = max(self._level, required_level(self._search.selector.selection))
        for part in self._search.numbered(level):
            scan = part.scan
            yield Page(
                scan.file,
                scan,
                part.table,
                part.epoch,
                part.first_seqno,
                mask=part.mask,
                numbered=part.is_numbered,
                unread=self._unread,
            )
            if last is not None and last is not scan:
                self._note_uncounted(last)
            last = scan
        if last is not None:
            self._note_uncounted(last)
        self._search.check_columns()

    def _note_uncounted(self, scan: TransactionScan) -> None:
        for name in scan.uncounted_tables():
            self._uncounted[".".join(name)] = None

    def _in_log_order(self) -> Iterator[Page]:
        left = self._limit
        for page in self._pages():
            if left is not None and page.mask is not None:
                indexes = page.indexes()
                for index in indexes[left:]:
                    page.mask[index] = 0
                left -= min(left, len(indexes))
            yield page
            if left == 0:
                self._cut_short = True
                return

    def _ranked(self, describe: Callable[[Page, Sequence[int]], Sequence[Item]]) -> Iterator[Item]:
        """The best few, and only then what went wrong."""
        assert self._limit is not None
        ranking = Ranking(_measure(self._order), self._limit, describe, smallest=self._smallest)
        damage = self._take_all(ranking.take)
        yield from ranking.items
        if damage is not None:
            raise damage

    def _sorted(self, texts_of: Callable[[Page], Iterable[bytes]]) -> Iterator[list[bytes]]:
        """The texts of all, and only then what went wrong."""
        sorter = TextSorter()
        measure = _measure(self._order)

        def take(page: Page) -> None:
            values = array("q", measures(page.table, page.mask, measure))
            keys = values if self._smallest else [-value for value in values]
            sorter.add(keys, (page.first_seqno + index for index in page.indexes()), texts_of(page))

        damage = self._take_all(take)
        yield from sorter.texts(self._limit)
        if damage is not None:
            raise damage

    def _take_all(self, take: Callable[[Page], None]) -> BinxError | None:
        """Go through all pages as far as they can be read; gives what ended it."""
        try:
            for page in self._pages():
                take(page)
        except OutputError:
            raise
        except BinxError as error:
            return error
        return None


def _pickled(page: Page) -> Iterator[bytes]:
    """A page's transactions for the way through a file of our own and back."""
    return (pickle.dumps(one) for one in described(page, page.indexes()))


def _measure(order: Order) -> Measure:
    return {
        Order.BYTES: Measure.MEASURE_BYTES,
        Order.ROWS: Measure.MEASURE_ROWS,
        Order.TIME: Measure.MEASURE_COMMIT_TIME,
        Order.DURATION: Measure.MEASURE_DURATION,
    }[order]


class TextSorter:
    """Sorts texts by a key, the least first; of equals, those with the lesser ordinal.

    Raises:
        OutputError: there is no room for temporary files; so do all methods.
    """

    def __init__(self) -> None:
        with _told():
            # A database without a name is a file that goes with the connection.
            self._database = sqlite3.connect("", isolation_level=None)
            self._database.execute("PRAGMA journal_mode = OFF")
            self._database.execute("CREATE TABLE texts (key INTEGER, ordinal INTEGER, text BLOB)")
            self._database.execute("BEGIN")

    def add(self, keys: Iterable[int], ordinals: Iterable[int], texts: Iterable[bytes]) -> None:
        """Take in some texts; no two have the same ordinal."""
        with _told():
            rows = zip(keys, ordinals, texts, strict=True)
            self._database.executemany("INSERT INTO texts VALUES (?, ?, ?)", rows)

    def texts(self, limit: int | None = None) -> Iterator[list[bytes]]:
        """All texts in their order, or the first, some thousands at a time; once."""
        query = "SELECT text FROM texts ORDER BY key, ordinal LIMIT ?"
        with _told(), closing(self._database):
            found = self._database.execute(query, (-1 if limit is None else limit,))
            while rows := found.fetchmany(_AT_ONCE):
                yield [text for (text,) in rows]


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise OutputError(
            f"sorting needs room for temporary files, and SQLite says: {error}; TMPDIR names their folder"
        ) from error
