"""Lives of tables.

A *life* is one table from its CREATE (or its first row) to its DROP or TRUNCATE, through every RENAME. Its
columns have ids, which RENAME and CHANGE keep. An *epoch* is a span of a life in which columns and key stay
the same. A *unit* is the part of a file of changes that belongs to one epoch of a life.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from binx.lake.dataset.files import ChangesFile, Value, Version
from binx.lake.dataset.loaded_chains import ChangePosition
from binx.lake.dataset.placement import PlacedBase
from binx.lake.table_name import TableName
from binx.rows.change_groups import ChangePlace


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a life; its ``id`` survives RENAME and CHANGE and is never reused within the life."""

    id: int
    name: str
    arrow_type: str
    mysql_type: str = ""
    charset: str = ""
    nullable: bool = True


class ColumnChange(NamedTuple):
    """The values of a column in existing rows at the beginning of an epoch.

    ``former`` is the column that is converted, None for an added column. ``value`` is the value for existing
    rows of an added column, if it is ``known``. With ``numbers``, rows with 0 or NULL get numbers that only
    the server knows.
    """

    id: int
    former: TableColumn | None
    value: Value | None = None
    known: bool = False
    numbers: bool = False


@dataclass(frozen=True, slots=True)
class SchemaSpan:
    """A span of a life with the same columns and key (column ids; empty if there is no key).

    ``changes`` are the conversions of rows that exist at its beginning, ``since`` (None for the life's first
    epoch); other columns keep their values, dropped ones are removed. ``sql_mode`` is that of the statement
    that made them, None if unknown. ``is_ordered`` is whether the order of the columns is known.
    """

    since: ChangePosition | None
    columns: tuple[TableColumn, ...]
    key: tuple[int, ...]
    changes: tuple[ColumnChange, ...] = ()
    sql_mode: str | None = None
    is_ordered: bool = True

    def column(self, number: int) -> TableColumn:
        """Return the column with an id."""
        return next(column for column in self.columns if column.id == number)


@dataclass(frozen=True, slots=True)
class FileSpan:
    """Rows of a file that belong to one epoch (by number) of a life, between two commit versions.

    ``ids`` are the life's ids for the columns of the file's schema version, -1 for hidden hashes of keys.
    ``excluded`` are commit versions in between that do not count (uncommitted XA transactions). Of the
    transaction of ``before``, only the changes before that one count.
    """

    file: ChangesFile
    version: Version
    at: ChangePosition
    first: int
    last: int
    epoch: int
    ids: tuple[int, ...]
    excluded: tuple[int, ...] = ()
    before: ChangePlace | None = None


@dataclass(slots=True)
class TableHistory:
    """A life: one table from its CREATE or first row to its DROP or TRUNCATE, through every RENAME.

    Attributes:
        id: made of its first name and its place of birth; the same in every load.
        name: the table's last name; None if it was dropped, truncated or replaced.
        whole: whether its beginning is known (CREATE TABLE or TRUNCATE was logged).
        empty: parts of files that must have no rows, as statements gave it other columns there.
        reasons: why it is incomplete, as sentences.
        parents: what changes its rows through foreign keys: a table with one of its columns, in lower case,
            or with an empty text for its deletes.
        names: its names, each with the position where it began; None for before the logs.
        base: the base that its first rows come from, None if they come from a log.
        server: the server that logged its CREATE TABLE; empty if the logs do not have it.
        is_keyed: whether the primary key of all its rows is known: the logs tell it, or it was given.
        key_is_given: whether it was given.
        left: by former name, when the statement was committed that took it away: a DROP, TRUNCATE, RENAME or
            CREATE (µs since 1970).
        last_id: the last id that a column got.
        shard: the first chain of the logs that it comes from, if servers are shards; else empty.
    """

    id: str
    name: TableName | None
    whole: bool
    epochs: list[SchemaSpan] = field(default_factory=list)
    units: list[FileSpan] = field(default_factory=list)
    empty: list[tuple[ChangesFile, int, int]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    parents: set[tuple[TableName, str]] = field(default_factory=set)
    names: list[tuple[ChangePosition | None, TableName]] = field(default_factory=list)
    base: PlacedBase | None = None
    server: str = ""
    is_keyed: bool = False
    key_is_given: bool = False
    left: dict[TableName, int] = field(default_factory=dict)
    last_id: int = 0
    shard: str = ""

    def new_id(self) -> int:
        """Return the id of a new column."""
        self.last_id += 1
        return self.last_id
