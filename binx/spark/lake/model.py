"""What a load is about: files, statements, lives of tables, what is to be done and what was done.

A *life* is a table from its CREATE (or its first row) to its DROP or TRUNCATE, through every RENAME. It has
columns with ids, which RENAME and CHANGE keep, and *epochs*: spans in which its columns and key are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from binx.spark.lake.bases import PlacedBase

PARQUET, CSV, SQL = FORMATS = ("parquet", "csv", "sql")
"""What a table at a moment is written as."""


FILE_BITS = 32
"""Bits of a commit version that are the place in its log; those above are the log's number."""


class TableName(NamedTuple):
    """A table by database and name, as the server spells them."""

    db: str
    table: str

    def __str__(self) -> str:
        return f"{self.db}.{self.table}"


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
    """A column of a schema record.

    Attributes:
        source_name: on the server.
        arrow_type: as Arrow prints it.
        mysql_type: as COLUMN_TYPE has it; empty where it is not known.
        charset: of text.
        absent: what an inserted row has whose image lacks the column; None where only the server knows.
        added: what rows have that were there when the column came; None where only the server knows.
        generated: how the server makes the value, as ``virtual`` or ``stored``; empty where it does not.
    """

    name: str
    source_name: str
    arrow_type: str
    mysql_type: str = ""
    charset: str = ""
    absent: Value | None = None
    added: Value | None = None
    generated: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """A schema record, called by its version; ``key`` are Parquet names, ``valid_from`` a commit version."""

    name: str
    columns: tuple[FileColumn, ...]
    key: tuple[str, ...] = ()
    valid_from: int = 0

    def to_json(self) -> dict[str, Any]:
        """For the state."""
        return asdict(self)

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Version:
        """What :meth:`to_json` wrote."""
        columns = (
            FileColumn(**{**one, "absent": _value(one["absent"]), "added": _value(one["added"])})
            for one in entry["columns"]
        )
        return cls(entry["name"], tuple(columns), tuple(entry["key"]), entry["valid_from"])


def _value(entry: list[str | None] | None) -> Value | None:
    return None if entry is None else Value(*entry)


@dataclass(frozen=True, slots=True)
class ChangesFile:
    """A file of row changes, in a data set or in ``history/``.

    Attributes:
        identity: its content hash in the manifest; what tells it from others for good.
        root: the data set's folder or URI; empty for a file of ``history/``, below the output.
        chain: the name of its chain.
        first: the first commit version whose rows count.
        last: the last one.
        dropped: commit versions in between whose rows do not count (another chain or file has them).
        spans: if not empty, only rows within these (first, last) count.
        partial: whether images may lack columns.
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
    spans: tuple[tuple[int, int], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For the state."""
        return {key: value for key, value in asdict(self).items() if value not in ((), "")}

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> ChangesFile:
        """What :meth:`to_json` wrote."""
        spans = tuple((first, last) for first, last in entry.get("spans", ()))
        return cls(
            **{
                "root": "",
                **entry,
                "table": TableName(*entry["table"]),
                "dropped": tuple(entry.get("dropped", ())),
                "spans": spans,
            }
        )


