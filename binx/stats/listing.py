"""List transactions one by one for ``ls``: in log order, or sorted."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from enum import Enum
from typing import TYPE_CHECKING

from binx.errors import BinxError, OutputError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.event.rows_events import unmapped_rows
from binx.kernels.transactions.summaries import Measure, measures, rank
from binx.kernels.walk.scan import Level
from binx.log.chain.chain import ChainLog
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection, required_level
from binx.slices.search import Search, Selected
from binx.stats.lines import LineWriter

if TYPE_CHECKING:
    from binx.rows.ddl.catalog import Catalog
    from binx.where.condition import Condition

RANKED_MAXIMUM = 10_000
"""Limit up to which a sorted listing is kept in memory; with a larger limit all goes to disk."""

_LINES_AT_ONCE = 4096


class Order(Enum):
    """Sort order of a listing."""

    LOG = "log"
    """The transactions' order in the logs."""
    BYTES = "bytes"
    ROWS = "rows"
    TIME = "time"
    """Commit time, the earliest first; all other orders begin with the largest."""
    DURATION = "duration"


_MEASURES = {
    Order.BYTES: Measure.MEASURE_BYTES,
    Order.ROWS: Measure.MEASURE_ROWS,
    Order.TIME: Measure.MEASURE_COMMIT_TIME,
    Order.DURATION: Measure.MEASURE_DURATION,
}


