"""The loader's types: files, statements, lives of tables, and the loaded state.

A *life* is one table from its CREATE (or its first row) to its DROP or TRUNCATE, through every RENAME. Its
columns have ids, which RENAME and CHANGE keep. An *epoch* is a span of a life in which columns and key stay
the same. A *unit* is the part of a file of changes that belongs to one epoch of a life.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from binx.dataset.dataset import escape_name
from binx.log.selection.table_filter import TableFilter, table_name
from binx.rows.ddl.tokens import identifier

if TYPE_CHECKING:
    from binx.spark.lake.bases import PlacedBase

PARQUET, CSV, SQL = FORMATS = ("parquet", "csv", "sql")
"""The output formats of a table at a moment."""

FILE_BITS = 32
"""The low bits of a commit version: the offset in its log. The log's number is above them."""

MENTIONED = "mentioned"
"""The action of statements that concern a table but change neither its columns nor its key."""

Span = tuple[int, int]
"""A first and a last commit version."""

filter_of = lru_cache(TableFilter)
"""The filter of patterns of databases and of tables, both tuples."""

_QUOTED = re.compile(r"[`.*?[]|^$")
"""What a name or a pattern has only within backticks."""


class TableName(NamedTuple):
    """A table's database and name, spelled as on the server; its text is what :meth:`parse` reads."""

    db: str
    table: str

    def __str__(self) -> str:
        return ".".join(identifier(name) if _QUOTED.search(name) else name for name in self)

    @property
    def folder(self) -> str:
        """The folder of its files, relative to the output."""
        return f"{escape_name(self.db)}/{escape_name(self.table)}"

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Parse ``db.table``; names with dots are quoted with backticks.

        Raises:
            UsageError: the text is not a table name.
        """
        return cls(*table_name(text))


def listed_tables(names: Iterable[TableName]) -> str:
    """Return the first of these tables in words, for messages."""
    return ", ".join(map(str, sorted(names)[:10])) or "no table"


def second_table(effect: Mapping[str, Any]) -> TableName:
    """Return the second table of an effect that concerns two: the new name, or the other of an exchange."""
    return TableName(effect.get("new_db") or effect.get("db") or "", effect["new_table"])


class Position(NamedTuple):
    """A position in the order of all changes: the chain's rank, then the commit version in it."""

    rank: int
    scn: int