@dataclass(frozen=True, slots=True)
class Statement:
    """A row of ``statements/`` that has effects.

    Attributes:
        time: of the event, in µs since 1970.
        effects: as ``statements/`` has them (docs/dataset.md).
        strict: whether the SQL mode makes errors of values that do not fit.
    """

    chain: str
    scn: int
    ordinal: int
    transaction: str
    effects: tuple[Mapping[str, Any], ...]
    time_zone: str = "SYSTEM"
    strict: bool = True
    flavour: str = "mysql"
    time: int = 0

    def to_json(self) -> dict[str, Any]:
        """For the state."""
        return asdict(self)

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Statement:
        """What :meth:`to_json` wrote."""
        return cls(**{**entry, "effects": tuple(entry["effects"])})


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

    Attributes:
        id: the column's.
        former: the column before; None for one that was added.
        value: of an added column, where it is known; of another one what NULL becomes.
        known: whether ``value`` of an added column is known.
    """

    id: int
    former: Column | None
    value: Value | None = None
    known: bool = False


@dataclass(frozen=True, slots=True)
class Epoch:
    """A span of a life with the same columns and key.

    Attributes:
        since: its beginning; None for the life's first.
        key: ids of the columns that identify rows, empty where there are none.
        changes: how rows that are there change at the beginning; other columns stay, dropped ones go.
        time_zone: of the session that began it.
        flavour: ``mysql`` or ``mariadb``.
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
    """Rows of a file that belong to a life, all of one epoch.

    Attributes:
        at: where they begin.
        first: the first commit version of them.
        last: the last one.
        excluded: commit versions in between that do not count (XA transactions that are not committed).
        ids: for each column of the file's schema version the column's id; -1 for none of the life's.
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


@dataclass(frozen=True, slots=True)
class RangeFile:
    """A file of ``current/`` or ``scd2/``.

    Attributes:
        bytes: of its rows in memory.
        unknown: rows whose ``_unknown`` names a column.
    """

    path: str
    rows: int
    bytes: int
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class LifeState:
    """What is loaded of a life; lies in the state file as :meth:`to_json` gives it.

    Attributes:
        folder: of ``current/`` and ``scd2/``, below the output.
        units: how many of the life's units are applied.
        digest: of these, which tells whether they are still the same.
        ranges: the files of ``current/``, in the order of the key.
        lows: where each range begins, as :mod:`.keys` writes it.
        versions: the files of ``scd2/``: those of ended versions, then a file for each range of those that
            hold; None without SCD2.
        withheld: XA transactions, by chain and commit version, whose rows were left out.
    """

    life: str
    name: TableName
    folder: str
    units: int = 0
    epochs: int = 0
    digest: str = ""
    ranges: tuple[RangeFile, ...] = ()
    lows: str = ""
    versions: tuple[tuple[RangeFile, ...], ...] | None = None
    columns: tuple[Column, ...] = ()
    key: tuple[int, ...] = ()
    withheld: tuple[tuple[str, int], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For the state file."""
        return asdict(self)

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> LifeState:
        """What :meth:`to_json` wrote."""
        versions = entry["versions"]
        return cls(
            **{
                **entry,
                "name": TableName(*entry["name"]),
                "ranges": tuple(RangeFile(**one) for one in entry["ranges"]),
                "versions": None
                if versions is None
                else tuple(tuple(RangeFile(**one) for one in listed) for listed in versions),
                "columns": tuple(Column(**one) for one in entry["columns"]),
                "key": tuple(entry["key"]),
                "withheld": tuple((chain, scn) for chain, scn in entry["withheld"]),
            }
        )

    def files(self) -> list[RangeFile]:
        """All files that count."""
        return [*self.ranges, *(one for listed in self.versions or () for one in listed)]


@dataclass(frozen=True, slots=True)
class LifePlan:
    """What a load does for one life: bring its state from ``former`` to the end of the life.

    Attributes:
        former: None where nothing is loaded or everything is made anew.
        folder: where ``current/`` and ``scd2/`` will be, below the output.
    """

    life: str
    name: TableName
    folder: str
    former: LifeState | None
    epochs: tuple[Epoch, ...]
    units: tuple[Unit, ...]
    steps: int
    digest: str
    withheld: tuple[tuple[str, int], ...] = ()
    scd2: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What a load does.

    Attributes:
        arrived: new files of changes, which are copied to ``history/``.
        lives: those whose state changes.
        finished: lives that are gone, whose ``current/`` and ``scd2/`` no longer count.
        empty: by the identity of a file, spans of commit versions in which it can have no rows.
    """

    arrived: tuple[ChangesFile, ...]
    lives: tuple[LifePlan, ...]
    finished: tuple[str, ...] = ()
    empty: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Options:
    """How files are written.

    Attributes:
        range_bytes: of a range's rows in memory, about.
        small_bytes: of files on disk, what a task merges without a shuffle.
    """

    compression: str = "zstd"
    load: int = 1
    range_bytes: int = 128 << 20
    small_bytes: int = 16 << 20


@dataclass(slots=True)
class HistoryResult:
    """What became of an arrived file.

    Attributes:
        files: in ``history/``, each with its own ``identity`` (that of the source and a number).
        counts: rows by ``insert``, ``update_postimage`` and so on, as ``_change_type`` has them.
        error: why it could not be taken; then the table is stopped.
    """

    source: ChangesFile
    files: list[ChangesFile] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    error: str = ""


@dataclass(slots=True)
class LifeResult:
    """What became of a life.

    Attributes:
        state: the new state; None where it failed, and then the former one stays.
        losses: what makes the table incomplete from here on.
    """

    life: str
    name: TableName
    state: LifeState | None
    rows: int = 0
    notes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    error: str = ""


@dataclass(slots=True)
class LoadResult:
    """What a load wrote; none of it counts before the state names it."""

    history: list[HistoryResult]
    lives: list[LifeResult]
