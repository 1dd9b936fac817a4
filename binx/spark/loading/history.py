"""New rows on their way into history: staged, counted and compared with the manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql.types import StructType

from .arrow import goes_through_arrow, write_history
from .context import Load, history_identities
from .delta import check_history
from .events import rank_of
from .images import (
    ABSENT,
    COMMIT_DATE,
    Shape,
    dated,
    drop_loaded,
    drop_other_chains,
    gather,
    ordered,
    shape_of,
)
from .lineage import Position
from .outcome import LoadError
from .plan import TablePlan
from .records import DELTA, LoadedPart, TakenFile
from .schemas import file_schema
from .steady import are_steady, changed_marks

_FIRST, _LAST, _LISTED = "first", "last", "listed"
_LARGE_FILE = 4 << 20
_MOST_DAYS = 64


def stage_rows(load: Load, plan: TablePlan) -> None:
    """Write a table's new rows to the staged history, and count them on the way.

    Args:
        load: the run.
        plan: the table's files.

    Raises:
        LoadError: the files hold other rows than their manifests say, or types do not fit.
    """
    state, summary = load.tables[plan.table], load.summary(plan.table)
    files = [
        TakenFile(
            plan.table, one.file.path, one.chain, one.file.schema_version, one.file.sha256,
            one.file.rows, one.file.first, one.file.last, one.cover,
        )
        for one in plan.candidates
    ]  # fmt: skip
    if plan.is_repeated:
        load.take(files)
        summary.repeated += plan.rows
        return
    schemas = _schemas(load, plan)
    shape = shape_of(plan, load.ranks, schemas)
    if shape.apart:
        load.report_apart(plan.table, shape.apart)
    if state.format == DELTA:
        check_history(load, plan.table, shape.schema)
    path = load.output.staged(f"{state.folder}/history")
    key = _stored_key(load, plan, shape)
    if goes_through_arrow(load, plan, schemas, shape):
        found = write_history(load, plan, shape, path, key)
    else:
        found = _write_with_spark(load, plan, shape, schemas, path, key)
    _count(load, plan, found)
    moves = [
        (f"{path}/{day}", f"{state.folder}/history/{day}/load={load.record.load}")
        for day in load.storage.names(path)
        if day.startswith(f"{COMMIT_DATE}=")
    ]
    steady = key if are_steady(found) else []
    part = LoadedPart(plan.table, summary.loaded, shape.schema.json(), shape.columns, shape.stored, steady)
    load.take(files, part, moves)


def _write_with_spark(
    load: Load,
    plan: TablePlan,
    shape: Shape,
    schemas: Mapping[str, StructType],
    path: str,
    key: Sequence[str],
) -> dict[str, Any]:
    """Write a plan's rows below ``path``, a folder a day; returns the figures that are kept of them."""
    in_order = _is_in_order(plan)
    spark = _one_file_a_task(load.spark) if in_order else load.spark
    rows = gather(spark, plan, shape, schemas)
    if plan.overlapping:
        held = history_identities(load, plan.table)
        if plan.several_chains:
            rows = drop_other_chains(rows, held, rank_of(load.ranks))
        if held is not None:
            rows = drop_loaded(rows, held, plan)
    observation = Observation()
    seen = dated(rows.observe(observation, *_figures(load, plan), *changed_marks(key)))
    load.write(seen if in_order else ordered(seen), path, COMMIT_DATE)
    return observation.get


def _is_in_order(plan: TablePlan) -> bool:
    """Whether rows can stay in the order of their files, a task and a file of history for each.

    Exports are in order, so that spares sorting; small ones are put together, which takes sorting.
    """
    files = plan.candidates
    return not plan.overlapping and sum(one.file.bytes for one in files) >= len(files) * _LARGE_FILE


