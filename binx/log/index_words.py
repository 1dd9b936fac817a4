"""The words of the transaction index that its kernel tells by numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from binx.kernels.transactions import Kind

if TYPE_CHECKING:
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
    """The names of a scan's tables, each once.

    Attributes:
        databases: names of databases.
        database_numbers: by table number, the place of its database's name.
        tables: names of tables.
        table_numbers: by table number, the place of its own name.
    """

    databases: list[str]
    database_numbers: list[int]
    tables: list[str]
    table_numbers: list[int]

    @classmethod
    def of(cls, scan: TransactionScan) -> TableNames:
        """Those of the tables that the scan has seen so far."""
        names = [scan.table_name(number) for number in range(scan.table_count)]
        return cls(*_distinct([db for db, _ in names]), *_distinct([name for _, name in names]))


def _distinct(words: Sequence[str]) -> tuple[list[str], list[int]]:
    """Each word once, and for each of the words where it stands among these."""
    places = {word: place for place, word in enumerate(dict.fromkeys(words))}
    return list(places), [places[word] for word in words]
