"""Row images as DataFrames: from the files of an export to the rows of ``history/``.

A row of history has the columns of the export in front (of ``_present`` it keeps the names of the absent
columns, which stay right when columns are added), then ``_schema_version`` and ``_chain``, then the table's
columns, then the commit date that it is partitioned by. Table columns that are called like one of the
loader's get a ``_`` appended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructField, StructType

from .fields import United, fields_of, unite
from .manifests import DataFile
from .outcome import LoadError
from .plan import Candidate, TablePlan

CHANGE_TYPES = ("insert", "update_preimage", "update_postimage", "delete")
EXPORT_COLUMNS = (
    "_change_type",
    "_commit_version",
    "_commit_timestamp",
    "_row",
    "_transaction",
    "_event_timestamp",
    "_position",
    "_present",
    "_json_diff",
    "_misfits",
)
_OPTIONAL: Mapping[str, DataType] = {
    "_present": BinaryType(),
    "_json_diff": StringType(),
    "_misfits": MapType(StringType(), StringType()),
}
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
_RESERVED = {ABSENT, SCHEMA_VERSION, CHAIN, COMMIT_DATE, LOAD}
_IDENTITY = [CHAIN, "_commit_version", "_row", "_change_type"]


def is_postimage() -> Column:
    """1 for the image after an update, else 0: the last part of the order of images."""
    return F.when(F.col("_change_type") == "update_postimage", 1).otherwise(0)


def _own_columns(schema: StructType) -> list[tuple[str, DataType]]:
    return [field for field in fields_of(schema) if field[0] not in EXPORT_COLUMNS]


def stored_name(name: str) -> str:
    """How a table's column is called in history."""
    return f"{name}_" if name.lower() in _RESERVED else name


@dataclass(frozen=True, slots=True)
class Gathered:
    """The new rows of a table, in the shape of history.

    ``columns`` are the columns of each schema version as its files have them, ``stored`` where each of
    them stands in history (by version and own name).
    """

    rows: DataFrame
    columns: dict[str, tuple[str, ...]]
    stored: dict[str, dict[str, str]]
    apart: tuple[str, ...]


def gather(spark: SparkSession, plan: TablePlan, ranks: Mapping[str, int]) -> Gathered:
    """Read the files of a plan, each schema version with its own types, and unite them.

    Args:
        spark: the session.
        plan: the files.
        ranks: the rank of each chain.

    Raises:
        LoadError: a file is not what its manifest says.
    """
    groups: dict[tuple[str, str, bool], list[Candidate]] = defaultdict(list)
    for overlapping, candidates in ((False, plan.distinct), (True, plan.overlapping)):
        for candidate in candidates:
            groups[candidate.file.schema_version, candidate.chain, overlapping].append(candidate)
    latest: dict[str, tuple[int, int]] = {}
    for candidate in plan.candidates:
        version, place = candidate.file.schema_version, (ranks[candidate.chain], candidate.file.last)
        latest[version] = max(place, latest.get(version, place))
    versions = sorted(latest, key=lambda version: latest[version])
    schemas = {version: _infer(spark, version, groups) for version in versions}
    united = unite(
        [[(stored_name(name), kind) for name, kind in _own_columns(schemas[version])] for version in versions]
    )
    stored: dict[str, dict[str, str]] = {}
    for version, sources in zip(versions, united.sources, strict=True):
        places = {source: place for place, source in sources.items()}
        stored[version] = {name: places[stored_name(name)] for name, _ in _own_columns(schemas[version])}
    distinct: list[DataFrame] = []
    overlapping_rows: list[DataFrame] = []
    for (version, chain, overlapping), candidates in groups.items():
        rows = _read(spark, [candidate.file for candidate in candidates], schemas[version])
        shaped = _shape(rows, schemas[version], united, stored[version], version=version, chain=chain)
        (overlapping_rows if overlapping else distinct).append(shaped)
    if overlapping_rows:
        distinct.append(_unite_rows(overlapping_rows).dropDuplicates(_IDENTITY))
    columns = {
        version: tuple(name for name, _ in _own_columns(schema)) for version, schema in schemas.items()
    }
    return Gathered(_unite_rows(distinct), columns, stored, united.apart)


def _infer(
    spark: SparkSession, version: str, groups: Mapping[tuple[str, str, bool], list[Candidate]]
) -> StructType:
    """The schema of a version's files: that of the first one, with the columns that may be left out."""
    first = next(candidates[0].file for (of, _, _), candidates in groups.items() if of == version)
    schema = _parquet(spark, [first.address]).schema
    names = set(schema.names)
    missing = [name for name in EXPORT_COLUMNS if name not in names and name not in _OPTIONAL]
    if missing:
        raise LoadError(
            f"{first.storage.target(first.path)} has no column {missing[0]}: it is no file of changes"
        )
    optional = [StructField(name, kind) for name, kind in _OPTIONAL.items() if name not in names]
    return StructType([*schema.fields, *optional])


def _parquet(spark: SparkSession, addresses: Sequence[str], schema: StructType | None = None) -> DataFrame:
    reader = spark.read if schema is None else spark.read.schema(schema)
    return reader.parquet(*addresses)


def _read(spark: SparkSession, files: Iterable[DataFile], schema: StructType) -> DataFrame:
    return _parquet(spark, [file.address for file in files], schema)


def _shape(
    rows: DataFrame,
    schema: StructType,
    united: United,
    stored: Mapping[str, str],
    *,
    version: str,
    chain: str,
) -> DataFrame:
    own = [stored[name] for name, _ in _own_columns(schema)]
    partial = not rows.where(F.col("_present").isNotNull()).isEmpty()
    absent = _absent_names(own) if partial else F.lit(None).cast(ArrayType(StringType()))
    added = {
        ABSENT: absent,
        SCHEMA_VERSION: F.lit(version),
        CHAIN: F.lit(chain),
    }
    heads = [added.get(name, F.col(name)).alias(name) for name in HISTORY_COLUMNS]
    places = {place: name for name, place in stored.items()}
    values = [
        (named(places[name]) if name in places else F.lit(None)).cast(kind).alias(name)
        for name, kind in united.columns
    ]
    return rows.select(*heads, *values)


def named(name: str) -> Column:
    """A column whose name may hold dots or backquotes."""
    return F.col("`" + name.replace("`", "``") + "`")


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
    """Leave out the transactions that another chain holds: in history, or in these rows at a lower rank."""
    ranked = rows.withColumn("_rank", rank)
    owners = ranked.groupBy("_transaction").agg(F.min("_rank").alias("_owner"))
    kept = ranked.join(owners, "_transaction").where(F.col("_rank") == F.col("_owner"))
    kept = kept.select(*rows.columns)
    if history is not None:
        held = history.select(F.col("_transaction").alias("_held"), F.col(CHAIN).alias("_holder")).distinct()
        other = (F.col("_transaction") == F.col("_held")) & (F.col(CHAIN) != F.col("_holder"))
        kept = kept.join(held, other, "left_anti")
    return kept


def ordered(rows: DataFrame) -> DataFrame:
    """History's rows with their partition, in order within each file that will be written."""
    dated = rows.withColumn(COMMIT_DATE, F.to_date("_commit_timestamp"))
    return dated.sortWithinPartitions(COMMIT_DATE, CHAIN, "_commit_version", "_row", is_postimage())
