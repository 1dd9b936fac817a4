"""A whole load: what is new is found, Spark runs the plan, and the state says what counts from then on."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from binx.errors import AbsentError, BinxError, RefusedError
from binx.spark.lake.arrivals import Arrivals, find_arrivals
from binx.spark.lake.bases import placed_bases
from binx.spark.lake.chains import once
from binx.spark.lake.compact import compact
from binx.spark.lake.job import Progress, load_tables
from binx.spark.lake.model import ChangesFile, Life, LoadResult, Options, Plan, TableName
from binx.spark.lake.place import Place
from binx.spark.lake.plan import plan_load
from binx.spark.lake.repeated import drop_repeated
from binx.spark.lake.selected import left_out
from binx.spark.lake.state import ALL_TABLES, LifeRecord, Loss, Output, State
from binx.spark.lake.summary import Summary, TableSummary
from binx.spark.lake.views import write_views

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARQUET, DELTA = "parquet", "delta"
FORMATS = (PARQUET, DELTA)


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What a load is asked to do.

    Attributes:
        inputs: the data sets.
        output: where the tables are.
        tables: patterns of the tables to load; all where there are none.
        keys: the columns of keys by ``db.table``, of tables that have none recorded.
        chains: the order in which servers are applied.
        at: the moment that the tables are wanted of, as :func:`.moments.moment_of` takes it; None for the end
            of the logs.
        rebuild: tables whose state is made anew from history.
        scd2: whether versions of rows are written.
        verify: whether new files are compared with their hashes.
        accept_losses: whether what is missing is noted as seen.
        compression: of Parquet files.
        format: that of the tables beside Parquet.
        compact: whether small files of history are joined.
        break_lock: whether another load that holds the output runs no longer.
    """

    inputs: tuple[str, ...]
    output: str
    tables: tuple[str, ...] = ()
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    chains: tuple[str, ...] = ()
    at: str | None = None
    rebuild: tuple[str, ...] = ()
    scd2: bool = False
    verify: bool = False
    accept_losses: bool = False
    compression: str = "zstd"
    format: str = PARQUET
    compact: bool = False
    break_lock: bool = False

    def wants(self, table: TableName) -> bool:
        """Whether the table is among those asked for."""
        return not self.tables or any(fnmatch.fnmatchcase(str(table), pattern) for pattern in self.tables)

    @property
    def selection(self) -> str:
        """A name of the choice of tables."""
        return " ".join(sorted(self.tables)) if self.tables else ALL_TABLES


def parse_key(text: str) -> tuple[str, tuple[str, ...]]:
    """A table and the columns of its key, from ``DB.TABLE=COLUMN,…``.

    Raises:
        ValueError: the text is something else.
    """
    table, _, columns = text.partition("=")
    names = tuple(name.strip() for name in columns.split(","))
    if "." not in table or not all(names):
        raise ValueError(f"expected DB.TABLE=COLUMN,…, found {text!r}")
    return table, names


Session = Callable[[], "AbstractContextManager[SparkSession]"]
"""Starts Spark; called only where there is something to do."""


def load(options: LoadOptions, session: Session, progress: Progress = lambda *_: None) -> Summary:
    """Load what is new, commit it, and tell what was done.

    Raises:
        BinxError: nothing was changed, and why.
    """
    place = Place(options.output)
    with place.locked(broken=options.break_lock):
        output = Output(place)
        was_killed = output.begin()
        try:
            return _Load(options, output, progress).run(session, shown=not was_killed)
        except BaseException:
            output.give_up()
            raise