class Value(NamedTuple):
    """A column's value that is in no image; ``misfit`` is its text if the type cannot hold it."""

    value: str | None
    misfit: str | None = None


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of a schema record, with its types as Arrow and COLUMN_TYPE spell them.

    ``absent`` is the value of an inserted row whose image lacks the column, ``added`` the value that existing
    rows got when the column was added; both None if only the server knows. ``generated`` is ``virtual``,
    ``stored`` and so on. With ``changes_unlogged``, an update's image may lack the column even though its
    value changed.
    """

    name: str
    source_name: str
    arrow_type: str
    mysql_type: str = ""
    charset: str = ""
    absent: Value | None = None
    added: Value | None = None
    generated: str = ""
    changes_unlogged: bool = False


@dataclass(frozen=True, slots=True)
class Version:
    """A schema record; ``key`` are Parquet names, ``valid_from`` is a commit version."""

    name: str
    columns: tuple[FileColumn, ...]
    key: tuple[str, ...] = ()
    valid_from: int = 0


@dataclass(frozen=True, slots=True)
class ChangesFile:
    """A file of row changes, in a data set or in ``history/``.

    Attributes:
        identity: its content hash from the manifest; identifies the file permanently.
        root: the data set's folder or URI; empty for a file of ``history/``, which is below the output.
        partial: whether images may lack columns.
        dropped: commit versions in between whose rows do not count (another chain or file has them).
        spans: if not empty, only rows within these count.
        by_rows: whether rows were selected by a condition, so that transactions may be incomplete.
        gone: whether it was removed from ``history/``, as all its rows are older than the history kept.
    """

    identity: str
    table: TableName
    version: str
    chain: str
    root: str
    path: str
    rows: int
    bytes: int
    first: int
    last: int
    partial: bool = True
    dropped: tuple[int, ...] = ()
    spans: tuple[Span, ...] = ()
    by_rows: bool = False
    gone: bool = False

    @property
    def day(self) -> str:
        """The day of the commits in a file of ``history/``, in ISO format."""
        return self.path.partition("/commit_date=")[2][:10]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A file that is not loaded yet, with its log (``source``: chain and number).

    ``manifest`` is the manifest that lists it and its ``schema``; ``spans`` are those that no other export of
    its table has. An ``error`` means that the manifest does not add up, and there is no file.
    """

    file: ChangesFile
    source: str
    manifest: str
    spans: tuple[Span, ...]
    schema: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """A row of ``statements/`` that has effects (docs/dataset.md); ``time`` is the event's, in µs."""

    chain: str
    scn: int
    ordinal: int
    transaction: str
    effects: tuple[Mapping[str, Any], ...]
    time_zone: str = "SYSTEM"
    strict: bool = True
    flavour: str = "mysql"
    time: int = 0


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a life; its ``id`` survives RENAME and CHANGE and is never reused within the life."""

    id: int
    name: str
    arrow_type: str
    mysql_type: str = ""
    charset: str = ""
    nullable: bool = True


class Change(NamedTuple):
    """The values of a column in existing rows at the beginning of an epoch.

    ``former`` is the column that is converted, None for an added column. ``value`` is the value for existing
    rows of an added column, if it is ``known``, and for other columns what NULL becomes. With ``numbers``,
    rows with that value or NULL get numbers that only the server knows.
    """

    id: int
    former: Column | None
    value: Value | None = None
    known: bool = False
    numbers: bool = False


@dataclass(frozen=True, slots=True)
class Epoch:
    """A span of a life with the same columns and key (column ids; empty if there is no key).

    ``changes`` are the conversions of rows that exist at its beginning, ``since`` (None for the life's first
    epoch); other columns keep their values, dropped ones are removed. The other fields describe the session
    of the statement that began the epoch; ``strict`` is whether its SQL mode rejects values that do not fit.
    """

    since: Position | None
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    changes: tuple[Change, ...] = ()
    time_zone: str = "SYSTEM"
    strict: bool = True
    flavour: str = "mysql"

    def column(self, number: int) -> Column:
        """Return the column with an id."""
        return next(one for one in self.columns if one.id == number)


@dataclass(frozen=True, slots=True)
class Unit:
    """Rows of a file that belong to one epoch (by number) of a life, between two commit versions.

    ``ids`` are the life's ids for the columns of the file's schema version, -1 for columns not in the life.
    ``excluded`` are commit versions in between that do not count (uncommitted XA transactions).
    """

    file: ChangesFile
    version: Version
    at: Position
    first: int
    last: int
    epoch: int
    ids: tuple[int, ...]
    excluded: tuple[int, ...] = ()


@dataclass(slots=True)
class Life:
    """A life: one table from its CREATE or first row to its DROP or TRUNCATE, through every RENAME.

    Attributes:
        id: made of its first name and its place of birth; the same in every load.
        name: the table's last name; None if it was dropped, truncated or replaced.
        whole: whether its beginning is known (CREATE TABLE or TRUNCATE was logged).
        reasons: why it is incomplete, as sentences.
        parents: what changes its rows through foreign keys: a table with one of its columns, in lower case,
            or with an empty text for its deletes.
        names: its names, each with the position where it began; None for before the logs.
        base: the base that its first rows come from, None if they come from a log.
        made_by: the statements that defined it, and the names that it gave up for other tables.
    """

    id: str
    name: TableName | None
    whole: bool
    epochs: list[Epoch] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    parents: set[tuple[TableName, str]] = field(default_factory=set)
    names: list[tuple[Position | None, TableName]] = field(default_factory=list)
    base: PlacedBase | None = None
    made_by: list[Statement | tuple[TableName, TableName]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RangeFile:
    """A file of ``current/`` or ``scd2/``: ``bytes`` in memory, ``unknown`` rows that lack a value.

    Each file of ``current/`` has one key range: all rows whose keys lie between two bounds. ``deleted`` is
    the number of its rows that are kept although they are deleted.
    """

    path: str
    rows: int
    bytes: int
    unknown: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class LifeState:
    """The loaded state of a life.

    Attributes:
        folder: the folder of ``current/`` and ``scd2/``, relative to the output.
        units: the number of the life's units that are applied, which have so many ``epochs``.
        digest: a digest of these units, to detect whether they have changed.
        ranges: the files of ``current/``, one per key range, in key order.
        lows: the keys at which ranges begin, serialized by :mod:`.arrow.keys`.
        closed: the files of ended versions; ``held`` those of current versions, one for each range.
        scd2: whether versions are written.
        withheld: XA transactions, by chain and commit version, whose rows were left out.
        soft_deletes: whether ``current/`` keeps deleted rows, marked.
    """

    life: str
    name: TableName
    folder: str
    units: int = 0
    epochs: int = 0
    digest: str = ""
    ranges: tuple[RangeFile, ...] = ()
    lows: str = ""
    closed: tuple[RangeFile, ...] = ()
    held: tuple[RangeFile, ...] = ()
    scd2: bool = False
    columns: tuple[Column, ...] = ()
    key: tuple[int, ...] = ()
    withheld: tuple[tuple[str, int], ...] = ()
    soft_deletes: bool = False

    @property
    def rows(self) -> int:
        """The number of rows in ``current/``, without deleted ones."""
        return sum(file.rows - file.deleted for file in self.ranges)

    @property
    def versions(self) -> tuple[RangeFile, ...]:
        """The files of ``scd2/``."""
        return (*self.closed, *self.held)

    @property
    def stored(self) -> Epoch:
        """The columns of its files, as an epoch."""
        return Epoch(None, self.columns, self.key)


@dataclass(frozen=True, slots=True)
class Options:
    """How files are written.

    A range has about ``range_bytes`` in memory; up to ``small_bytes`` on disk are merged by one task without
    a shuffle; ``hours`` is whether files of history cover one hour instead of one day.
    """

    compression: str = "zstd"
    hours: bool = False
    range_bytes: int = 128 << 20
    small_bytes: int = 16 << 20
