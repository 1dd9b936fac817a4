"""One table's share of a load: its new rows into history, then its state from history."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql.types import StructType

from .arguments import Options
from .ddl import ColumnChanges, column_changes
from .events import IMAGE, Events, Part, collect_events, rank_of
from .fields import fields_of
from .images import ABSENT, CHAIN, COMMIT_DATE, drop_loaded, drop_other_chains, gather, ordered
from .lineage import Era, Position, Segment, trace_columns
from .manifests import TableName
from .outcome import LoadError
from .output import LoadedPart, LoadRecord, Output, TableState, TakenFile, snapshot, staged
from .plan import TablePlan
from .scd2 import versions
from .state import advanced_state, current_state
from .storage import Storage
from .summary import TableSummary


@dataclass(slots=True)
class Load:
    """What all tables of a run share."""

    spark: SparkSession
    output: Output
    options: Options
    record: LoadRecord
    ranks: dict[str, int]
    tables: dict[TableName, TableState]
    summaries: dict[TableName, TableSummary] = field(default_factory=dict)
    moves: list[tuple[str, str]] = field(default_factory=list)
    arrived: dict[TableName, tuple[Position, Position]] = field(default_factory=dict)
    column_changes: list[tuple[Position, ColumnChanges]] = field(default_factory=list)

    @property
    def storage(self) -> Storage:
        """Where the output is."""
        return self.output.storage

    def summary(self, table: TableName) -> TableSummary:
        """The table's figures, made when they are asked for first."""
        return self.summaries.setdefault(table, TableSummary.of(table))

    def records(self) -> list[LoadRecord]:
        """All loads, this one last."""
        return [*self.output.loads, self.record]

    def write(self, rows: DataFrame, path: str, partition: str | None = None) -> None:
        """Write Parquet where nothing is yet."""
        writer = rows.write.mode("error").option("compression", self.options.compression)
        if partition is not None:
            writer = writer.partitionBy(partition)
        writer.parquet(self.storage.target(path))


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
        _report_apart(load, plan.table, gathered.apart)
    rows = gathered.rows
    held = _history_rows(load, plan.table)
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


def _report_apart(load: Load, table: TableName, columns: Sequence[str]) -> None:
    if not load.options.apart:
        raise LoadError(
            f"{table}: {columns[0].rpartition('__')[0]} changed to a type that cannot hold its earlier values, "
            f"and --on-conflict stop was given; with --on-conflict column they go to {columns[0]}"
        )
    note = f"earlier values whose type does not fit stand in {', '.join(columns)}"
    summary = load.summary(table)
    if note not in summary.notes:
        summary.notes.append(note)


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


def _parts(load: Load, table: TableName, *, only_new: bool = False) -> list[Part]:
    """A table's history, loads with the same columns together."""
    state = load.tables.get(table)
    if state is None:
        return []
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for record in load.records():
        new = record is load.record
        for part in record.parts:
            if part.table == table and part.rows and (new or not only_new):
                path = staged(f"{state.folder}/history") if new else f"{state.folder}/history"
                days = f"{load.storage.address(path)}/{COMMIT_DATE}=*"
                address = days if new else f"{days}/load={record.load}"
                groups[part.schema, json.dumps(part.stored, sort_keys=True)].append(address)
    parts = []
    for (schema, stored), addresses in groups.items():
        rows = load.spark.read.schema(StructType.fromJson(json.loads(schema))).parquet(*addresses)
        parts.append(Part(table, rows, json.loads(stored)))
    return parts


def _history_rows(load: Load, table: TableName) -> DataFrame | None:
    """The columns of committed history that tell rows apart, or None where there is none."""
    rows: DataFrame | None = None
    for part in _parts(load, table):
        some = part.rows.select(CHAIN, "_commit_version", "_row", "_change_type", "_transaction")
        rows = some if rows is None else rows.unionByName(some)
    return rows


def find_eras(load: Load, segments: Iterable[Segment]) -> list[Era]:
    """The schema versions that were in force in the segments, oldest first.

    A version is known to be in force from its record's SCN, and wherever rows were written with it. A table
    without rows in its segments has the version that was in force last.
    """
    wanted = list(segments)
    eras = _eras_within(load, wanted)
    return eras or _eras_within(load, [Segment(wanted[0].table)])[-1:]


