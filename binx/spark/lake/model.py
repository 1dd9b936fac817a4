"""What a load is about: files, statements, lives of tables, and what is loaded of them.

A *life* is a table from its CREATE (or its first row) to its DROP or TRUNCATE, through every RENAME. It has
columns with ids, which RENAME and CHANGE keep, and *epochs*: spans in which its columns and key are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from binx.dataset.dataset import escape_name
from binx.log.selection.table_filter import table_name

if TYPE_CHECKING:
    from binx.spark.lake.bases import PlacedBase

PARQUET, CSV, SQL = FORMATS = ("parquet", "csv", "sql")
"""What a table at a moment is written as."""

FILE_BITS = 32
"""Bits of a commit version that are the place in its log; those above are the log's number."""

MENTIONED = "mentioned"
"""The action of statements that are about a table and change neither its columns nor its key."""

Span = tuple[int, int]
"""A first and a last commit version."""


class TableName(NamedTuple):
    """A table by database and name, as the server spells them."""

    db: str
    table: str

    def __str__(self) -> str:
        return f"{self.db}.{self.table}"

    @property
    def folder(self) -> str:
        """Where its files are, below the output."""
        return f"{escape_name(self.db)}/{escape_name(self.table)}"

    @classmethod
    def parse(cls, text: str) -> TableName:
        """From ``db.table``; names with dots stand within backticks.

        Raises:
            UsageError: it is something else.
        """
        return cls(*table_name(text))


class Position(NamedTuple):
    """A place in the order of all changes: the rank of the chain, then the commit version in it."""

    rank: int
    scn: int


class Value(NamedTuple):
    """What a column holds of which no image tells; ``misfit`` is its text where the type cannot hold it."""

    value: str | None
    misfit: str | None = None


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of a schema record, its types as Arrow and COLUMN_TYPE print them.

    ``absent`` is what an inserted row has whose image lacks the column, ``added`` what rows have that were
    there when the column came; both None where only the server knows. ``generated`` is ``virtual``,
    ``stored`` and so on; with ``changes_unlogged`` an update's image may lack the column though it changed.
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
    """A schema record, called by its version; ``key`` are Parquet names, ``valid_from`` a commit version."""

    name: str
    columns: tuple[FileColumn, ...]
    key: tuple[str, ...] = ()
    valid_from: int = 0


@dataclass(frozen=True, slots=True)
class ChangesFile:
    """A file of row changes, in a data set or in ``history/``.

    Attributes:
        identity: its content hash in the manifest; what tells it from others for good.
        root: the data set's folder or URI; empty for a file of ``history/``, below the output.
        first: the first commit version whose rows count; ``last`` the last one.
        partial: whether images may lack columns.
        dropped: commit versions in between whose rows do not count (another chain or file has them).
        spans: if not empty, only rows within these count.
        by_rows: whether a condition chose rows, so that of its transactions some may be missing.
        gone: whether it was removed from ``history/``, all its rows being older than what is kept.
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
        """That of the commits in a file of ``history/``, as ISO prints it."""
        return self.path.partition("/commit_date=")[2][:10]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A file that no load has taken, of a log (``source``: its chain and number).

    ``manifest`` lists it and its ``schema``, ``spans`` are those that it has of its table alone; with an
    ``error`` the manifest does not add up, and there is no file.
    """

    file: ChangesFile
    source: str
    manifest: str
    spans: tuple[Span, ...]
    schema: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """A row of ``statements/`` that has effects (docs/dataset.md); ``time`` of the event, in µs."""

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
    """A column of a life: ``id`` stays through RENAME and CHANGE, no other column of the life ever has it."""

    id: int
    name: str
    arrow_type: str
    mysql_type: str = ""
    charset: str = ""
    nullable: bool = True


class Change(NamedTuple):
    """What rows that are there get in a column at the beginning of an epoch.

    ``former`` is None for a column that was added; ``value`` is what its rows have, if that is ``known``, and
    of other columns what NULL becomes.
    """

    id: int
    former: Column | None
    value: Value | None = None
    known: bool = False


@dataclass(frozen=True, slots=True)
class Epoch:
    """A span of a life with the same columns and key (ids of columns; empty where there is none).

    ``changes`` are what becomes of rows that are there at its beginning, ``since`` (None for the life's
    first): other columns stay, dropped ones go. The rest is of the session that began it; ``strict`` says
    whether its SQL mode makes errors of values that do not fit.
    """

    since: Position | None
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    changes: tuple[Change, ...] = ()
    time_zone: str = "SYSTEM"
    strict: bool = True
    flavour: str = "mysql"

    def column(self, number: int) -> Column:
        """The column of an id."""
        return next(one for one in self.columns if one.id == number)


@dataclass(frozen=True, slots=True)
class Unit:
    """Rows of a file that belong to a life, all of one epoch (its number), between two commit versions.

    ``ids`` are those of the columns of the file's schema version, -1 for none of the life's; ``excluded`` are
    commit versions in between that do not count (XA transactions that are not committed).
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
    """A life as the statements and files tell it.

    Attributes:
        id: from its first name and where it was born; the same in every load.
        name: the table's name at the end; None where it was dropped, truncated or replaced.
        whole: whether its beginning is known (CREATE TABLE or TRUNCATE was logged).
        reasons: what makes it incomplete, in sentences.
        parents: tables whose deletions reach rows of it.
        names: what it was called, each with where that began; None for before the logs.
        base: what its first rows are of, None where they are of a log.
        made_by: the statements that defined it, and the names that it left for others.
    """

    id: str
    name: TableName | None
    whole: bool
    epochs: list[Epoch] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    parents: set[TableName] = field(default_factory=set)
    names: list[tuple[Position | None, TableName]] = field(default_factory=list)
    base: PlacedBase | None = None
    made_by: list[Statement | tuple[TableName, TableName]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RangeFile:
    """A file of ``current/`` or ``scd2/``: ``bytes`` in memory, ``unknown`` rows that lack a value.

    Of ``current/``, ``deleted`` rows are those that are there though they are gone.
    """

    path: str
    rows: int
    bytes: int
    unknown: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class LifeState:
    """What is loaded of a life.

    Attributes:
        folder: of ``current/`` and ``scd2/``, below the output.
        units: how many of the life's units are applied, which have so many ``epochs``.
        digest: of these, which tells whether they are still the same.
        ranges: the files of ``current/``, in the order of the key.
        lows: where each range begins, as :mod:`.arrow.keys` writes it.
        closed: the files of versions that ended; ``held`` of those that hold, one for each range.
        scd2: whether there are versions.
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
        """How many are there."""
        return sum(file.rows - file.deleted for file in self.ranges)

    @property
    def versions(self) -> tuple[RangeFile, ...]:
        """The files of ``scd2/``."""
        return (*self.closed, *self.held)

    @property
    def stored(self) -> Epoch:
        """The columns of its files."""
        return Epoch(None, self.columns, self.key)


@dataclass(frozen=True, slots=True)
class LifePlan:
    """What a load does for one life: with ``units``, bring its state from ``former`` to ``goal``.

    ``former`` is None where nothing is loaded or everything is made anew; ``goal`` has no files as yet.
    """

    former: LifeState | None
    goal: LifeState
    epochs: tuple[Epoch, ...]
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """How files are written.

    About ``range_bytes`` in memory are a range; ``small_bytes`` on disk one task merges without a shuffle;
    ``hours`` whether files of history are of one hour instead of one day.
    """

    compression: str = "zstd"
    hours: bool = False
    range_bytes: int = 128 << 20
    small_bytes: int = 16 << 20
