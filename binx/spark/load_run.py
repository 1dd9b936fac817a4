"""Run a load: find new files, run the plan on Spark, commit the state."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from binx.errors import AbsentError, BinxError, RefusedError, UsageError
from binx.lake.arrivals.arrivals import FileSearch, find_arrivals
from binx.lake.compaction import expire, replace_joined, to_compact
from binx.lake.completeness import MergedRows, losses_of_logs, ranks_of, record_of
from binx.lake.dataset.loaded_chains import LogLoss
from binx.lake.load_plan import Plan, check_key, lives_of, plan_load
from binx.lake.options import DELTA, LoadOptions
from binx.lake.place import LakeStore
from binx.lake.published.delta import publish
from binx.lake.published.loads import record_load
from binx.lake.published.views import has_views, write_views
from binx.lake.state.loaded_state import LifeRecord, Loss, Options, State
from binx.lake.state.output_folder import Output
from binx.lake.summary import LoadSummary, TableSummary
from binx.lake.table_name import TableName, filter_of, listed_tables
from binx.lake.tables.lacking import hit_by_statements, statements_loss, unlogged
from binx.lake.tables.lives import TableHistory
from binx.lake.tasks.history import Taken
from binx.lake.tasks.merge import lost_by_types
from binx.source.remote import is_uri
from binx.spark.catalog import CatalogStore
from binx.spark.job import Job, Progress
from binx.spark.session import check_executors, local_session, spark_errors
from binx.version import install_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from binx.lake.erasure import Erasing

Session = Callable[[], AbstractContextManager["SparkSession"]]
"""Starts Spark; called only if there is work to do."""


def load(options: LoadOptions, session: Session, progress: Progress = lambda *_: None) -> LoadSummary:
    """Load new files, commit, and return a summary.

    Raises:
        BinxError: nothing was changed; the message has the reason.
    """
    # What is wrong with the options or the data sets is found before anything is made in the output.
    planned = _Load(options, Output(LakeStore(options.output)), progress)
    with planned.output.locked(broken=options.break_lock), _once(session) as spark:
        return planned.run(spark)


@contextmanager
def _once(session: Session) -> Iterator[Callable[[], SparkSession]]:
    """Yield a function that starts Spark on first use and keeps it running until the end."""
    with ExitStack() as running:
        yield cache(lambda: running.enter_context(session()))


class _Load:
    """A load: planned when it is made, and run while the output is locked."""

    def __init__(self, options: LoadOptions, output: Output, progress: Progress) -> None:
        self.output = output
        self._options = options
        self._place = output.place
        self._progress = progress
        self._state = state = output.state if options.at is None else _anew(output)
        self._load = output.state.version + 1
        self._summaries: dict[TableName, TableSummary] = {}
        if options.at is None and state.at:
            raise RefusedError(
                f"has the tables as of {state.at}: give another --at, or load into another folder",
                path=self._place.uri,
            )
        self._before = _recorded(state)
        state.shards |= options.shards
        if state.shards and (options.format == DELTA or options.catalog or state.catalog):
            raise UsageError(
                "--shards: a table's columns may differ from shard to shard, which tables of Delta and of a"
                " catalog cannot: load without --format and --catalog, and read the views"
            )
        self._history = state.history
        search = FileSearch(options.wants, verify=options.verify, chains=options.chains, at=options.at)
        self._arrivals = find_arrivals(
            state, [LakeStore(path) for path in options.inputs], self._place, search
        )
        state.at = "" if options.at is None else self._arrivals.moment.text
        state.keys |= options.keys
        state.hourly |= options.hourly_history
        self._catalog = self._store()
        self._plan = self._planned()
        self._check_names(self._plan.lives)

    def run(self, spark: Callable[[], SparkSession]) -> LoadSummary:
        """Load and commit."""
        options, state, plan, arrivals = self._options, self._state, self._plan, self._arrivals
        folders = {life.folder for life in self.output.state.lives.values()}
        written = {file.table.folder for file in arrivals.files} | {work.goal.folder for work in plan.work}
        self.output.folders |= written
        history: list[Taken] = []
        if written:
            session = spark()
            self.output.begin()
            with spark_errors(options.output):
                if self._catalog is not None:
                    self._catalog.bring_up(session)
                    works = self._catalog.copy_rows(session, plan.work, plan.lives)
                    self._plan = plan = replace(plan, work=works)
                history = self._run_job(session)
        stopped = dict(arrivals.wrong)
        self._take_history(history, stopped)
        self._take_lives(stopped)
        self._record(stopped)
        new = {file.path for taken in history for file in taken.files}
        erased: list[Erasing] = []
        if new and any(note.get("forever") for note in state.erasures):
            # Imported here, as conditions take long to load.
            from binx.lake.erasure import erase_again

            state.version = self._load
            erased = erase_again(self.output, new)
        lives = self._compact(spark, new)
        changed = (
            bool(plan.work or history or arrivals.new_manifests or plan.finished)
            or bool(options.rebuild or options.keys or options.at or options.accept_losses)
            or self._before != _recorded(state)
            or (self._catalog is not None and self._catalog.is_behind)
        )
        for name, text in stopped.items():
            self._summary(name).error = text
        self._complete_summaries()
        if changed:
            state.version = self._load
            self.output.commit(state)
            record_load(self._place, self._load, self._summaries.values())
        for erasing in erased:
            erasing.settle()
        if not has_views(state, self._place):
            write_views(state, lives_of(state) if lives is None else lives, self._place)
        if options.format == DELTA:
            publish(state, self._place, folders)
        if self._catalog is not None:
            self._bring_up(spark)
        self.output.tidy(everywhere=bool(stopped))
        return replace(
            LoadSummary.of(state, self._place.uri, self._summaries.values()),
            changed=changed,
            manifests=arrivals.manifests,
            new_manifests=arrivals.new_manifests,
        )

    def _store(self) -> CatalogStore | None:
        """Return the catalog whose tables have the rows; None for files."""
        state, options = self._state, self._options
        name = options.catalog or state.catalog
        if not name:
            return None
        if options.format == DELTA:
            raise UsageError("--format delta is for tables in files, and these are in a catalog")
        if options.soft_deletes or any(life.soft_deletes for life in state.lives.values()):
            raise UsageError(
                "--soft-deletes is for tables in files: tables of Iceberg have a column _deleted of their own"
            )
        if state.catalog not in ("", name):
            if any(
                life.catalog is not None and not (life.ranges and life.catalog.is_new)
                for life in state.lives.values()
            ):
                raise RefusedError(
                    f"its tables are in the catalog {state.catalog}: for another one, load into another"
                    " folder",
                    path=self._place.uri,
                )
            state.lives = {life: replace(own, catalog=None) for life, own in state.lives.items()}
        state.catalog = name
        if not state.writer:
            # Earlier versions noted it beside the state.
            former = json.loads(self._place.read("_catalog.json") or b"{}")
            state.writer = former.get("writer", "")
        return CatalogStore(state, self._place, name, options)

    def _bring_up(self, spark: Callable[[], SparkSession]) -> None:
        """Bring the catalog's tables up to the committed state; report failures in the summary."""
        assert self._catalog is not None
        if self._catalog.is_behind:
            self._catalog.errors.clear()
            self._catalog.bring_up(spark())
            self._catalog.empty(spark())
            self.output.commit(self._state)
        self._place.remove(sorted(self._catalog.merged))
        for table, text in self._catalog.errors.items():
            self._summary(table).error = text

    def _planned(self) -> Plan:
        options, state = self._options, self._state
        plan = plan_load(
            state,
            self._arrivals.files,
            rebuild=options.rebuild,
            scd2=options.scd2,
            soft_deletes=options.soft_deletes,
        )
        self._check_erased(plan.lives)
        # Rows of a stopped table may belong to a life that has another name now.
        stopped = {life.id for life in plan.lives if _problem_of(life, self._arrivals.wrong)}
        return replace(
            plan,
            work=[
                work for work in plan.work if options.wants(work.goal.name) and work.goal.life not in stopped
            ],
            finished=[life for life in plan.finished if options.wants(state.lives[life].name)],
        )

    def _check_erased(self, lives: Sequence[TableHistory]) -> None:
        """Check that no new rows of a table are older than rows of which keys were erased."""
        erased = {TableName.parse(note["table"]) for note in self._state.erasures}
        new = {file.identity for file in self._arrivals.files}
        for life in [life for life in lives if not erased.isdisjoint(name for _, name in life.names)]:
            is_new = [unit.file.identity in new for unit in life.units]
            if any(earlier and not later for earlier, later in pairwise(is_new)):
                raise RefusedError(
                    f"keys of {life.name} were erased, and a log or base that is new to it is older: it may"
                    " have the same rows. Take it out of the data set (binx to-parquet --forget), or load"
                    " into another folder and erase there",
                    path=self._place.uri,
                )

    def _check_names(self, lives: Sequence[TableHistory]) -> None:
        """Check that the tables and columns named in options exist."""
        options, arrivals = self._options, self._arrivals
        names = {life.name for life in lives if life.name} | arrivals.tables
        names |= {waiting.file.table for waiting in arrivals.waiting} | {
            file.table for file in self._state.history
        }
        requested = [("--key", str(table)) for table in options.keys]
        requested += [("--table", pattern) for pattern in options.tables]
        requested += [("--rebuild", str(table)) for table in options.rebuild]
        requested += [("--partition-by", str(table)) for table, _ in options.partition_by]
        requested += [("--sort-by", str(table)) for table, _ in options.sort_by]
        for option, pattern in requested:
            if not any(filter_of((), (pattern,)).takes(*name) for name in names):
                listed = listed_tables(names, pattern)
                raise AbsentError(f"{option} {pattern}: the data contains only {listed}")
        for table in options.rebuild:
            if not options.wants(table):
                raise UsageError(f"--rebuild {table}: --table leaves it out")
        for life in lives:
            if life.name is not None and life.name in options.keys:
                check_key(life, options.keys[life.name])

    def _compact(self, spark: Callable[[], SparkSession], new: Collection[str]) -> list[TableHistory] | None:
        """Remove old files of history, and join small ones, if this load added some or was asked to.

        Returns the lives as they are then; None if there was nothing to do.
        """
        state, everything, days = self._state, self._options.compact, self._options.keep_history
        if not new and not everything and days is None:
            return None
        lives = lives_of(state)
        if days is not None:
            lives = expire(state, lives, str(datetime.now(UTC).date() - timedelta(days=days)))
        if not new and not everything:
            return lives
        done, groups = to_compact(state, lives, new, everything=everything)
        if not groups:
            return lives
        self.output.folders |= {group[0].table.folder for group in groups}
        session = spark()
        self.output.begin()
        with spark_errors(self._options.output):
            results = self._job(session).join(groups)
        written = []
        for group, (file, error) in zip(groups, results, strict=True):
            if file is not None:
                written.append((group, file))
            elif error:
                self._summary(group[0].table).error = error
        return replace_joined(state, done, written)

    def _run_job(self, spark: SparkSession) -> list[Taken]:
        if tuple(int(part) for part in spark.version.split(".")[:2]) < (3, 5):
            raise BinxError(
                f"Spark {spark.version} is too old, expected 3.5 or newer: {install_command('spark')}"
            )
        return self._job(spark).run(self._arrivals.files, self._plan.work, self._plan.empty)

    def _job(self, spark: SparkSession) -> Job:
        options = Options(self._options.compression, self._state.hourly)
        return Job(spark, self._place.uri, options, self._progress)

    def _take_history(self, history: Sequence[Taken], stopped: dict[TableName, str]) -> None:
        """Add new files to history, except those of tables with an unreadable file."""
        for taken in history:
            if taken.error:
                stopped.setdefault(taken.source.table, taken.error)
        for taken in history:
            summary = self._summary(taken.source.table)
            if taken.source.table not in stopped:
                self._state.history += taken.files
                summary.loaded += sum(taken.counts.values())
                summary.inserts += taken.counts.get("insert", 0)
                summary.updates += taken.counts.get("update_postimage", 0)
                summary.deletes += taken.counts.get("delete", 0)
        if stopped:
            # What the new files repeat counts there as long as these are not loaded.
            kept = [file for file in self._state.history if file.table not in stopped]
            lost = {file.path: file.lost for file in self._state.history}
            self._state.history = kept + [
                replace(file, lost=lost.get(file.path, file.lost))
                for file in self._history
                if file.table in stopped
            ]

    def _take_lives(self, stopped: Mapping[TableName, str]) -> None:
        """Take over the tables' new states, and record what is missing from each."""
        state, options, plan, arrivals = self._state, self._options, self._plan, self._arrivals
        by_life = {work.life: work for work in plan.work}
        cascaded = unlogged(plan.lives, arrivals.causes)
        records: dict[str, LifeRecord] = {}
        hidden, in_logs = dict(state.unlogged), losses_of_logs(state, arrivals.moment.last)
        for life in plan.lives:
            former, work = state.records.get(life.id), by_life.get(life.id)
            hit = hit_by_statements(life, state.unlogged, ranks_of(life, state))
            hidden = {target: changes for target, changes in hidden.items() if target not in hit}
            if life.name is None:
                continue
            if not options.wants(life.name):
                records |= {life.id: former} if former is not None else {}
                continue
            if former is not None and work is not None and work.former is None:
                former = replace(former, losses=())
            error = _problem_of(life, stopped) or ("" if work is None else work.error)
            if work is not None and not error:
                own = work.state
                state.lives[life.id] = own if self._catalog is None else self._catalog.taken(own, work)
                # How many is known at the end, as keys may be erased.
                self._summary(life.name).current = 0
            kept = state.lives.get(life.id)
            if self._catalog is not None and kept is not None and kept.catalog is None and kept.ranges:
                kept = state.lives[life.id] = self._catalog.moved(kept)
            merged = MergedRows(
                lost=() if work is None or error else lost_by_types(work.lost, work.unkeyed),
                differing=0 if kept is None else kept.differing,
                unknown=0 if kept is None else kept.unknown,
            )
            records[life.id] = record_of(
                life, state, in_logs, merged, cascaded.get(life.id),
                former=former, since=arrivals.since, error=error,
            )  # fmt: skip
        # A table that is stopped before it has rows of its own keeps those of the one that it replaces.
        unbuilt = {
            (one.name, one.shard) for life, one in records.items() if one.error and life not in state.lives
        }
        for gone in plan.finished:
            if (state.lives[gone].name, state.lives[gone].shard) not in unbuilt:
                ended = state.lives.pop(gone)
                state.emptied += [] if ended.catalog is None else [ended.name]
        state.records = records
        self._take_losses(statements_loss(hidden), in_logs)

    def _take_losses(self, by_statements: Loss | None, in_logs: Mapping[str, Sequence[LogLoss]]) -> None:
        """Record the losses that concern no particular table of those that are loaded."""
        state, arrivals = self._state, self._arrivals
        reported = {reason for record in state.records.values() for reason in record.reasons}
        texts = [one.sentence(chain) for chain, one in state.left_out.items()]
        texts += [loss.text for own in in_logs.values() for loss in own]
        losses = [Loss(text, arrivals.since) for text in dict.fromkeys(texts) if text not in reported]
        if by_statements is not None:
            reason = f"{by_statements.reason}, and no table loaded here has them"
            losses.append(replace(by_statements, reason=reason))
        former = {loss.reason: loss for loss in state.losses}
        state.losses = [former.get(loss.reason, loss) for loss in losses]

    def _record(self, stopped: Mapping[TableName, str]) -> None:
        """Record the files that wait for another load, and what the user accepts."""
        state, options, arrivals = self._state, self._options, self._arrivals
        state.waiting = [
            waiting
            for waiting in arrivals.waiting
            if waiting.file.table in stopped or not arrivals.wanted(waiting.file.table)
        ]
        if options.accept_losses:
            state.losses = [replace(loss, seen=True) for loss in state.losses]
            state.records = {
                life: record.accepted() if options.wants(record.name) else record
                for life, record in state.records.items()
            }

    def _summary(self, table: TableName) -> TableSummary:
        return self._summaries.setdefault(table, TableSummary(table.db, table.table))

    def _complete_summaries(self) -> None:
        """Add to the tables' summaries what the state and the new manifests say of them."""
        for record in self._state.records.values():
            if self._options.wants(record.name):
                self._summary(record.name).add(record)
        for summary in self._summaries.values():
            if summary.current is not None:
                lives = self._state.lives.values()
                summary.current = sum(life.rows for life in lives if life.name == summary.name)
        for waiting in self._arrivals.waiting:
            if self._options.wants(waiting.file.table):
                self._summary(waiting.file.table).listed += waiting.file.rows


