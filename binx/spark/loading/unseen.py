"""What servers did to rows that their log does not tell: it is a loss of the tables that it befell."""

from __future__ import annotations

from collections.abc import Iterable

from .cascades import Cascades
from .context import Load
from .conversions import changes_values
from .ddl import PartitionChanged, effects, new_types
from .manifests import Manifest
from .statements import Statement

_SHOWN = 200


def tell_partitions(load: Load, statement: Statement) -> None:
    """Tell where a statement moved rows by whole partitions."""
    for effect in effects(statement.sql, statement.db):
        if isinstance(effect, PartitionChanged) and load.options.wants(effect.table):
            load.summary(effect.table).losses.append(
                "a partition operation added or removed rows, which the log does not record:"
                f" {statement.sql[:_SHOWN]}"
            )


def tell_converted(load: Load, statement: Statement) -> None:
    """Tell where a statement gave a column a type that its values did not all have to fit."""
    found = new_types(statement.sql, statement.db)
    if found is None or not load.options.wants(found[0]):
        return
    table, types = found
    state = load.tables.get(table)
    known = [] if state is None else [one for one in state.schemas.values() if one.chain == statement.chain]
    before = [one.record for one in known if one.record.valid_from < statement.scn]
    if not before:
        return
    former = max(before, key=lambda record: record.valid_from).sql_types
    for name, kind in types.items():
        if name in former and changes_values(former[name], kind, strict=statement.is_strict):
            load.summary(table).losses.append(
                f"{name} changed from {former[name]} to {kind}: the server rounded or truncated"
                " values in rows not changed since, which the log does not record; current/ has"
                " the former values"
            )


def tell_cascades(load: Load, manifests: Iterable[Manifest], statements: Iterable[Statement]) -> None:
    """Tell where rows went or changed with those of another table.

    Args:
        load: the run.
        manifests: those that are new.
        statements: all statements, in order.
    """
    silent = [manifest.deleted for manifest in manifests if not manifest.source.logs_cascades]
    deleted = {table for tables in silent for table in tables}
    keys = Cascades()
    for statement in statements:
        keys.take(statement.sql, statement.db)
    for table, parent in keys.reached_from(deleted).items():
        if table in load.tables and load.options.wants(table):
            load.summary(table).losses.append(
                f"a foreign key deleted or changed rows when rows of {parent} were deleted (ON DELETE),"
                " which the log of this server does not record; current/ has the former rows"
            )


__all__ = ["tell_cascades", "tell_converted", "tell_partitions"]
