"""The steps of a load, from manifests to the commit."""

from __future__ import annotations

import fnmatch
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import quote

from pyspark.sql import SparkSession

from .arguments import Options
from .context import Load
from .ddl import column_changes, effects
from .delta import stage_logs
from .hadoop import open_storage
from .history import stage_rows
from .iceberg import find_catalog, publish_tables
from .lineage import Position, Segment, trace_tables
from .manifests import DataFile, Manifest, TableName, check_hashes, read_manifests, read_schema
from .outcome import ExitCode, LoadError
from .output import LOCK, Output
from .parallel import Progress, Steps, Task, run_all
from .plan import TablePlan, plan_tables
from .records import DELTA, ICEBERG, KnownSchema, LoadRecord, State, TableState
from .snapshots import build_states, leave_state
from .statements import Prepared, Statement, follow_prepared, in_order, read_statements
from .summary import Summary
from .unseen import tell_cascades, tell_converted, tell_partitions

_OLDEST_SPARK = (4, 1)
_NAME_CHARACTERS = " !#$&'()+,-.=@_~"


def load_new(
    spark: SparkSession, options: Options, progress: Progress, manifests: Sequence[Manifest] | None = None
) -> Summary:
    """Load what is new, commit it, and tell what was done.

    Args:
        spark: the session.
        options: what to load.
        progress: told about each step.
        manifests: what the data sets hold, where that was read before.

    Raises:
        LoadError: nothing was changed, and why; or all is committed, but not yet in Iceberg's tables.
    """
    began = time.monotonic()
    _prepare(spark)
    catalog = find_catalog(spark, options.catalog) if options.format == ICEBERG else ""
    if manifests is None:
        manifests = read_manifests([open_storage(path, spark) for path in options.inputs])
    storage = open_storage(options.output, spark)
    with storage.lock(LOCK, broken=options.break_lock):
        job = _Job(spark, options, Output(storage), manifests, progress)
        changed = job.load()
        if catalog:
            job.publish(catalog)
        return job.summary(time.monotonic() - began, changed=changed)


def _prepare(spark: SparkSession) -> None:
    """Set what the right reading and writing of times depends on.

    Raises:
        LoadError: this Spark is too old; before 4.1 it loses rows and widens types wrongly in silence.
    """
    version = tuple(int(part) for part in spark.version.split(".")[:2])
    if version < _OLDEST_SPARK:
        oldest = ".".join(map(str, _OLDEST_SPARK))
        raise LoadError(
            f"Spark {spark.version} is too old, expected {oldest} or newer: pip install 'binx[spark]'"
        )
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    spark.conf.set("spark.sql.parquet.inferTimestampNTZ.enabled", "true")


def _check_format(options: Options, state: State) -> None:
    """Whether the output's tables have the format that is asked for.

    Raises:
        LoadError: they have another.
    """
    found = {table.format for table in state.tables.values()} - {options.format}
    if found:
        raise LoadError(
            f"{options.output} holds tables of the format {', '.join(sorted(found))}, and --format is "
            f"{options.format}: give that one, or load into a new folder",
            ExitCode.USAGE,
        )


