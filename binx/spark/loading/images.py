"""Row images as DataFrames: from the files of an export to the rows of ``history/``.

A row of history has the columns of the export in front (of ``_present`` it keeps the names of the absent
columns, which stay right when columns are added), then ``_schema_version`` and ``_chain``, then the table's
columns, then the commit date that it is partitioned by. Table columns that are called like one of the
loader's get a ``_`` appended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from .fields import fields_of, unite
from .manifests import DataFile
from .names import named
from .plan import Place, Span, TablePlan
from .schemas import EXPORT_SCHEMA

ABSENT = "_absent"
SCHEMA_VERSION = "_schema_version"
CHAIN = "_chain"
COMMIT_DATE = "commit_date"
LOAD = "load"
HISTORY_COLUMNS = (
    "_change_type",
    "_commit_version",
    "_commit_timestamp",
    "_row",
    "_transaction",
    "_event_timestamp",
    "_position",
    ABSENT,
    "_json_diff",
    "_misfits",
    SCHEMA_VERSION,
    CHAIN,
)
_EXPORT_COLUMNS = {name for name, _ in EXPORT_SCHEMA}
_HEAD_TYPES = {**dict(EXPORT_SCHEMA), ABSENT: ArrayType(StringType())}
_RESERVED = {ABSENT, SCHEMA_VERSION, CHAIN, COMMIT_DATE, LOAD}
_EVENT = ("_transaction", "_event_timestamp")
_IDENTITY = [CHAIN, "_commit_version", "_row", "_change_type"]


def is_of(places: Collection[Place]) -> Column:
    """Whether a row is of one of these transactions."""
    by_chain: dict[str, list[int]] = defaultdict(list)
    for chain, scn in sorted(places):
        by_chain[chain].append(scn)
    found = F.lit(False)
    for chain, scns in by_chain.items():
        found |= (F.col(CHAIN) == chain) & F.col("_commit_version").isin(scns)
    return found


def is_postimage() -> Column:
    """1 for the image after an update, else 0: the last part of the order of images."""
    return F.when(F.col("_change_type") == "update_postimage", 1).otherwise(0)


def _own_columns(schema: StructType) -> list[tuple[str, DataType]]:
    return [field for field in fields_of(schema) if field[0] not in _EXPORT_COLUMNS]


def stored_name(name: str) -> str:
    """How a table's column is called in history."""
    return f"{name}_" if name.lower() in _RESERVED else name


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns that a table's new rows have in history.

    Attributes:
        schema: all of them.
        columns: those of each schema version as its files have them.
        stored: where each of them stands in history (by version and own name).
        apart: columns that were made because types did not fit.
    """

    schema: StructType
    columns: dict[str, tuple[str, ...]]
    stored: dict[str, dict[str, str]]
    apart: tuple[str, ...]


def shape_of(plan: TablePlan, ranks: Mapping[str, int], schemas: Mapping[str, StructType]) -> Shape:
    """Unite the columns of a plan's files.

    Args:
        plan: the files.
        ranks: the rank of each chain.
        schemas: the schema of the files of each version.
    """
    latest: dict[str, tuple[int, int]] = {}
    for candidate in plan.candidates:
        version, place = candidate.file.schema_version, (ranks[candidate.chain], candidate.file.last)
        latest[version] = max(place, latest.get(version, place))
    versions = sorted(latest, key=lambda version: latest[version])
    own = {version: _own_columns(schemas[version]) for version in versions}
    united = unite([[(stored_name(name), kind) for name, kind in own[version]] for version in versions])
    stored: dict[str, dict[str, str]] = {}
    for version, sources in zip(versions, united.sources, strict=True):
        places = {source: place for place, source in sources.items()}
        stored[version] = {name: places[stored_name(name)] for name, _ in own[version]}
    columns = {version: tuple(name for name, _ in own[version]) for version in versions}
    heads = [(name, _HEAD_TYPES.get(name, StringType())) for name in HISTORY_COLUMNS]
    schema = StructType([StructField(name, kind) for name, kind in (*heads, *united.columns)])
    return Shape(schema, columns, stored, united.apart)


def gather(
    spark: SparkSession, plan: TablePlan, shape: Shape, schemas: Mapping[str, StructType]
) -> DataFrame:
    """Read the files of a plan, each schema version with its own types, and unite them.

    Args:
        spark: the session.
        plan: the files.
        shape: the columns of the rows.
        schemas: the schema of the files of each version.
    """
    sure: list[DataFrame] = []
    unsure: list[DataFrame] = []
    for group in _groups(plan):
        rows = spark.read.schema(schemas[group.version]).parquet(*[file.address for file in group.files])
        if group.spans is not None:
            rows = rows.where(_within(group.spans))
        shaped = _shaped(rows, group, shape)
        (unsure if group.unsure else sure).append(shaped)
    if unsure:
        sure.append(_unite_rows(unsure).dropDuplicates(_IDENTITY))
    return _unite_rows(sure)


@dataclass(slots=True)
class _Group:
    """Files that are read alike: one schema version, one chain, the same spans."""

    version: str
    chain: str
    spans: tuple[Span, ...] | None
    unsure: bool
    files: list[DataFile] = field(default_factory=list)

    @property
    def partial(self) -> bool:
        """Whether images may lack columns."""
        return any(file.partial for file in self.files)


def _groups(plan: TablePlan) -> list[_Group]:
    """The files of a plan in groups, without those of which no row is taken."""
    groups: dict[tuple[object, ...], _Group] = {}
    read = [one for one in plan.distinct + plan.clipped if one.spans != ()]
    for unsure, candidates in ((False, read), (True, plan.overlapping)):
        for one in candidates:
            place = (one.file.schema_version, one.chain, one.spans, unsure)
            group = groups.setdefault(place, _Group(*place))
            group.files.append(one.file)
    return list(groups.values())


def _within(spans: Sequence[Span]) -> Column:
    inside = F.lit(False)
    for first, last in spans:
        inside |= F.col("_commit_version").between(first, last)
    return inside


def _shaped(rows: DataFrame, group: _Group, shape: Shape) -> DataFrame:
    stored = shape.stored[group.version]
    absent = _absent_names(list(stored.values())) if group.partial else F.lit(None)
    places: dict[str, Column] = {place: named(name) for name, place in stored.items()}
    places |= {name: F.col(name) for name in HISTORY_COLUMNS}
    places |= {ABSENT: absent, SCHEMA_VERSION: F.lit(group.version), CHAIN: F.lit(group.chain)}
    return rows.select(
        *[places.get(one.name, F.lit(None)).cast(one.dataType).alias(one.name) for one in shape.schema.fields]
    )


def _absent_names(columns: Sequence[str]) -> Column:
    """The names of the columns whose bit in ``_present`` is not set; null where all were there.

    Bit i is bit i % 8 of byte i // 8, the least significant first.
    """
    digits = F.hex("_present")
    octets = [
        F.conv(F.substring(digits, 2 * index + 1, 2), 16, 10).cast("int")
        for index in range((len(columns) + 7) // 8)
    ]
    marks = [
        F.when(F.getbit(F.coalesce(octets[index // 8], F.lit(0)), F.lit(index % 8)) == 0, F.lit(name))
        for index, name in enumerate(columns)
    ]
    return F.when(F.col("_present").isNotNull(), F.array_compact(F.array(*marks)))


def _unite_rows(parts: Sequence[DataFrame]) -> DataFrame:
    rows = parts[0]
    for part in parts[1:]:
        rows = rows.unionByName(part)
    return rows


def drop_loaded(rows: DataFrame, history: DataFrame, plan: TablePlan) -> DataFrame:
    """Leave out the rows that history has already, where the plan's ranges say that it can have some."""
    first = min(candidate.file.first for candidate in plan.overlapping)
    last = max(candidate.file.last for candidate in plan.overlapping)
    held = history.where(F.col("_commit_version").between(first, last)).select(*_IDENTITY)
    return rows.join(held, _IDENTITY, "left_anti")


