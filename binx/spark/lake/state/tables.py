"""The files of loaded tables, and how they are written."""

from __future__ import annotations

from dataclasses import dataclass

from binx.spark.lake.table_name import TableName
from binx.spark.lake.tables.lives import Column, Epoch


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