class _Job:
    """One load, its lock held."""

    def __init__(
        self,
        spark: SparkSession,
        options: Options,
        output: Output,
        manifests: Sequence[Manifest],
        progress: Progress,
    ) -> None:
        former = output.state
        _check_format(options, former)
        self._options = options
        self._output = output
        self._manifests = manifests
        self._progress = progress
        self._steps = Steps(0, progress)
        self._chains = former.chains.assign(manifests)
        ranks = former.chains.ranks(options.chains)
        order = sorted(ranks, key=lambda chain: ranks[chain])
        self._reordered = [chain for chain in order if chain in former.order] != former.order
        known = {entry["sha256"] for load in output.loads for entry in load.manifests}
        self._new_manifests = [manifest for manifest in manifests if manifest.sha256 not in known]
        record = LoadRecord(
            former.version + 1,
            [{"name": manifest.name, "sha256": manifest.sha256} for manifest in self._new_manifests],
        )
        tables = {name: replace(state) for name, state in former.tables.items()}
        for state in tables.values():
            state.snapshots = dict(state.snapshots)
            state.schemas = dict(state.schemas)
            state.logs = dict(state.logs)
        self._state = State(
            former.version + 1, order, former.chains, list(former.statements), tables, former.withheld
        )
        self._load = Load(spark, output, options, record, ranks, tables)
        self._losses = [loss for manifest in self._new_manifests for loss in manifest.losses]

    def load(self) -> bool:
        """Stage and commit what is new; False where there is nothing."""
        plans = plan_tables(self._manifests, self._chains, self._output.taken())
        self._check_asked({*plans, *self._state.tables})
        plans = {table: plan for table, plan in plans.items() if self._options.wants(table)}
        statements = self._new_statements()
        if self._options.verify:
            self._verify(plans.values(), statements)
        self._know_tables(plans.values())
        self._know_schemas()
        self._take_statements(statements)
        fresh = [plan for plan in plans.values() if plan.candidates]
        known = list(dict.fromkeys(map(Statement.from_json, self._state.statements)))
        ordered = in_order(known, self._load.ranks)
        self._follow_prepared(known, follow_prepared(statement for _, statement in ordered))
        tell_cascades(self._load, self._new_manifests, [statement for _, statement in ordered])
        self._stage(fresh)
        self._build_states(fresh, ordered)
        record = self._load.record
        if not (self._load.moves or record.files or record.statements):
            return False
        published = stage_logs(self._load) if self._options.format == DELTA else []
        self._output.commit(self._state, record, self._load.moves, published)
        return True

    def publish(self, catalog: str) -> None:
        """Bring Iceberg's tables up to what is committed, also where a run before did not get to it."""
        publish_tables(self._load, catalog)

    def summary(self, seconds: float, *, changed: bool) -> Summary:
        """What was done."""
        tables = sorted(self._load.summaries.values(), key=lambda table: (table.db, table.table))
        return Summary(
            output=self._output.storage.root,
            load=self._output.state.version,
            changed=changed,
            manifests=len(self._manifests),
            new_manifests=len(self._new_manifests),
            seconds=round(seconds, 3),
            tables=tables,
            notes=self._notes(),
            losses=self._losses,
        )

    def _check_asked(self, tables: set[TableName]) -> None:
        """Whether the tables that options name are there.

        Raises:
            LoadError: one is not.
        """
        names = [str(table) for table in tables]
        asked = [("--key", table) for table in self._options.keys]
        asked += [("--table", pattern) for pattern in self._options.tables]
        for option, pattern in asked:
            if not any(name == pattern or fnmatch.fnmatchcase(name, pattern) for name in names):
                listed = ", ".join(sorted(names)[:10]) or "no table"
                raise LoadError(f"{option} {pattern}: the data contains only {listed}", ExitCode.ABSENT)

    def _notes(self) -> list[str]:
        count = len(self._state.withheld)
        return (
            [f"XA transactions that are prepared or rolled back (in history only): {count}"] if count else []
        )

    def _new_statements(self) -> dict[str, list[DataFile]]:
        """Files of statements that no load took, by chain."""
        taken = {(chain, sha256) for load in self._output.loads for chain, sha256 in load.statements}
        found: dict[str, list[DataFile]] = defaultdict(list)
        for manifest in self._manifests:
            chain = self._chains[manifest.source.key]
            for file in manifest.of_kind("statements"):
                if file.rows and (chain, file.sha256) not in taken:
                    taken.add((chain, file.sha256))
                    found[chain].append(file)
        return found

    def _verify(self, plans: Iterable[TablePlan], statements: dict[str, list[DataFile]]) -> None:
        files = [one.file for plan in plans for one in plan.candidates]
        files += [file for listed in statements.values() for file in listed]
        total = sum(file.bytes for file in files)
        self._progress(0, total, f"hashes of {len(files)} files")
        check_hashes(files)

    def _know_tables(self, plans: Iterable[TablePlan]) -> None:
        """Give each planned table its place in state and summary; folders are called as in the export."""
        for plan in plans:
            summary = self._load.summary(plan.table)
            summary.known, summary.repeated = plan.known, plan.repeated
            summary.listed = plan.known + plan.repeated + plan.rows
            if plan.table not in self._state.tables and plan.candidates:
                _, db, table, *_ = plan.candidates[0].file.path.split("/")
                self._state.tables[plan.table] = TableState(plan.table, f"{db}/{table}", self._options.format)

    def _know_schemas(self) -> None:
        """Read the schema records of tables that are loaded, each once."""
        seen: set[tuple[str, str]] = set()
        for manifest in self._manifests:
            for file in manifest.of_kind("schema"):
                place = (file.storage.root, file.path)
                if place in seen or (file.table is not None and not self._is_new_schema(file)):
                    continue
                seen.add(place)
                table, record = read_schema(file)
                state = self._state.tables.get(table)
                if state is not None and record.version not in state.schemas:
                    state.schemas[record.version] = KnownSchema(self._chains[manifest.source.key], record)

    def _is_new_schema(self, file: DataFile) -> bool:
        assert file.table is not None
        state = self._state.tables.get(file.table)
        version = file.path.rpartition("/")[2].removesuffix(".json")
        return state is not None and version not in state.schemas

    def _take_statements(self, files: dict[str, list[DataFile]]) -> None:
        """Keep the statements that change tables as a whole, and count those that change rows."""
        found, changes = read_statements(self._load.spark, files)
        self._state.statements += [statement.to_json() for statement in found if statement.lasts]
        self._load.record.statements += [
            (chain, file.sha256) for chain, listed in files.items() for file in listed
        ]
        if changes:
            self._losses.append(
                f"changes logged as statements: {changes}; they are only in statements/ of the export,"
                " and missing from the tables here"
            )
        for statement in found:
            tell_partitions(self._load, statement)
            tell_converted(self._load, statement)

    def _stage(self, plans: list[TablePlan]) -> None:
        self._steps = Steps(2 * sum(plan.bytes for plan in plans), self._progress)
        run_all(
            self._load.spark,
            [
                Task(
                    f"{plan.table}: history of {plan.rows:,} rows",
                    plan.bytes,
                    partial(stage_rows, self._load, plan),
                )
                for plan in plans
            ],
            self._steps,
        )

    def _build_states(self, plans: list[TablePlan], statements: list[tuple[Position, Statement]]) -> None:
        ordered = [(position, effect) for position, one in statements for effect in effects(one.sql, one.db)]
        self._load.column_changes = [
            (position, change)
            for position, one in statements
            if (change := column_changes(one.sql, one.db)) is not None
        ]
        stocked = {part.table for record in self._load.records() for part in record.parts if part.rows}
        sizes = {plan.table: plan.bytes for plan in plans}
        tasks = []
        for table, segments in trace_tables(stocked, ordered).items():
            if not any(segment.table in stocked for segment in segments):
                continue
            if not self._options.wants(table):
                leave_state(self._load, table, segments, reordered=self._reordered)
                continue
            self._know_renamed(table, segments)
            build = partial(build_states, self._load, table, segments, reordered=self._reordered)
            tasks.append(Task(f"{table}: state", sizes.get(table, 0), build))
        run_all(self._load.spark, tasks, self._steps)

    def _follow_prepared(self, statements: list[Statement], prepared: Prepared) -> None:
        """Find the XA transactions whose rows do not hold, and those whose rows do since the last load.

        Rows are of the chain that came first: so each chain's statements are asked where such rows are.
        """
        late = prepared.settled.intersection(self._state.withheld)
        released = [statement for statement in statements if statement.event in late]
        withheld = [statement for statement in statements if statement.event in prepared.withheld]
        self._load.withheld = frozenset(statement.place for statement in withheld)
        self._load.released = frozenset(statement.place for statement in released)
        self._load.released_tables = frozenset(
            file.table
            for load in self._output.loads
            for file in load.files
            for statement in released
            if file.chain == statement.chain and file.first <= statement.scn <= file.last
        )
        self._state.withheld = sorted(prepared.withheld)
        kept = [statement for statement in statements if statement.event not in prepared.settled]
        self._state.statements = [statement.to_json() for statement in kept]

    def _know_renamed(self, table: TableName, segments: Iterable[Segment]) -> None:
        """Give a table that has its rows from another name its own place."""
        if table not in self._state.tables:
            folder = "/".join(quote(name, safe=_NAME_CHARACTERS) for name in table)
            self._state.tables[table] = TableState(table, folder, self._options.format)
            self._load.summary(table).notes.append(
                "its rows were logged as " + ", ".join(str(segment.table) for segment in segments)
            )