class _Load:
    """One load, its lock held."""

    def __init__(self, options: LoadOptions, output: Output, progress: Progress) -> None:
        self._options = options
        self._output = output
        self._progress = progress
        self._state = output.state if options.at is None else _anew(output)
        self._load = output.state.version + 1
        self._summaries: dict[TableName, TableSummary] = {}

    def run(self, session: Session, *, shown: bool) -> Summary:
        """Load and commit; ``shown`` is whether readers have been told of the load before."""
        options, state = self._options, self._state
        former = {life.folder for life in self._output.state.lives.values()}
        if options.at is None and state.at:
            raise RefusedError(
                f"has the tables as of {state.at}: give another --at, or load into another folder",
                path=self._output.place.uri,
            )
        known = sum(map(len, state.known.values()))
        places = [Place(path) for path in options.inputs]
        arrivals = find_arrivals(
            state,
            places,
            self._output.place,
            wanted=options.wants,
            selection=options.selection,
            verify=options.verify,
            chains=options.chains,
            at=options.at,
        )
        state.at = "" if options.at is None else arrivals.moment.told
        order = arrivals.order
        fresh = bool(arrivals.new_manifests) or known != sum(map(len, state.known.values()))
        changed = (
            fresh
            or order != state.order
            or bool(options.rebuild or options.keys or options.at)
            or options.accept_losses
        )
        state.order = order
        state.keys |= {name: list(columns) for name, columns in options.keys.items()}
        state.statements += arrivals.statements
        state.versions.update(arrivals.versions)
        ranks = {name: rank for rank, name in enumerate(order)}
        arrived = [file for file in arrivals.files if file.table not in arrivals.wrong]
        arrived = drop_repeated(arrived, state.history, state.chains.gtids(), ranks, self._output.place)
        plan, lives = self._plan(arrived)
        self._check_asked(lives, arrivals)
        plan = self._wanted(plan)
        result = LoadResult([], [])
        if plan.arrived or plan.lives:
            with session() as spark, spark_errors(options.output):
                result = run_plan(
                    spark,
                    plan,
                    self._output.place.uri,
                    Options(options.compression, self._load),
                    self._progress,
                )
        stopped = dict(arrivals.wrong)
        self._take_history(result, stopped)
        self._take_lives(plan, lives, result, arrivals, stopped)
        self._note(arrivals, stopped)
        lives = _settled(lives, result)
        if options.compact:
            lives = compact(state, lives, lambda: self._plan(())[1], self._output.place)
        changed = changed or bool(plan.arrived or plan.lives or plan.finished or options.compact)
        for name, text in stopped.items():
            self._summary(name).error = text
        if changed:
            state.version = self._load
            self._output.commit(state)
        if changed or not shown:
            write_views(state, lives, self._output.place)
        if options.format == DELTA:
            from binx.spark.lake.delta import publish

            publish(state, self._output.place, former)
        # Tasks that were lost or stopped, and were tried again, have left files too.
        self._output.finish(tidy=bool(plan.arrived or plan.lives))
        return self._told(arrivals, changed=changed)

    def _plan(self, arrived: Sequence[ChangesFile]) -> tuple[Plan, list[Life]]:
        state, options = self._state, self._options
        ranks = {name: rank for rank, name in enumerate(state.order)}
        return plan_load(
            state.history,
            arrived,
            once(state.statements, ranks),
            state.versions,
            ranks,
            state.lives,
            keys=state.keys,
            rebuild=options.rebuild,
            scd2=options.scd2,
            bases=placed_bases(state.chains, ranks),
        )

    def _check_asked(self, lives: Sequence[Life], arrivals: Arrivals) -> None:
        """Whether the tables that options name are there."""
        names = {str(life.name) for life in lives if life.name} | set(map(str, arrivals.listed))
        names |= {str(file.table) for file in self._state.history}
        asked = [("--key", table) for table in self._options.keys]
        asked += [("--table", pattern) for pattern in self._options.tables]
        asked += [("--rebuild", table) for table in self._options.rebuild]
        for option, pattern in asked:
            if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
                listed = ", ".join(sorted(names)[:10]) or "no table"
                raise AbsentError(f"{option} {pattern}: the data contains only {listed}")

    def _wanted(self, plan: Plan) -> Plan:
        lives = tuple(life for life in plan.lives if self._options.wants(life.name))
        finished = tuple(
            life
            for life in plan.finished
            if life not in self._state.lives or self._options.wants(self._state.lives[life].name)
        )
        return replace(plan, lives=lives, finished=finished)

    def _take_history(self, result: LoadResult, stopped: dict[TableName, str]) -> None:
        """Let new files of history count, but those of tables of which one could not be read."""
        for one in result.history:
            if one.error:
                stopped.setdefault(one.source.table, one.error)
        for one in result.history:
            summary = self._summary(one.source.table)
            if one.source.table in stopped:
                continue
            self._state.history += one.files
            summary.loaded += sum(file.rows for file in one.files)
            summary.inserts += one.counts.get("insert", 0)
            summary.updates += one.counts.get("update_postimage", 0)
            summary.deletes += one.counts.get("delete", 0)

    def _take_lives(
        self,
        plan: Plan,
        lives: Sequence[Life],
        result: LoadResult,
        arrivals: Arrivals,
        stopped: Mapping[TableName, str],
    ) -> None:
        """Let new states of tables count, and note what is missing from each."""
        state, options = self._state, self._options
        plans = {one.life: one for one in plan.lives}
        results = {one.life: one for one in result.lives}
        ranks = {name: rank for rank, name in enumerate(state.order)}
        records = {}
        for life in lives:
            former = state.records.get(life.id)
            if life.name is None:
                continue
            if former is not None and not options.wants(life.name):
                records[life.id] = former
                continue
            if not options.wants(life.name):
                continue
            planned, found = plans.get(life.id), results.get(life.id)
            losses = () if former is None or (planned and planned.former is None) else former.losses
            error = ""
            if planned and any(unit.file.table in stopped for unit in planned.units):
                error = next(stopped[unit.file.table] for unit in planned.units if unit.file.table in stopped)
            elif found is not None:
                error = found.error
                told = [Loss(text, arrivals.since) for text in found.losses]
                losses += tuple(loss for loss in told if loss.reason not in {one.reason for one in losses})
                self._summary(life.name).notes += found.notes
                if found.state is not None and not error:
                    state.lives[life.id] = found.state
                    self._summary(life.name).current = found.rows
            reached = sorted(map(str, life.parents & arrivals.deleted))
            if reached:
                parents = ", ".join(reached)
                text = f"rows that foreign keys deleted or changed with rows of {parents} are not logged"
                if all(loss.reason != text for loss in losses):
                    losses += (Loss(text, arrivals.since),)
            kept = state.lives.get(life.id)
            records[life.id] = LifeRecord(
                name=life.name,
                whole=life.whole,
                reasons=(*life.reasons, *left_out(life, state.chains, ranks)),
                losses=losses,
                unknown=sum(file.unknown for file in kept.ranges) if kept else 0,
                error=error,
                seen=former.seen if former else (),
            )
        for gone in plan.finished:
            state.lives.pop(gone, None)
        state.records = records

    def _note(self, arrivals: Arrivals, stopped: Mapping[TableName, str]) -> None:
        """Note how far each table is taken, and what is missing of none in particular."""
        state, options = self._state, self._options
        default = state.upto(options.selection)
        for table in {*state.uptos, *arrivals.listed, *stopped}:
            if table in stopped:
                state.uptos.setdefault(table, default)
            elif options.wants(table):
                state.uptos[table] = self._load
        state.selections = {
            **({} if options.selection == ALL_TABLES else state.selections),
            options.selection: self._load,
        }
        state.losses += arrivals.losses
        if options.accept_losses:
            state.losses = [replace(loss, seen=True) for loss in state.losses]
            state.records = {
                life: record.accepted() if options.wants(record.name) else record
                for life, record in state.records.items()
            }

    def _summary(self, table: TableName) -> TableSummary:
        return self._summaries.setdefault(table, TableSummary(table.db, table.table))

    def _told(self, arrivals: Arrivals, *, changed: bool) -> Summary:
        state = self._state
        for record in state.records.values():
            if self._options.wants(record.name):
                summary = self._summary(record.name)
                summary.complete, summary.reasons = record.complete, record.told
                summary.accepted, summary.error = record.is_accepted, summary.error or record.error
        for table, rows in arrivals.listed.items():
            self._summary(table).listed = rows
        return Summary(
            output=self._output.place.uri,
            load=state.version,
            changed=changed,
            manifests=arrivals.manifests,
            new_manifests=arrivals.new_manifests,
            tables=sorted(self._summaries.values(), key=lambda one: (one.db, one.table)),
            losses=[loss.reason for loss in state.losses],
            losses_seen=all(loss.seen for loss in state.losses),
            at=state.at,
        )


