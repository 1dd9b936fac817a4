"""Options of an extraction."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from binx.log.scanning import OnDamage

if TYPE_CHECKING:
    from binx.where.condition import Condition

OPERATIONS = ("insert", "update", "delete")
"""The operations of row changes."""


class SliceFormat(Enum):
    """The output format."""

    BINLOG = "binlog"
    """A binary log that servers can apply."""
    SQL = "sql"
    """SQL statements."""
    JSON = "json"
    """One JSON object per line."""
    THL = "thl"
    """The output of Tungsten Replicator's ``thl list``."""


class ExtractOptions(NamedTuple):
    """How a slice is written.

    Attributes:
        statement_bytes: for SQL, maximum bytes of an INSERT of several rows; None for 1 MiB.
        fragment_bytes: for THL, bytes of events at which a fragment ends; None for Tungsten's default.
        local_load: for SQL, the folder in which files of LOAD DATA statements are written; None refuses them.
        overwrites: whether an existing output is overwritten.
    """

    format: SliceFormat = SliceFormat.BINLOG
    verbatim: bool = False
    rows: bool = False
    statement_bytes: int | None = None
    fragment_bytes: int | None = None
    local_load: str | None = None
    where: Condition | None = None
    only_matching: bool = False
    operations: frozenset[str] | None = None
    databases: Mapping[str, str] = MappingProxyType({})
    verify: bool = True
    overwrites: bool = True
    on_damage: OnDamage = OnDamage.STOP
