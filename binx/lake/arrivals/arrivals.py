"""Find new manifests and collect the files, statements and losses that they list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import BinxError
from binx.lake.arrivals.left_out import leave_out
from binx.lake.arrivals.repeats import without_repeated
from binx.lake.arrivals.takeovers import NewGtids, find_reused, look_at_ends
from binx.lake.dataset.files import NOT_UNDERSTOOD, ChangesFile, clipped, read_version, wrong_hash
from binx.lake.dataset.manifests import Manifest, list_manifests, read_manifests
from binx.lake.dataset.moments import Log, Moment, moment_of
from binx.lake.dataset.placement import look_at_logs, placed_bases
from binx.lake.dataset.spans import Span, united_spans, without
from binx.lake.dataset.statement_effects import RecordedStatement, Unlogged, targets_of, with_former_names
from binx.lake.place import LakeStore, ListedFile
from binx.lake.state.loaded_state import State, Waiting
from binx.lake.table_name import TableName
from binx.lake.tables.lacking import Cause, Counting, causes_in, followed_columns
from binx.log.selection.times import MICROSECONDS
from binx.rows.change_groups import ChangePlace


@dataclass(frozen=True, slots=True)
class FileSearch:
    """What to look for.

    Attributes:
        wanted: whether a table is selected, by its final name; files of other tables wait for a later load.
        verify: whether files are compared with their hashes.
        chains: the chains to apply first, in order.
        at: the moment up to which logs are read, for an empty state; see :func:`.moment_of`.
        texts: whether to collect the SQL text of schema statements.
        apart_from: commit versions of transactions of which it is known what foreign keys changed with them.
    """

    wanted: Callable[[TableName], bool] = lambda _: True
    verify: bool = False
    chains: Sequence[str] = ()
    at: str | ChangePlace | None = None
    texts: bool = False
    apart_from: Collection[int] = ()


@dataclass(slots=True)
class NewFiles:
    """The input of a load. Statements, versions and the order of chains are recorded in the state.

    Attributes:
        moment: the moment up to which logs are read.
        wanted: whether files of a table are selected, by its name when they were logged.
        manifests: the number of manifests; ``new_manifests`` are those that no load has read.
        since: the first commit time in the new manifests.
        waiting: all files not loaded yet, including those of tables that this load leaves out.
        files: the waiting files that this load takes.
        wrong: by table, why it cannot be loaded this time.
        causes: changes that foreign keys follow, on servers that do not log what these change.
        logs: the exports that were read and begin before the moment.
        tables: the tables with changes in the new manifests.
        texts: schema statements of new files, by chain, commit version and number in the transaction.
    """

    moment: Moment
    wanted: Callable[[TableName], bool] = lambda _: True
    manifests: int = 0
    new_manifests: int = 0
    since: str = ""
    waiting: list[Waiting] = field(default_factory=list)
    files: list[ChangesFile] = field(default_factory=list)
    wrong: dict[TableName, str] = field(default_factory=dict)
    causes: set[Cause] = field(default_factory=set)
    logs: list[Log] = field(default_factory=list)
    tables: set[TableName] = field(default_factory=set)
    texts: dict[tuple[str, int, int], Any] = field(default_factory=dict)


def find_arrivals(
    state: State, places: Sequence[LakeStore], output: LakeStore, search: FileSearch
) -> NewFiles:
    """Read new manifests and record in the state that they are known.

    Raises:
        UsageError: there is no such chain, or ``at`` is not a valid moment.
        AbsentError, RefusedError: the moment is not in the logs.
        BinxError: a data set cannot be read.
    """
    return _NewFilesFinder(state, search).find(places, output)


class _NewFilesFinder:
    def __init__(self, state: State, search: FileSearch) -> None:
        self._state, self._search = state, search
        self._arrivals = NewFiles(moment_of(None, (), {}))
        self._waiting: dict[str, list[Waiting]] = defaultdict(list)
        self._knowing: set[str] = set()
        for waiting in state.waiting:
            self._waiting[waiting.source].append(waiting)

    def find(self, places: Sequence[LakeStore], output: LakeStore) -> NewFiles:
        state, arrivals, search = self._state, self._arrivals, self._search
        manifests = [
            manifest for place in places for manifest in read_manifests(place, self._unknown_of(place))
        ]
        arrivals.new_manifests = len(manifests)
        arrivals.since = min(
            (manifest.first_commit for manifest in manifests if manifest.first_commit), default=""
        )
        arrivals.tables = {file.table for manifest in manifests for file in manifest.changes}
        logs = list(zip(manifests, state.chains.assign(manifests), strict=True))
        self._look_at_logs(places, logs)
        look_at_ends(state.chains, places)
        state.order = state.chains.in_order(search.chains)
        bases = placed_bases(state.chains, state.ranks, state.shard_of_chains())
        arrivals.moment = moment_of(search.at, logs, state.ranks).with_bases(bases)
        arrivals.logs = [log for log in logs if arrivals.moment.reaches(log)]
        contributions = list(self._contributions())
        self._take_statements(contributions)
        for log, spans in contributions:
            self._take_files(*log, spans)
        arrivals.waiting = [waiting for listed in self._waiting.values() for waiting in listed]
        state.waiting = arrivals.waiting
        statements = state.spelled_statements()
        new = self._record(statements)
        wanted = arrivals.wanted = with_former_names(search.wanted, statements)
        for statement in statements:
            # The position of these tables' base is unknown.
            problem = bases[statement.chain].problem if statement.chain in bases else ""
            for effect in statement.effects if problem else ():
                arrivals.wrong.setdefault(TableName(effect["db"], effect["table"]), problem)
        for waiting in arrivals.waiting:
            if waiting.error:
                arrivals.wrong.setdefault(waiting.file.table, waiting.error)
        self._take_versions([waiting for waiting in arrivals.waiting if wanted(waiting.file.table)])
        files = [
            waiting.file for waiting in arrivals.waiting if waiting.file.rows and wanted(waiting.file.table)
        ]
        if search.verify:
            self._check(files)
        arrived = [file for file in files if file.table not in arrivals.wrong]
        find_reused(state, arrived, new, output)
        arrivals.files, wrong = without_repeated(arrived, state, output)
        arrivals.files = leave_out(state, arrivals.files, output)
        arrivals.wrong = {name: why for name, why in (arrivals.wrong | wrong).items() if wanted(name)}
        return arrivals

    def _unknown_of(self, place: LakeStore) -> list[ListedFile]:
        """Return a data set's manifests that no load has read; forget those that were removed."""
        listed = list_manifests(place)
        self._arrivals.manifests += len(listed)
        former = self._state.known.get(place.uri, {})
        known = self._state.known[place.uri] = {
            file.path: former[file.path]
            for file in listed
            if former.get(file.path) == (file.bytes, file.modified)
        }
        return [file for file in listed if file.path not in known]

    def _look_at_logs(self, places: Sequence[LakeStore], logs: Sequence[Log]) -> None:
        """Show new logs to the bases, and all logs if a base is new."""
        chains = self._state.chains
        if self._state.version and any(manifest.base is not None for manifest, _ in logs):
            listed = [
                manifest for place in places for manifest in read_manifests(place, list_manifests(place))
            ]
            logs = list(zip(listed, chains.assign(listed), strict=True))
        look_at_logs(chains, logs)

    def _contributions(self) -> Iterator[tuple[Log, tuple[Span, ...]]]:
        """Yield new logs with the spans that each contributes.

        Whole exports come first, longer before shorter, and of equal ones those that knew tables.
        """

        def order(log: Log) -> tuple[bool, int, int, bool, str]:
            manifest = log[0]
            first, last = manifest.span or (0, 0)
            return (not manifest.whole, first, -last, not manifest.knew_tables, manifest.listed.path)

        for manifest, chain in sorted(self._arrivals.logs, key=order):
            spans: tuple[Span, ...] = ()
            if manifest.span is not None:
                first, last = manifest.span[0], min(manifest.span[1], self._arrivals.moment.last[chain])
                taken = self._taken(manifest, chain)
                spans = without((first, last), taken) if first <= last else ()
                if manifest.whole:
                    taken += spans
            yield (manifest, chain), spans

    def _taken(self, manifest: Manifest, chain: str) -> list[Span]:
        """Return the spans of a log that earlier exports contributed.

        What loads took from exports that did not know the tables is given up for one that does, unless keys
        were erased.
        """
        state, log = self._state, self._state.chains[chain].logs[manifest.source.number]
        is_better = manifest.whole and manifest.knew_tables and not log.knew_tables
        is_better &= bool(log.taken) and _covers(manifest.span, log.taken) and not state.erasures
        if is_better and state.gave_up(chain, manifest.span or (0, 0), self._search.wanted):
            log.taken.clear()
        return log.taken

    def _take_files(self, manifest: Manifest, chain: str, spans: Sequence[Span]) -> None:
        """Add a log's files to the waiting ones, each with the spans that no other export contributed."""
        source = f"{chain}/{manifest.source.number}"
        path = manifest.place.shown(manifest.listed.path)
        opened: dict[TableName, list[Span]] = defaultdict(lambda: list(spans))
        if manifest.knew_tables:
            self._knowing.add(source)
        knows_enough = manifest.whole and (manifest.knew_tables or source not in self._knowing)
        kept = []
        for former in self._waiting[source]:
            # Replace waiting files of the same log if this export has their spans.
            if former.manifest == path or (knows_enough and _covers(manifest.span, former.spans)):
                opened[former.file.table] += former.spans
            else:
                kept.append(former)
        for file in manifest.changes:
            own_spans = united_spans(opened[file.table])
            part = clipped(replace(file, chain=chain), own_spans) if file.rows else None
            if part is not None:
                schema = manifest.schemas.get((file.table, file.version), "")
                kept.append(Waiting(part, source, path, tuple(own_spans), schema))
                if not manifest.whole:
                    self._state.partial.add((file.table, chain))
        for table, error in manifest.wrong.items():
            own_spans = united_spans(opened[table])
            nothing = ChangesFile("", table, "", chain, "", "", 0, 0, 0, 0)
            kept.append(Waiting(nothing, source, path, tuple(own_spans), "", error))
        self._waiting[source] = kept

    def _take_statements(self, contributions: Sequence[tuple[Log, tuple[Span, ...]]]) -> None:
        for (manifest, chain), spans in contributions:
            for path in manifest.others["statements"] if spans else ():
                if self._search.verify:
                    problem = wrong_hash(manifest.place.uri, path, manifest.hashes[path])
                    if problem:
                        raise BinxError(problem)
                self._read_statements(manifest, path, chain, spans)

    def _read_statements(self, manifest: Manifest, path: str, chain: str, spans: Sequence[Span]) -> None:
        """Record statements with effects, and what row changes logged as statements changed."""
        texts = self._search.texts
        columns = [
            "commit_version", "transaction", "ordinal", "event_timestamp", "kind", "options", "effects",
            "commit_timestamp", "db", "digest_text",
            *(("sql", "sql_is_text", "thread_id", "error_code") if texts else ()),
        ]  # fmt: skip
        rows = manifest.place.table(path, columns)
        kinds = pc.is_in(rows["kind"], pa.array(["dml", "ddl"] if texts else ["dml"]))
        matters = pc.or_(kinds, pc.greater(pc.list_value_length(rows["effects"]), 0))
        for row in rows.filter(matters).to_pylist():
            scn = row["commit_version"]
            if not any(first <= scn <= last for first, last in spans):
                continue
            if row["kind"] == "ddl" and texts:
                server = {"flavour": manifest.flavour, "server_version": manifest.server_version}
                self._arrivals.texts[chain, scn, row["ordinal"]] = row | server
            if not row["effects"]:
                if row["kind"] == "dml":
                    self._take_unlogged(chain, row)
                continue
            self._state.statements.append(
                RecordedStatement(
                    chain=chain,
                    scn=scn,
                    ordinal=row["ordinal"],
                    transaction=row["transaction"],
                    effects=tuple(row["effects"]),
                    sql_mode=dict(row["options"] or ()).get("sql_mode"),
                    flavour=manifest.flavour,
                    time=int(row["event_timestamp"].timestamp()) * MICROSECONDS,
                    committed=round(row["commit_timestamp"].timestamp() * MICROSECONDS),
                )
            )

    def _take_unlogged(self, chain: str, row: Mapping[str, Any]) -> None:
        unlogged, time = self._state.unlogged, f"{row['commit_timestamp']:%Y-%m-%dT%H:%M:%S.%fZ}"
        for target in targets_of(chain, row):
            known = unlogged.get(target, Unlogged(0, (0, 0), time))
            place = row["commit_version"], row["ordinal"]
            # Exports of a log may repeat what others have.
            if place > known.last:
                unlogged[target] = Unlogged(known.count + 1, place, min(known.since, time))

    def _take_versions(self, waiting: Sequence[Waiting]) -> None:
        """Read the unknown schema records of these files, each once."""
        versions = self._state.versions
        new = {(entry.file.table, entry.file.version): entry for entry in waiting if entry.file.rows}
        listed = [entry for name, entry in new.items() if name not in versions]
        with ThreadPoolExecutor(32) as pool:
            contents = pool.map(lambda entry: LakeStore(entry.file.root).read(entry.schema), listed)
            for entry, content in zip(listed, contents, strict=True):
                table, name = entry.file.table, entry.file.version
                try:
                    versions[table, name] = read_version(name, content)
                except NOT_UNDERSTOOD as error:
                    self._arrivals.wrong[table] = (
                        f"{LakeStore(entry.file.root).shown(entry.schema)} is not a schema record of binx:"
                        f" {type(error).__name__} {error}"
                    )

    def _record(self, statements: Sequence[RecordedStatement]) -> dict[str, NewGtids]:
        """Record in the state what was read; return the new GTIDs of each chain."""
        state, arrivals = self._state, self._arrivals
        new: dict[str, NewGtids] = defaultdict(NewGtids)
        followed = followed_columns(statements)
        for manifest, chain in arrivals.logs:
            listed = manifest.listed
            state.known[manifest.place.uri][listed.path] = (listed.bytes, listed.modified)
            state.chains[chain].logs[manifest.source.number].take(manifest)
            moment = arrivals.moment
            is_cut = manifest.span is not None and manifest.span[1] > moment.last[chain]
            gtids = manifest.gtids - state.chains[chain].gtids
            new[chain] = new[chain].with_log(gtids, manifest.left_out, is_cut=is_cut)
            state.chains[chain].gtids |= manifest.gtids
            counting = Counting(moment.last[chain], moment.first_left_out(chain), self._search.apart_from)
            arrivals.causes |= causes_in(manifest, followed, counting)
        return new

    def _check(self, files: Sequence[ChangesFile]) -> None:
        with ThreadPoolExecutor(4) as pool:
            problems = pool.map(lambda file: wrong_hash(file.root, file.path, file.identity), files)
            self._arrivals.wrong |= {
                file.table: problem for file, problem in zip(files, problems, strict=True) if problem
            }


def _covers(span: Span | None, others: Sequence[Span]) -> bool:
    return span is not None and all(span[0] <= first and last <= span[1] for first, last in others)
