"""Build and compare epochs' columns against schema versions, and follow prepared XA transactions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from binx.lake.dataset.files import FileColumn, Version
from binx.lake.dataset.statement_effects import RecordedStatement
from binx.lake.tables.lives import SchemaSpan, TableColumn
from binx.rows.columns.names import is_hash
from binx.rows.columns.schema import folded_name

Place = tuple[str, int]
"""A chain and a commit version."""


@dataclass(slots=True)
class Prepared:
    """XA transactions, by chain and commit version of their PREPARE.

    The rows of an XA transaction are logged at its PREPARE, but take effect only if it is committed. Until
    then no other transaction changes these rows, and no statement alters their tables. So a committed one
    (``committed`` maps to the place of the COMMIT) counts at its PREPARE, even if an earlier load did not
    know of the COMMIT yet; all others are ``withheld``.
    """

    withheld: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    committed: dict[Place, Place] = field(default_factory=dict)

    def withheld_in(self, chain: str, first: int, last: int) -> tuple[int, ...]:
        """Return the commit versions of withheld transactions in a span."""
        listed = self.withheld.get(chain, [])
        return tuple(listed[bisect_left(listed, first) : bisect_right(listed, last)])


def follow_prepared(statements: Iterable[RecordedStatement]) -> Prepared:
    """Find out which prepared transactions were committed."""
    prepared = Prepared()
    open_: dict[str, Place] = {}
    given_up: list[Place] = []
    for statement in statements:
        for effect in statement.effects:
            place, xid = (statement.chain, statement.scn), effect.get("xid") or ""
            former = open_.pop(xid, None) if effect["action"] in _XA else None
            if effect["action"] == "prepared":
                open_[xid] = place
            if former is not None and effect["action"] == "committed":
                prepared.committed[former] = place
            elif former is not None:
                given_up.append(former)
    for chain, scn in sorted([*given_up, *open_.values()]):
        prepared.withheld[chain].append(scn)
    return prepared


_XA = ("prepared", "committed", "rolled_back")


def differ(before: TableColumn, after: TableColumn) -> bool:
    """Whether converting a column to another definition may change values."""
    known = before.mysql_type and after.mysql_type
    return (before.arrow_type, before.mysql_type if known else "") != (
        after.arrow_type,
        after.mysql_type if known else "",
    )


def ids_of(columns: Sequence[TableColumn], names: Iterable[str]) -> tuple[int, ...]:
    """Return the ids of columns by name; empty if one does not exist."""
    ids = {folded_name(column.name): column.id for column in columns}
    wanted = [ids.get(folded_name(name)) for name in names]
    return () if None in wanted else tuple(number for number in wanted if number is not None)


def key_of(version: Version, columns: Sequence[TableColumn]) -> tuple[int, ...]:
    """Return the key of a version as column ids."""
    names = {column.name: column.source_name for column in version.columns}
    return ids_of(columns, [names.get(name, name) for name in version.key])


def shown_columns(version: Version) -> list[FileColumn]:
    """Return a version's columns without the hashes that MariaDB keeps of long UNIQUE keys."""
    return [column for column in version.columns if not is_hash(column.source_name)]


def fit(columns: Sequence[TableColumn], version: Version) -> tuple[int, ...] | None:
    """Return the ids of a version's columns, -1 for hashes; None if the columns differ from the epoch's."""
    ids = {folded_name(column.name): column.id for column in columns}
    numbers = [
        ids.get(folded_name(column.source_name), -1 if is_hash(column.source_name) else None)
        for column in version.columns
    ]
    if None in numbers:
        is_alike = is_nameless(version) and len(version.columns) == len(columns)
        return tuple(column.id for column in columns) if is_alike else None
    found = tuple(number for number in numbers if number is not None)
    return found if len(columns) == sum(number >= 0 for number in found) else None


def is_nameless(version: Version) -> bool:
    """Whether the exporter knew no names of the columns, and numbered them."""
    return all(column.source_name == f"c{number}" for number, column in enumerate(version.columns, 1))


def guessed(epoch: SchemaSpan, version: Version, ids: Sequence[int]) -> list[str]:
    """Return what an exporter without the table's definition may have read in another way than it is."""
    if _is_versioned(epoch) and all(column.generated != "row_end" for column in version.columns):
        # Ended rows are not told from current ones.
        return ["its rows"]
    if not is_nameless(version):
        return []
    if not epoch.is_ordered:
        return ["its columns"]
    pairs = [(epoch.column(number), column) for number, column in _pairs(version, ids)]
    return [
        known.name
        for known, column in pairs
        if (known.charset and _bytes_of(known.charset) != _bytes_of(column.charset))
        or (_is_wide(known.mysql_type) != _is_wide(column.mysql_type))
    ]


def _is_versioned(epoch: SchemaSpan) -> bool:
    """Whether a table has the columns that MariaDB's system versioning adds by itself."""
    times = {folded_name(column.name) for column in epoch.columns if column.mysql_type == "timestamp(6)"}
    return {"row_start", "row_end"} <= times


def _bytes_of(charset: str) -> str:
    """Return the character set that texts can be read in."""
    return "utf8" if charset.startswith("utf8") or charset == "ascii" else charset


def _is_wide(mysql_type: str) -> bool:
    """Whether a type is MEDIUMINT UNSIGNED, whose Arrow type is that of the signed one."""
    words = mysql_type.lower()
    return words.startswith("mediumint") and "unsigned" in words


def alike(epoch: SchemaSpan, version: Version, ids: Sequence[int]) -> bool:
    """Whether a version has the epoch's types, of which statements may not tell all."""
    return all(
        epoch.column(number).arrow_type in ("", column.arrow_type) for number, column in _pairs(version, ids)
    )


def _pairs(version: Version, ids: Sequence[int]) -> list[tuple[int, FileColumn]]:
    """Return a version's columns with their ids, without hashes."""
    return [(number, column) for number, column in zip(ids, version.columns, strict=True) if number >= 0]


def confirmed(epoch: SchemaSpan, version: Version, ids: Sequence[int]) -> SchemaSpan:
    """Return the epoch with the types found in the rows."""
    by_id = dict(zip(ids, version.columns, strict=True))
    columns = tuple(
        replace(
            column,
            arrow_type=by_id[column.id].arrow_type,
            mysql_type=column.mysql_type or by_id[column.id].mysql_type,
            charset=column.charset or by_id[column.id].charset,
        )
        for column in epoch.columns
    )
    return replace(epoch, columns=columns, key=epoch.key or key_of(version, columns))