def drop_other_chains(rows: DataFrame, history: DataFrame | None, rank: Column) -> DataFrame:
    """Leave out the transactions that another chain holds: in history, or in these rows at a lower rank.

    Events keep their time where a replica logs them again. One that has another time is of another
    transaction: after ``RESET BINARY LOGS AND GTIDS`` a server gives the same GTIDs anew.
    """
    ranked = rows.withColumn("_rank", rank)
    owners = ranked.groupBy(*_EVENT).agg(F.min("_rank").alias("_owner"))
    kept = ranked.join(owners, list(_EVENT)).where(F.col("_rank") == F.col("_owner"))
    kept = kept.select(*rows.columns)
    if history is not None:
        held = history.select(
            F.col("_transaction").alias("_held"),
            F.col("_event_timestamp").alias("_held_time"),
            F.col(CHAIN).alias("_holder"),
        ).distinct()
        same = (F.col("_transaction") == F.col("_held")) & (F.col("_event_timestamp") == F.col("_held_time"))
        kept = kept.join(held, same & (F.col(CHAIN) != F.col("_holder")), "left_anti")
    return kept


def dated(rows: DataFrame) -> DataFrame:
    """History's rows with their partition."""
    return rows.withColumn(COMMIT_DATE, F.to_date("_commit_timestamp"))


def ordered(rows: DataFrame) -> DataFrame:
    """Dated rows in order within each file that will be written."""
    return rows.sortWithinPartitions(COMMIT_DATE, CHAIN, "_commit_version", "_row", is_postimage())