def _eras_within(load: Load, segments: Iterable[Segment]) -> list[Era]:
    points: list[tuple[Position, int, TableName, str]] = []
    columns: dict[tuple[TableName, str], tuple[str, ...]] = {}
    for segment in segments:
        state = load.tables.get(segment.table)
        for known in state.schemas.values() if state else ():
            columns.setdefault((segment.table, known.record.version), known.record.columns)
            position = Position(load.ranks[known.chain], known.record.valid_from)
            if known.record.valid_from and _inside(position, segment):
                points.append((position, 0, segment.table, known.record.version))
        for record in load.records():
            for part in record.parts:
                if part.table == segment.table:
                    columns.update({(part.table, version): own for version, own in part.columns.items()})
            for file in record.files:
                if file.table == segment.table:
                    rank = load.ranks[file.chain]
                    first, last = Position(rank, file.first), Position(rank, file.last)
                    if _reaches(first, last, segment):
                        since = max(first, segment.since) if segment.since else first
                        points.append((since, 1, file.table, file.version))
    eras: list[Era] = []
    for position, _, table, version in sorted(points):
        if not eras or (eras[-1].table, eras[-1].version) != (table, version):
            own = columns.get((table, version), ())
            eras.append(
                Era(table, version, position, own, _changes_between(load, eras, table, version, position))
            )
    return eras


def _changes_between(
    load: Load, eras: Sequence[Era], table: TableName, version: str, since: Position
) -> tuple[ColumnChanges, ...]:
    """How columns were renamed and dropped on the way to a version.

    The statements tell it; where none was logged, the schema record may hold the one that made the version
    at its first time.
    """
    if not eras or eras[-1].table != table:
        return ()
    before = eras[-1].since
    changes = [
        change
        for position, change in load.column_changes
        if change.table == table and before < position <= since
    ]
    known = load.tables[table].schemas.get(version)
    if changes or known is None or any(era.version == version for era in eras):
        return tuple(changes)
    change = column_changes(known.record.ddl, table.db)
    return () if change is None else (change,)


def _inside(position: Position, segment: Segment) -> bool:
    return (segment.since is None or position >= segment.since) and (
        segment.until is None or position < segment.until
    )


def _reaches(first: Position, last: Position, segment: Segment) -> bool:
    return (segment.since is None or last >= segment.since) and (
        segment.until is None or first < segment.until
    )


def build_states(load: Load, table: TableName, segments: tuple[Segment, ...], *, reordered: bool) -> None:
    """Write a table's state to the staging, if it changes.

    Args:
        load: the run, its new rows staged.
        table: the table.
        segments: the rows that belong to it.
        reordered: whether the order of the chains is another than at the last load.
    """
    state, summary = load.tables[table], load.summary(table)
    eras = find_eras(load, segments)
    key = _key(load, state, eras)
    summary.key = key
    if not key:
        summary.notes.append("no primary key is known, so there is history only; name one with --key")
        return
    names = {rank: chain for chain, rank in load.ranks.items()}
    marks = [_mark(segment, names) for segment in segments]
    followed = state.segments == marks and state.key == key and not reordered
    kinds = ["current", *(["scd2"] if load.options.scd2 else [])]
    arrived = {segment.table for segment in segments} & set(load.arrived)
    if followed and not arrived and all(kind in state.snapshots for kind in kinds):
        return
    former = state.snapshots.get("current")
    ahead = former and followed and arrived == {table}
    if not (ahead and _advance(load, state, segments, eras, key)):
        _rebuild(load, state, segments, eras, key)
    if load.options.scd2 or "scd2" in state.snapshots:
        _write_versions(load, state, segments, eras, key)
    state.key, state.segments = key, marks
    state.era = [*eras[-1].table, eras[-1].version] if eras else []
    if table in load.arrived:
        last = load.arrived[table][1]
        high = Position(load.ranks[state.high[0]], state.high[1]) if state.high else last
        state.high = [names[max(high, last).rank], max(high, last).scn]


def _mark(segment: Segment, names: Mapping[int, str]) -> list[object]:
    """A segment as the state keeps it: chains by name."""

    def place(position: Position | None) -> list[object] | None:
        return None if position is None else [names[position.rank], position.scn]

    return [*segment.table, place(segment.since), place(segment.until)]