def _anew(output: Output) -> State:
    """What an output begins with that has tables at a moment: each load makes all of them anew.

    Raises:
        RefusedError: it has tables as of the end of the logs, or would bring back what was erased.
    """
    state = output.state
    if state.version and not state.at:
        raise RefusedError(
            "has the tables as of the end of the logs: with --at, load into another folder",
            path=output.place.uri,
        )
    if state.erasures:
        raise RefusedError(
            "rows were erased from it, which the data set may still have: load into another folder",
            path=output.place.uri,
        )
    return State(version=state.version, keys=dict(state.keys))


def _settled(lives: Sequence[Life], result: LoadResult) -> list[Life]:
    """The lives, their rows where ``history/`` has them now; of those that were not taken there are none."""
    files = {one.source.identity: one.files for one in result.history}
    return [
        replace(
            life,
            units=[
                replace(unit, file=file, first=max(unit.first, file.first), last=min(unit.last, file.last))
                for unit in life.units
                for file in (files.get(unit.file.identity, []) if unit.file.root else [unit.file])
                if unit.first <= file.last and file.first <= unit.last
            ],
        )
        for life in lives
    ]


def run_plan(
    spark: SparkSession, plan: Plan, output: str, options: Options, progress: Progress
) -> LoadResult:
    """What :func:`~binx.spark.lake.job.load_tables` does, in a session with the settings it relies on.

    Raises:
        BinxError: this Spark is too old: before 4.1 it loses rows in silence.
    """
    version = tuple(int(part) for part in spark.version.split(".")[:2])
    if version < (4, 1):
        raise BinxError(f"Spark {spark.version} is too old, expected 4.1 or newer: pip install 'binx[spark]'")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    return load_tables(spark, plan, output, options, progress)


