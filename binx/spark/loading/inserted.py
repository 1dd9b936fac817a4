"""Columns that the image of an inserted row leaves out, as row image MINIMAL has it: they took their default.

The export records for each schema version what such a column holds, where its definition tells it. History
stays as it was logged; here, on the way to the current state, the values are filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from .added import added_value
from .events import MISFITS, Part
from .images import ABSENT, SCHEMA_VERSION
from .manifests import SchemaRecord
from .names import named


def _lacks_some() -> Column:
    return (F.col("_change_type") == "insert") & F.col(ABSENT).isNotNull()


def with_defaults(part: Part, records: Mapping[str, SchemaRecord]) -> Part:
    """The same rows, absent columns of inserted ones filled with what their schema's record tells.

    Args:
        part: rows of one table's history.
        records: the table's schema versions.
    """
    types = {field.name: field.dataType for field in part.rows.schema.fields}
    values: dict[str, Column] = {}
    absent, misfits = F.col(ABSENT), F.col(MISFITS)
    for version, stored in part.stored.items():
        known = records[version].absent if version in records else {}
        told = {stored[name]: fact for name, fact in known.items() if name in stored}
        here = _lacks_some() & (F.col(SCHEMA_VERSION) == version)
        for place, fact in told.items():
            lacks = here & F.array_contains(ABSENT, place)
            before = values.get(place, named(place))
            values[place] = F.when(lacks, added_value(fact.value, types[place])).otherwise(before)
            if fact.misfit is not None:
                entry = F.create_map(F.lit(place), F.lit(fact.misfit))
                known_misfits = F.coalesce(misfits, F.create_map().cast(types[MISFITS]))
                misfits = F.when(lacks, F.map_concat(known_misfits, entry)).otherwise(misfits)
        if told:
            filled = F.array_except(ABSENT, F.array(*map(F.lit, told)))
            absent = F.when(here, filled).otherwise(absent)
    changed = {**values, ABSENT: absent, MISFITS: misfits}
    columns = [changed[name].alias(name) if name in changed else named(name) for name in part.rows.columns]
    return replace(part, rows=part.rows.select(*columns))


def untold_columns(part: Part) -> list[str]:
    """The columns, as history calls them, that inserted rows still lack: only the server can tell them."""
    lacking = part.rows.where(_lacks_some()).select(F.explode(ABSENT).alias("name")).distinct()
    return sorted(row["name"] for row in lacking.collect())