def _key(load: Load, state: TableState, eras: Sequence[Era]) -> list[str]:
    """The key's columns, as the table's columns are spelled."""
    given = load.options.keys.get(str(state.name))
    if given is None and state.key and not eras:
        return state.key
    if not eras:
        return []
    schemas = load.tables[eras[-1].table].schemas
    known = schemas.get(eras[-1].version) or next(reversed(schemas.values()), None)
    wanted = given if given is not None else (known.record.primary_key if known else ())
    spelled = {name.lower(): name for name in eras[-1].columns}
    key = []
    for name in wanted:
        found = spelled.get(name.lower()) or spelled.get(f"{name.lower()}_")
        if found is None:
            raise LoadError(
                f"{state.name} has no column {name} for its key, only {', '.join(eras[-1].columns)}"
            )
        key.append(found)
    return key


def _events(
    load: Load, segments: Sequence[Segment], eras: Sequence[Era], key: Sequence[str], parts: Sequence[Part]
) -> Events:
    concerned = [load.tables[table] for table in {part.table for part in parts}]
    return collect_events(
        parts,
        segments,
        eras,
        load.ranks,
        partial=any(state.partial for state in concerned),
        misfits=any(state.misfits for state in concerned),
        key=key,
    )


def _advance(
    load: Load,
    state: TableState,
    segments: Sequence[Segment],
    eras: Sequence[Era],
    key: Sequence[str],
) -> bool:
    """Bring the last state forward by the new rows; False where it has to be built anew."""
    earliest = load.arrived[state.name][0] if state.name in load.arrived else None
    if earliest is None or not state.high or state.apart or not _same_columns(state, eras):
        return False
    if earliest <= Position(load.ranks[state.high[0]], state.high[1]):
        return False
    base = load.spark.read.parquet(
        load.storage.address(snapshot(state.folder, "current", state.snapshots["current"][0]))
    )
    parts = _parts(load, state.name, only_new=True)
    events = _events(load, segments, eras, key, parts)
    _check_keys(state.name, events, key)
    rows = load.summary(state.name).loaded
    widened = events.widened(fields_of(base.schema), {name for era in eras[-1:] for name in era.columns})
    if widened is None:
        return False
    _publish(load, state, "current", advanced_state(base, widened, key, rows))
    return True


def _same_columns(state: TableState, eras: Sequence[Era]) -> bool:
    """Whether the columns of the last state go on under their names."""
    for era, names in zip(eras, trace_columns(eras), strict=True):
        if [*era.table, era.version] == state.era:
            today = set(eras[-1].columns)
            return all(own == name for own, name in names.items()) and all(
                name in names for name in era.columns if name in today
            )
    return False


def _rebuild(
    load: Load, state: TableState, segments: Sequence[Segment], eras: Sequence[Era], key: Sequence[str]
) -> None:
    """Build the state from all of history that belongs to the table."""
    tables = list(dict.fromkeys(segment.table for segment in segments))
    parts = [part for table in tables for part in _parts(load, table)]
    events = _events(load, segments, eras, key, parts)
    _check_keys(state.name, events, key)
    state.apart = list(events.apart)
    if events.apart:
        _report_apart(load, state.name, events.apart)
    if events.keyless:
        load.summary(state.name).losses.append(
            f"rows from before the key's columns existed (schema {', '.join(events.keyless)}) are in history only"
        )
    _publish(load, state, "current", current_state(events, key))


def _check_keys(table: TableName, events: Events, key: Sequence[str]) -> None:
    """Whether each image says which row it is of, where images may lack columns."""
    if not events.present:
        return
    lacking = F.lit(False)
    for name in key:
        lacking |= ~F.col(events.present[name])
    count = events.rows.where((F.col(IMAGE) == 0) & lacking).count()
    if count:
        raise LoadError(
            f"{table}: {count} row images lack a column of the key ({', '.join(key)}): partial images hold the "
            "primary key's columns only; name those with --key"
        )


def _write_versions(
    load: Load, state: TableState, segments: Sequence[Segment], eras: Sequence[Era], key: Sequence[str]
) -> None:
    tables = list(dict.fromkeys(segment.table for segment in segments))
    parts = [part for table in tables for part in _parts(load, table)]
    _publish(load, state, "scd2", versions(_events(load, segments, eras, key, parts), key))


def _publish(load: Load, state: TableState, kind: str, rows: DataFrame) -> None:
    """Stage a snapshot and count it."""
    path = snapshot(state.folder, kind, load.record.load)
    load.write(rows, staged(path))
    load.moves.append((staged(path), path))
    state.snapshots[kind] = [load.record.load, *state.snapshots.get(kind, [])[:1]]
    count = load.spark.read.schema(rows.schema).parquet(load.storage.address(staged(path))).count()
    summary = load.summary(state.name)
    if kind == "current":
        summary.current = count
    else:
        summary.scd2 = count
