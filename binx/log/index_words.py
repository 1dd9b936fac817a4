"""The words of the transaction index that its kernel tells by numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from binx.kernels.transactions import Kind

if TYPE_CHECKING:
    from binx.kernels.index_columns import IndexColumns
    from binx.log.scanning import TransactionScan

KIND_NAMES = {kind: kind.name.removeprefix("KIND_").lower() for kind in Kind}
"""What a transaction's kind is called in listings and data."""

INDEX_WORDS = {
    "kind": [KIND_NAMES[kind] for kind in Kind],
    "how": ["boundary", "length"],
    "commit_time_source": ["terminal_event", "gtid_event"],
}
"""By column, the words that the kernel's numbers stand for."""


class TableNames(NamedTuple):
    """The names of some of a scan's tables, each once.

    Attributes:
        databases: names of databases.
        database_numbers: by table number, the place of its database's name; of other tables 0.
        tables: names of tables.
        table_numbers: by table number, the place of its own name; of other tables 0.
    """

    databases: list[str]
    database_numbers: list[int]
    tables: list[str]
    table_numbers: list[int]

    @classmethod
    def of(cls, scan: TransactionScan, gathered: IndexColumns) -> TableNames:
        """Those of the tables that transactions did something to, in the order of their first use.

        So they do not depend on what else the scan has met.
        """
        used = gathered.tables(scan.table_count)
        names = [scan.table_name(number) for number in used]
        databases, databases_used = _distinct([db for db, _ in names])
        tables, tables_used = _distinct([name for _, name in names])
        database_numbers, table_numbers = [0] * scan.table_count, [0] * scan.table_count
        for number, database, table in zip(used, databases_used, tables_used, strict=True):
            database_numbers[number], table_numbers[number] = database, table
        return cls(databases, database_numbers, tables, table_numbers)


def _distinct(words: Sequence[str]) -> tuple[list[str], list[int]]:
    """Each word once, and for each of the words where it stands among these."""
    places = {word: place for place, word in enumerate(dict.fromkeys(words))}
    return list(places), [places[word] for word in words]