def _one_file_a_task(spark: SparkSession) -> SparkSession:
    """A session of the same settings that puts no two files into one task, and rows to days as they come."""
    session = spark.newSession()
    for name, value in spark.conf.getAll.items():
        if spark.conf.isModifiable(name):
            session.conf.set(name, value)
    largest = str(spark.conf.get("spark.sql.files.maxPartitionBytes"))
    session.conf.set("spark.sql.files.openCostInBytes", largest)
    session.conf.set("spark.sql.maxConcurrentOutputFileWriters", _MOST_DAYS)
    return session


def _schemas(load: Load, plan: TablePlan) -> dict[str, StructType]:
    known = load.tables[plan.table].schemas
    schemas = {}
    for version in {one.file.schema_version for one in plan.candidates}:
        if version not in known:
            raise LoadError(
                f"no manifest lists the schema record {version} of {plan.table}, which its files name: "
                "export that binary log again"
            )
        schemas[version] = file_schema(plan.table, known[version].record)
    return schemas


def _stored_key(load: Load, plan: TablePlan, shape: Shape) -> list[str]:
    """Where the key stands in the rows, if it does so alike for all their schema versions."""
    places = set()
    for version, stored in shape.stored.items():
        record = load.tables[plan.table].schemas[version].record
        key = load.options.keys.get(str(plan.table), record.primary_key)
        spelled = {name.lower(): place for name, place in stored.items()}
        places.add(tuple(spelled.get(name.lower(), "") for name in key))
    only = places.pop() if len(places) == 1 else ()
    return list(only) if all(only) else []


def _figures(load: Load, plan: TablePlan) -> list[Column]:
    """What is counted of the rows while they are written."""
    kind = F.col("_change_type")
    figures = [
        F.count("_commit_version").alias("rows"),
        *(
            F.count(F.when(kind == change, 1)).alias(change)
            for change in ("insert", "update_postimage", "delete")
        ),
        F.count(ABSENT).alias("partial"),
        F.count("_misfits").alias("misfits"),
        F.count("_json_diff").alias("diffs"),
    ]
    if plan.clipped or plan.overlapping:
        place = F.struct(rank_of(load.ranks).alias("rank"), F.col("_commit_version").alias("scn"))
        figures += [F.min(place).alias(_FIRST), F.max(place).alias(_LAST)]
    return figures


def _count(load: Load, plan: TablePlan, found: dict[str, Any]) -> None:
    """Keep the figures of the staged rows and compare them with the manifests."""
    state, summary = load.tables[plan.table], load.summary(plan.table)
    summary.loaded = found["rows"]
    summary.repeated += plan.rows - summary.loaded
    summary.inserts, summary.deletes = found["insert"], found["delete"]
    summary.updates = found["update_postimage"]
    _check(load, plan, found)
    if _FIRST not in found:
        spans = [(load.ranks[one.chain], one.file) for one in plan.candidates]
        load.arrived[plan.table] = (
            min(Position(rank, file.first) for rank, file in spans),
            max(Position(rank, file.last) for rank, file in spans),
        )
    elif found[_FIRST] is not None:
        load.arrived[plan.table] = (Position(*found[_FIRST]), Position(*found[_LAST]))
    state.partial = state.partial or bool(found["partial"])
    state.misfits = state.misfits or bool(found["misfits"])
    if found["diffs"]:
        summary.losses.append(
            f"{found['diffs']} changes within JSON documents could not be applied; see _json_diff"
        )


def _check(load: Load, plan: TablePlan, found: Mapping[str, Any]) -> None:
    """Whether the files hold as many rows as their manifests say."""
    listed, held = plan.rows, found.get(_LISTED, found["rows"])
    if _LISTED not in found and (plan.clipped or plan.overlapping):
        addresses = [one.file.address for one in plan.candidates]
        held = load.spark.read.schema("_commit_version bigint").parquet(*addresses).count()
    if held != listed:
        raise LoadError(
            f"{plan.table}: the manifests list {listed} rows, the files contain {held}: a file was"
            " changed after the export; run with --verify to find it"
        )