def _problem_of(life: TableHistory, stopped: Mapping[TableName, str]) -> str:
    """Return why rows of a life may be missing: a table with one of its names could not be loaded."""
    return next((stopped[name] for _, name in life.names if name in stopped), "")


def _recorded(state: State) -> tuple[int, list[str], int, bool]:
    """Return the parts of a state that a load without new files may change."""
    return len(state.paths()), state.order, sum(map(len, state.known.values())), state.hourly


def _anew(output: Output) -> State:
    """Return the initial state of an output with tables at a moment, which each load rebuilds."""
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
    return State(
        version=state.version,
        keys=dict(state.keys),
        catalog=state.catalog,
        writer=state.writer,
        emptied=[*state.emptied, *(life.name for life in state.lives.values() if life.catalog is not None)],
        garbage=dict(state.garbage),
    )


def run_load(
    options: LoadOptions,
    *,
    master: str | None = None,
    memory: str | None = None,
    settings: Mapping[str, str] | None = None,
    progress: Progress = lambda *_: None,
    stage: Callable[[str], None] = lambda _: None,
) -> LoadSummary:
    """Load data sets, as ``binx load`` does: on this machine, on a cluster, or under ``spark-submit``.

    Spark is started only if there is work to do; problems of a data set are reported before that.

    Args:
        stage: called with what begins, in words.

    Raises:
        BinxError: Spark cannot be started, executors lack something, or nothing was loaded; with the reason.
    """

    @contextmanager
    def session() -> Iterator[SparkSession]:
        stage("starting Spark")
        with local_session(master=master, memory=memory, settings=settings) as spark:
            if not str(spark.sparkContext.master).startswith("local"):
                stage("checking executors")
                _check_cluster(spark, options)
            stage("reading changes")
            yield spark

    stage("reading manifests")
    return load(options, session, progress)


def _check_cluster(spark: SparkSession, options: LoadOptions) -> None:
    folders = [f"{Path(path).absolute()}/_manifest" for path in options.inputs if not is_uri(path)]
    output = options.output if is_uri(options.output) else str(Path(options.output).absolute())
    check_executors(spark, folders, output)
