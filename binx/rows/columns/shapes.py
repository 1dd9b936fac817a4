"""Tables whose columns change though no statement was seen that changed them."""

from __future__ import annotations

from collections.abc import Iterator

from binx.event.column import Column
from binx.event.table_map import TableMap

_Key = tuple[str, str]


class Shapes:
    """The columns that each table had when it was met last, in a part of a log that can be joined to another.

    Databases and tables are told apart whatever the case of their letters, as statements may write them so.
    """

    def __init__(self) -> None:
        self._last: dict[_Key, tuple[str, tuple[Column, ...]]] = {}
        self._first: dict[_Key, tuple[str, tuple[Column, ...]]] = {}
        self._touched: set[_Key] = set()
        self._touched_databases: set[str] = set()
        self._are_all_touched = False

    def saw(self, table_map: TableMap) -> str | None:
        """Take in a table map; gives a sentence where its table had other columns before."""
        key = (table_map.database.casefold(), table_map.table.casefold())
        found = (table_map.name, table_map.columns)
        if not self._is_touched(key):
            self._first.setdefault(key, found)
        before = self._last.get(key)
        self._last[key] = found
        return None if before is None else _told(before[1], *found)

    def touch(self, database: str, table: str) -> None:
        """A statement may have changed a table, called by its names casefolded."""
        self._last.pop((database, table), None)
        self._touched.add((database, table))

    def touch_database(self, database: str) -> None:
        """A statement may have changed any table of a database, called by its name casefolded."""
        for key in [key for key in self._last if key[0] == database]:
            del self._last[key]
        self._touched_databases.add(database)

    def touch_all(self) -> None:
        """A statement may have changed any table."""
        self._last.clear()
        self._are_all_touched = True

    def join(self, behind: Shapes) -> Iterator[str]:
        """Take in the next part of the log; gives a sentence for each table that has other columns there."""
        for key, found in behind._first.items():
            before = self._last.get(key)
            told = None if before is None else _told(before[1], *found)
            if told is not None:
                yield told
        for key in [key for key in self._last if behind._is_touched(key)]:
            del self._last[key]
        self._last.update(behind._last)

    def _is_touched(self, key: _Key) -> bool:
        return self._are_all_touched or key[0] in self._touched_databases or key in self._touched


def _told(before: tuple[Column, ...], name: str, columns: tuple[Column, ...]) -> str | None:
    if _alike(before, columns):
        return None
    return (
        f"the columns of {name} change, and no statement that changed them is in the log: it was not"
        " logged (sql_log_bin=0) or cannot be read. Rows before and after are decoded according to"
        " their own table maps"
    )


def _alike(before: tuple[Column, ...], after: tuple[Column, ...]) -> bool:
    """Whether columns may be the same: stored alike, and called alike where both have names."""
    return len(before) == len(after) and all(
        (one.type, one.metadata) == (other.type, other.metadata)
        and (one.name is None or other.name is None or one.name == other.name)
        for one, other in zip(before, after, strict=True)
    )


__all__ = ["Shapes"]
