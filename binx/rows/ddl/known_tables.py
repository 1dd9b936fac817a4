"""The known tables and databases, found by their names."""

from __future__ import annotations

from collections.abc import Iterator

from binx.rows.columns.schema import TableDefinition, folded_name
from binx.rows.ddl.parsed_statements import DeclaredCharset


def folded(db: str, name: str) -> tuple[str, str]:
    """Return a table's database and name, case-folded."""
    return folded_name(db), folded_name(name)


class KnownTables:
    """Definitions of tables.

    Names are kept as logged. Lookups match exactly or, as servers with
    lower_case_table_names log names in varying case, case-insensitively if only
    one table or database matches.

    Attributes:
        databases: character sets of databases, by name.
    """

    def __init__(self) -> None:
        self._tables: dict[tuple[str, str], tuple[TableDefinition, ...]] = {}
        self.databases: dict[str, DeclaredCharset] = {}

    def __iter__(self) -> Iterator[TableDefinition]:
        for same_name in self._tables.values():
            yield from same_name

    def __len__(self) -> int:
        return sum(map(len, self._tables.values()))

    def lookup(self, db: str, table: str) -> TableDefinition | None:
        """Return the table's definition, or None if it is not known.

        Tables from a dump without database names are found in every database.
        If the definition's ``unknown`` is set, only the table's existence is known.
        """
        definition = self.find(db, table)
        return definition if definition is not None or not db else self.find("", table)

    def find(self, db: str, table: str) -> TableDefinition | None:
        """Like :meth:`lookup`, but without the tables from a dump without database names."""
        candidates = self._tables.get(folded(db, table), ())
        for candidate in candidates:
            if candidate.db == db and candidate.name == table:
                return candidate
        return candidates[0] if len(candidates) == 1 else None

    def database(self, name: str) -> str:
        """Return a database's name as in ``databases``; the given one if it is not there."""
        if name in self.databases:
            return name
        matches = [db for db in self.databases if folded_name(db) == folded_name(name)]
        return matches[0] if len(matches) == 1 else name

    def put(self, table: TableDefinition) -> None:
        """Add a table, replacing the one with exactly this name."""
        key = folded(table.db, table.name)
        others = (old for old in self._tables.get(key, ()) if (old.db, old.name) != (table.db, table.name))
        self._tables[key] = (*others, table)

    def remove(self, table: TableDefinition) -> None:
        """Remove a table, if known."""
        key = folded(table.db, table.name)
        others = tuple(other for other in self._tables.pop(key, ()) if other is not table)
        if others:
            self._tables[key] = others