class Listing:
    """The transactions of a chain of logs as lines; iterate once.

    A sorted listing without a small limit uses a temporary file. The sort is stable. Logs that cannot contain
    selected transactions are skipped, and the search ends once all requested GTIDs are found.

    Args:
        chain: the logs in order, with their ends read; see :func:`binx.log.chain.inputs.open_chain`.
        selection: which transactions; its limit is applied before sorting.
        reverse: begin with the smallest, or with the latest; not with ``Order.LOG``.
        quick: read the index only, so that rows and tables stay unknown.
        where: a condition; list only transactions that change a matching row.
        tables: initially known tables, for the condition; not modified.
    """

    def __init__(
        self,
        chain: Sequence[ChainLog],
        writer: LineWriter,
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
        selection = selection or Selection()
        self._search = Search(
            chain, selection, verify=verify, where=where, tables=tables, on_damage=on_damage
        )
        if where is not None:
            from binx.rows.ddl.catalog import Catalog

            self._search.leave_out_undecodable(tables or Catalog(), intact=True)
        self._writer = writer
        self._order = order
        self._smallest = (order is Order.TIME) != reverse
        self._limit = limit
        self._level = max(Level.LEVEL_INDEX if quick else Level.LEVEL_TABLES, required_level(selection))
        self._cut_short = False
        self._uncounted: dict[str, None] = {}
        self._unmapped: dict[str, int] = {}

    @property
    def missing(self) -> GtidSet:
        """The requested GTIDs that were not found, after the listing; none if the limit ended it."""
        return GtidSet() if self._cut_short else self._search.selector.missing()

    @property
    def damage(self) -> list[str]:
        """What was skipped as unreadable up to here, in sentences."""
        return [*self._search.damage, *self._writer.unread]

    @property
    def notes(self) -> list[str]:
        """How positions were interpreted, and what is not counted, up to here."""
        uncounted = [
            f"rows of {name} are not counted, because the size of a column is not known"
            for name in self._uncounted
        ]
        unmapped = unmapped_rows(sum(self._unmapped.values()))
        return [*self._search.selector.notes, *self._search.warnings, *uncounted, *unmapped]

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines, many at a time."""
        if self._order is Order.LOG:
            return self._in_log_order()
        if self._limit is not None and self._limit <= RANKED_MAXIMUM:
            return self._ranked(self._limit)
        return self._sorted()

    def _parts(self) -> Iterator[Selected]:
        for part in self._search.walk(self._level):
            for name in part.scan.uncounted_tables():
                self._uncounted[".".join(name)] = None
            self._unmapped[part.file.path] = part.scan.unmapped_events
            yield part
        self._search.check_columns()

    def _in_log_order(self) -> Iterator[bytes]:
        remaining = self._limit
        for part in self._parts():
            if remaining is not None:
                indexes = part.table.marked(part.mask)
                for index in indexes[remaining:]:
                    part.mask[index] = 0
                remaining -= min(remaining, len(indexes))
            yield self._writer.lines(part)
            if remaining == 0:
                self._cut_short = True
                return

    def _ranked(self, limit: int) -> Iterator[bytes]:
        """Yield the best few, and only then raise what went wrong."""
        ranking = Ranking(_MEASURES[self._order], limit, self._writer, smallest=self._smallest)
        damage = self._take_all(ranking.take)
        yield b"".join(ranking.lines)
        if damage is not None:
            raise damage

    def _sorted(self) -> Iterator[bytes]:
        """Yield all, sorted in a temporary database, and only then raise what went wrong."""
        with _disk_errors(), closing(sqlite3.connect("", isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode = OFF")
            database.execute("CREATE TABLE lines (key INTEGER, ordinal INTEGER, line BLOB)")
            database.execute("BEGIN")

            def take(part: Selected) -> None:
                keys = array("q", measures(part.table, part.mask, _MEASURES[self._order]))
                indexes = part.table.marked(part.mask)
                ordinals = (part.first_seqno + index for index in indexes)
                lines = zip(keys, ordinals, self._writer.each(part, indexes), strict=True)
                database.executemany("INSERT INTO lines VALUES (?, ?, ?)", lines)

            damage = self._take_all(take)
            direction = "ASC" if self._smallest else "DESC"
            cursor = database.execute(
                f"SELECT line FROM lines ORDER BY key {direction}, ordinal LIMIT ?",
                (-1 if self._limit is None else self._limit,),
            )
            while rows := cursor.fetchmany(_LINES_AT_ONCE):
                yield b"".join(line for (line,) in rows)
        if damage is not None:
            raise damage

    def _take_all(self, take: Callable[[Selected], None]) -> BinxError | None:
        """Process all transactions that can be read; return the error that ended it."""
        try:
            for part in self._parts():
                take(part)
        except OutputError:
            raise
        except BinxError as error:
            return error
        return None


class Ranking:
    """The lines of the few transactions with the largest (or smallest) measure; ties go to the first ones.

    Args:
        smallest: whether the smallest are wanted.
        floor: ignore values up to this one.
    """

    def __init__(
        self,
        measure: Measure,
        limit: int,
        writer: LineWriter,
        *,
        smallest: bool = False,
        floor: int | None = None,
    ) -> None:
        self._measure = measure
        self._limit = limit
        self._writer = writer
        self._smallest = smallest
        self._floor = floor
        self._best: list[tuple[int, int, bytes]] = []

    def take(self, part: Selected) -> None:
        """Add the marked transactions; candidates are formatted at once."""
        sign = 1 if self._smallest else -1
        if self._best and len(self._best) == self._limit:
            self._floor = sign * self._best[-1][0]
        ranked = rank(part.table, part.mask, self._measure, self._smallest, self._limit, self._floor)
        if not ranked:
            return
        ranked.sort(key=lambda pair: pair[1])
        lines = self._writer.each(part, [index for _, index in ranked])
        for (value, index), line in zip(ranked, lines, strict=True):
            self._best.append((sign * value, part.first_seqno + index, line))
        self._best.sort(key=lambda ranked_line: ranked_line[:2])
        del self._best[self._limit :]

    @property
    def lines(self) -> list[bytes]:
        """The lines of the best transactions, the best first."""
        return [line for _, _, line in self._best]


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise OutputError(
            f"sorting needs room for temporary files, and SQLite says: {error}; TMPDIR names their folder"
        ) from error