@contextmanager
def spark_errors(output: str) -> Iterator[None]:
    """Tell in one line what Spark, or Python in a task, says.

    Raises:
        BinxError: it failed.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise BinxError(f"Spark failed, and nothing was changed; it said: {reason_of(error)}") from error
    except OSError as error:
        raise BinxError(f"the load stopped, and nothing was changed in {output}: {error}") from error


def reason_of(error: Exception) -> str:
    """What Java says of the first cause of an error of Spark, or Python in a task, in one line."""
    origin: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while origin is not None and origin.getCause() is not None:
        origin = origin.getCause()
    lines = (str(error) if origin is None else str(origin.toString())).strip().split("\n")
    if any("Traceback (most recent call last):" in line for line in lines):
        return [line for line in lines if line.strip() and not line.startswith(" ")][-1]
    return lines[0]


def load_status(path: str) -> Summary:
    """What is loaded in an output, table by table.

    Raises:
        AbsentError: nothing is.
    """
    place = Place(path)
    state = Output(place).state
    if not state.version:
        raise AbsentError("has no _state.json: expected the output of `binx load`", path=path)
    rows = {life: sum(file.rows for file in one.ranges) for life, one in state.lives.items()}
    tables = [
        TableSummary(
            record.name.db,
            record.name.table,
            current=rows.get(life),
            complete=record.complete,
            reasons=record.told,
            accepted=record.is_accepted,
            error=record.error,
        )
        for life, record in state.records.items()
    ]
    return Summary(
        output=place.uri,
        load=state.version,
        changed=False,
        manifests=sum(map(len, state.known.values())),
        new_manifests=0,
        tables=sorted(tables, key=lambda one: (one.db, one.table)),
        losses=[loss.reason for loss in state.losses],
        losses_seen=all(loss.seen for loss in state.losses),
        at=state.at,
    )


__all__ = ["DELTA", "FORMATS", "PARQUET", "LoadOptions", "load", "load_status", "parse_key"]
