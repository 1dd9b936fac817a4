"""The row changes of tables, and what table maps say of those, while logs are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from binx.errors import DamagedError, UnsupportedError
from binx.event.table_map import parse_kept_map
from binx.log.scanning import TransactionScan
from binx.stats.findings import TableFacts
from binx.stats.records import DatabaseFigures, TableFigures

TABLES_MAXIMUM = 65_536
"""Tables that are kept, at least; behind twice as many, those with fewest bytes are given up."""

_NOTHING = (0, 0, 0, 0)


class TableSums:
    """The sums of all scans so far."""

    def __init__(self) -> None:
        self.facts = TableFacts()
        self.complete = True
        self._tables: dict[tuple[str, str], Sequence[int]] = {}

    def take(self, scan: TransactionScan, taken: Iterable[tuple[int, int, int, int, int]]) -> None:
        """Add a scan's sums.

        Args:
            scan: a scan that is over.
            taken: by its table numbers: transactions, inserts, updates, deletes, bytes.
        """
        changed = set()
        for number, (transactions, *sums) in enumerate(taken):
            if transactions:
                changed.add(number)
                name = scan.table_name(number)
                known = self._tables.get(name, _NOTHING)
                self._tables[name] = [before + more for before, more in zip(known, sums, strict=True)]
        self._take_maps(scan, changed)
        if len(self._tables) > 2 * TABLES_MAXIMUM:
            self._forget()

    def tables(self) -> tuple[TableFigures, ...]:
        """By table, those with most bytes first."""
        figures = [TableFigures(db, table, *sums) for (db, table), sums in self._tables.items()]
        return tuple(sorted(figures, key=lambda one: (-one.bytes, one.db, one.table)))

    def databases(self) -> tuple[DatabaseFigures, ...]:
        """By database, those with most bytes first."""
        databases: dict[str, list[int]] = {}
        for (db, _), sums in self._tables.items():
            known = databases.setdefault(db, [0, *_NOTHING])
            known[:] = [before + more for before, more in zip(known, (1, *sums), strict=True)]
        figures = [DatabaseFigures(db, *sums) for db, sums in databases.items()]
        return tuple(sorted(figures, key=lambda one: (-one.bytes, one.db)))

    def _take_maps(self, scan: TransactionScan, changed: set[int]) -> None:
        self.facts.uncounted.update(f"{db}.{table}" for db, table in scan.uncounted_tables())
        for number, body in scan.table_maps():
            if number not in changed:
                continue
            try:
                table_map = parse_kept_map(body, scan.file.format)
            except (DamagedError, UnsupportedError):
                continue  # Nothing more is known of it.
            for field_type, _ in table_map.unknown_metadata:
                self.facts.unknown_metadata.setdefault(field_type, set()).add(table_map.name)
            if not all(column.name for column in table_map.columns):
                self.facts.without_names.add(table_map.name)
            elif not table_map.has_primary_key:
                self.facts.without_key.add(table_map.name)

    def _forget(self) -> None:
        """Keep the tables with most bytes."""
        self.complete = False
        most = sorted(self._tables.items(), key=lambda item: (-item[1][-1], item[0]))[:TABLES_MAXIMUM]
        self._tables = dict(most)
        kept = {f"{db}.{table}" for db, table in self._tables}
        self.facts.without_names &= kept
        self.facts.without_key &= kept
        self.facts.uncounted &= kept
        for tables in self.facts.unknown_metadata.values():
            tables.intersection_update(kept)
