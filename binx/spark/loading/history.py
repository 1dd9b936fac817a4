"""New rows on their way into history: staged, counted and compared with the manifests."""

from __future__ import annotations

from collections import defaultdict

from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql.types import StructType

from .context import Load, history_identities
from .events import rank_of
from .images import ABSENT, CHAIN, COMMIT_DATE, drop_loaded, drop_other_chains, gather, ordered
from .lineage import Position
from .outcome import LoadError
from .output import staged
from .plan import TablePlan
from .records import LoadedPart, TakenFile


def stage_rows(load: Load, plan: TablePlan) -> None:
    """Write a table's new rows to the staged history, and count them.

    Args:
        load: the run.
        plan: the table's files.

    Raises:
        LoadError: the files hold other rows than their manifests say, or types do not fit.
    """
    state, summary = load.tables[plan.table], load.summary(plan.table)
    gathered = gather(load.spark, plan, load.ranks)
    if gathered.apart:
        load.report_apart(plan.table, gathered.apart)
    rows = gathered.rows
    held = history_identities(load, plan.table)
    if plan.overlapping:
        if plan.several_chains:
            rows = drop_other_chains(rows, held, rank_of(load.ranks))
        if held is not None:
            rows = drop_loaded(rows, held, plan)
    path = staged(f"{state.folder}/history")
    load.write(ordered(rows), path, COMMIT_DATE)
    _count(load, plan, rows.schema, path)
    for day in load.storage.names(path):
        if day.startswith(f"{COMMIT_DATE}="):
            target = f"{state.folder}/history/{day}/load={load.record.load}"
            load.moves.append((f"{path}/{day}", target))
    load.record.files.extend(
        TakenFile(
            plan.table, one.file.path, one.chain, one.file.schema_version, one.file.sha256,
            one.file.rows, one.file.first, one.file.last,
        )
        for one in plan.candidates
    )  # fmt: skip
    load.record.parts.append(
        LoadedPart(plan.table, summary.loaded, rows.schema.json(), gathered.columns, gathered.stored)
    )


def _count(load: Load, plan: TablePlan, schema: StructType, path: str) -> None:
    """Count the staged rows and compare with the manifests."""
    state, summary = load.tables[plan.table], load.summary(plan.table)
    written = load.spark.read.schema(schema).parquet(load.storage.address(path))
    groups = (
        written.groupBy("_change_type", CHAIN)
        .agg(
            F.count("*").alias("rows"),
            F.min("_commit_version").alias("first"),
            F.max("_commit_version").alias("last"),
            F.count(ABSENT).alias("partial"),
            F.count("_misfits").alias("misfits"),
            F.count("_json_diff").alias("diffs"),
        )
        .collect()
    )
    by_type: dict[str, int] = defaultdict(int)
    positions = []
    for group in groups:
        by_type[group["_change_type"]] += group["rows"]
        rank = load.ranks[group[CHAIN]]
        positions += [Position(rank, group["first"]), Position(rank, group["last"])]
    summary.loaded = sum(by_type.values())
    summary.repeated += plan.rows - summary.loaded
    summary.inserts, summary.deletes = by_type["insert"], by_type["delete"]
    summary.updates = by_type["update_postimage"]
    if not plan.overlapping and summary.loaded != plan.rows:
        raise LoadError(
            f"{plan.table}: the manifests list {plan.rows} rows, the files hold {summary.loaded}: "
            "a file was changed after the export; run with --verify to find it"
        )
    if plan.overlapping:
        _check_overlapping(load, plan)
    if positions:
        load.arrived[plan.table] = (min(positions), max(positions))
    state.partial = state.partial or any(group["partial"] for group in groups)
    state.misfits = state.misfits or any(group["misfits"] for group in groups)
    diffs = sum(group["diffs"] for group in groups)
    if diffs:
        summary.losses.append(f"{diffs} changes within JSON documents could not be applied; see _json_diff")


def _check_overlapping(load: Load, plan: TablePlan) -> None:
    """Whether the files whose rows may be repeated hold as many as their manifests say."""
    listed = sum(one.file.rows for one in plan.candidates)
    found = load.spark.read.parquet(*[one.file.address for one in plan.candidates]).count()
    if found != listed:
        raise LoadError(
            f"{plan.table}: the manifests list {listed} rows, the files hold {found}: "
            "a file was changed after the export; run with --verify to find it"
        )
