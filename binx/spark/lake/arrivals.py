"""What is new: the manifests that no load has read, and what they bring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import BinxError
from binx.spark.lake.bases import PlacedBase, look_at_logs, placed_bases
from binx.spark.lake.chains import Chains
from binx.spark.lake.manifests import (
    NOT_UNDERSTOOD,
    DataFile,
    Manifest,
    list_manifests,
    read_manifests,
    read_version,
    wrong_hashes,
)
from binx.spark.lake.model import FILE_BITS, ChangesFile, Span, Statement, TableName
from binx.spark.lake.moments import Log, Moment, moment_of
from binx.spark.lake.place import Place
from binx.spark.lake.repeats import clipped, without, without_repeated
from binx.spark.lake.state import ALL_TABLES, Loss, State

_GAP = "gap"
"""The source of losses that are logs which no export has."""
_STRICT = ("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES")


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for.

    Attributes:
        wanted: whether a table is.
        selection: a name of that choice.
        table: if given, only files that may have its rows are taken, under whatever names it had.
        verify: whether files are compared with their hashes.
        chains: those that are applied first, in order.
        at: the moment up to which logs are taken, of a state that has none; see :func:`.moments.moment_of`.
        texts: whether the texts of schema statements are wanted.
    """

    wanted: Callable[[TableName], bool] = lambda _: True
    selection: str = ALL_TABLES
    table: TableName | None = None
    verify: bool = False
    chains: Sequence[str] = ()
    at: str | None = None
    texts: bool = False


@dataclass(slots=True)
class Arrivals:
    """What a load takes; statements, versions and the order of chains are noted in the state.

    Attributes:
        moment: up to where the logs are taken.
        manifests: how many there are; ``new_manifests``, how many no load has read.
        since: the first commit time of the new ones.
        listed: rows in the new manifests' files, by table.
        files: new files of changes.
        wrong: why tables cannot be taken this time.
        losses: what the manifests tell is missing.
        deleted: tables with deletions, of servers that do not log what foreign keys do.
        logs: the exports that were read and begin before the moment.
        tables: of which these have changes.
        changes: by chain, the commit versions of changes that are logged as statements, of new files.
        texts: schema statements as they are in new files, by chain, commit version and number in the
            transaction.
    """

    moment: Moment
    manifests: int = 0
    new_manifests: int = 0
    since: str = ""
    listed: dict[TableName, int] = field(default_factory=lambda: defaultdict(int))
    files: list[ChangesFile] = field(default_factory=list)
    wrong: dict[TableName, str] = field(default_factory=dict)
    losses: list[Loss] = field(default_factory=list)
    deleted: set[TableName] = field(default_factory=set)
    logs: list[Log] = field(default_factory=list)
    tables: set[TableName] = field(default_factory=set)
    changes: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    texts: dict[tuple[str, int, int], Any] = field(default_factory=dict)


def find_arrivals(state: State, places: Sequence[Place], output: Place, search: Search) -> Arrivals:
    """Read what is new, and note in the state that it is taken.

    Raises:
        UsageError: there is no such chain, or the moment is none.
        AbsentError, RefusedError: the moment is not in the logs.
        BinxError: a data set cannot be read.
    """
    return _Finder(state, output, search).find(places)


class _Finder:
    def __init__(self, state: State, output: Place, search: Search) -> None:
        self._state, self._output, self._search = state, output, search
        self._wanted = search.wanted
        self._default = state.upto(search.selection)
        self._found = Arrivals(moment_of(None, (), {}))
        self._load = state.version + 1

    def find(self, places: Sequence[Place]) -> Arrivals:
        state, found, search, default = self._state, self._found, self._search, self._default
        uptos = (upto for table, upto in state.uptos.items() if self._wanted(table))
        behind = min([default, *uptos])
        loads: list[int] = []
        manifests: list[Manifest] = []
        for place in self._asked(places, behind):
            for manifest in read_manifests(place, self._opened(place, behind)):
                known = state.known[place.uri].get(manifest.listed.path)
                loads.append(known[2] if known else self._load)
                manifests.append(manifest)
        new = [manifest for manifest, load in zip(manifests, loads, strict=True) if load == self._load]
        found.new_manifests = len(new)
        found.since = min((manifest.first_commit for manifest in new if manifest.first_commit), default="")
        found.tables = {file.table for one in manifests for file in one.files if file.table is not None}
        logs = list(zip(manifests, state.chains.assign(manifests), strict=True))
        self._look_at_logs(places, logs, new)
        state.order = state.chains.in_order(search.chains)
        bases = placed_bases(state.chains, state.ranks)
        found.moment = moment_of(search.at, logs, state.ranks).with_bases(bases)
        reached = [(load, log) for load, log in zip(loads, logs, strict=True) if found.moment.reaches(log)]
        found.logs = [log for _, log in reached]
        fresh = [log for load, log in reached if load == self._load]
        self._take_statements(fresh)
        self._stop_unplaced(bases)
        if search.table is not None:
            self._wanted = _former_names(search.table, state.statements).__contains__
        takes: dict[TableName, list[Log]] = defaultdict(list)
        for load, log in reached:
            for table in {file.table for file in log[0].of_kind("changes") if file.table is not None}:
                if self._wanted(table) and load > state.uptos.get(table, default):
                    takes[table].append(log)
        for table, taken in takes.items():
            self._take(table, taken, state.uptos.get(table, default))
        self._take_versions(manifests)
        self._note(fresh)
        if search.verify:
            self._check(manifests)
        arrived = [file for file in found.files if file.table not in found.wrong]
        found.files, wrong = without_repeated(arrived, state, self._output)
        found.wrong = {name: why for name, why in (found.wrong | wrong).items() if self._wanted(name)}
        return found

    def _stop_unplaced(self, bases: Mapping[str, PlacedBase]) -> None:
        """Take nothing of tables whose base stands nobody knows where."""
        for statement in self._state.statements:
            base = bases.get(statement.chain)
            if base is not None and base.problem:
                for effect in statement.effects:
                    name = TableName(effect["db"], effect["table"])
                    self._found.wrong.setdefault(name, base.problem)

    def _look_at_logs(self, places: Sequence[Place], logs: Sequence[Log], new: Sequence[Manifest]) -> None:
        """Have bases know what they hold of new logs, and new bases what of all."""
        chains = self._state.chains
        if self._load > 1 and any(manifest.base is not None for manifest in new):
            listed = [
                manifest for place in places for manifest in read_manifests(place, list_manifests(place))
            ]
            logs = list(zip(listed, chains.assign(listed), strict=True))
        look_at_logs(chains, logs)

    def _asked(self, places: Sequence[Place], behind: int) -> list[Place]:
        """The data sets to look at: also those of which a table has not taken all yet."""
        found = {place.uri: place for place in places}
        for uri, names in self._state.known.items():
            if any(load > behind for _, _, load in names.values()):
                found.setdefault(uri, Place(uri))
        return list(found.values())

    def _opened(self, place: Place, behind: int) -> list[Any]:
        """The manifests of a data set that have to be read; those that are gone are forgotten."""
        listed = list_manifests(place)
        self._found.manifests += len(listed)
        former = self._state.known.get(place.uri, {})
        known = self._state.known[place.uri] = {
            file.path: former[file.path]
            for file in listed
            if file.path in former and former[file.path][:2] == (file.bytes, file.modified)
        }
        return [file for file in listed if file.path not in known or known[file.path][2] > behind]

    def _take(self, table: TableName, logs: Sequence[Log], upto: int) -> None:
        """Choose a table's files, each transaction of whole exports from one of them."""
        state, found = self._state, self._found
        for manifest, _ in logs:
            if table in manifest.wrong:
                found.wrong[table] = manifest.wrong[table]
                return
        for manifest, chain, spans in _spans(logs, state.chains, upto, found.moment):
            if not manifest.whole:
                state.partial.add((table, chain))
            for file in manifest.of_kind("changes"):
                if file.table == table:
                    found.listed[table] += file.rows
                    kept = clipped(_changes(file, table, chain, manifest), spans) if file.rows else None
                    found.files += [kept] if kept is not None else []

    def _take_statements(self, logs: Sequence[Log]) -> None:
        for manifest, chain, spans in _spans(logs, self._state.chains, self._load - 1, self._found.moment):
            for file in manifest.of_kind("statements"):
                if file.rows and spans:
                    self._read_statements(manifest, file, chain, spans)
        changed = sum(map(len, self._found.changes.values()))
        if changed:
            self._found.losses.append(
                Loss(
                    f"changes logged as statements: {changed:,}; they are only in statements/ of the"
                    " data set, and missing from the tables",
                    self._found.since,
                )
            )

    def _read_statements(self, manifest: Manifest, file: DataFile, chain: str, spans: Sequence[Span]) -> None:
        """Keep a file's statements that have effects, and where others change rows."""
        texts = self._search.texts
        columns = [
            "commit_version", "transaction", "ordinal", "event_timestamp", "kind", "options", "effects",
            *(("db", "sql", "sql_is_text") if texts else ()),
        ]  # fmt: skip
        rows = file.place.table(file.path, columns)
        kinds = pc.is_in(rows["kind"], pa.array(["dml", "ddl"] if texts else ["dml"]))
        matters = pc.or_(kinds, pc.greater(pc.list_value_length(rows["effects"]), 0))
        for row in rows.filter(matters).to_pylist():
            scn = row["commit_version"]
            if not any(first <= scn <= last for first, last in spans):
                continue
            if row["kind"] == "ddl" and texts:
                self._found.texts[chain, scn, row["ordinal"]] = row
            if not row["effects"]:
                if row["kind"] == "dml":
                    self._found.changes[chain].append(scn)
                continue
            options = dict(row["options"] or ())
            mode = str(options.get("sql_mode", ""))
            self._state.statements.append(
                Statement(
                    chain=chain,
                    scn=scn,
                    ordinal=row["ordinal"],
                    transaction=row["transaction"],
                    effects=tuple(row["effects"]),
                    time_zone=str(options.get("time_zone") or "SYSTEM"),
                    strict="sql_mode" not in options or any(word in mode for word in _STRICT),
                    flavour=manifest.flavour,
                    time=int(row["event_timestamp"].timestamp()) * 1_000_000,
                )
            )

    def _take_versions(self, manifests: Sequence[Manifest]) -> None:
        """Read the schema records that are not known, each once."""
        seen: dict[str, dict[tuple[TableName, str], DataFile]] = defaultdict(dict)
        for manifest in manifests:
            for file in manifest.of_kind("schema"):
                name = file.path.rpartition("/")[2].removesuffix(".json")
                is_new = file.path.endswith(".json") and (file.table, name) not in self._state.versions
                if file.table is not None and is_new:
                    seen[file.place.uri].setdefault((file.table, name), file)
        for uri, listed in seen.items():
            contents = Place(uri).read_all(file.path for file in listed.values())
            for ((table, name), file), content in zip(listed.items(), contents, strict=True):
                try:
                    self._state.versions[table, name] = read_version(name, content)
                except NOT_UNDERSTOOD as error:
                    self._found.wrong[table] = (
                        f"{file.shown} is not a schema record of binx: {type(error).__name__} {error}"
                    )

    def _note(self, logs: Sequence[Log]) -> None:
        """Let the state know what is taken, and what the manifests say is missing."""
        state, found = self._state, self._found
        mended = {f"{m.source.name}.{m.source.identity}" for m, _ in logs if m.whole}
        state.losses = [loss for loss in state.losses if loss.source not in mended]
        known = {(loss.source, loss.reason) for loss in state.losses}
        for manifest, chain in logs:
            name = f"{manifest.source.name}.{manifest.source.identity}"
            listed = manifest.listed
            state.known[manifest.place.uri][listed.path] = (listed.bytes, listed.modified, self._load)
            state.chains[chain].logs[manifest.source.number].take(manifest, self._load)
            state.chains[chain].gtids |= manifest.gtids
            if not manifest.source.logs_cascades:
                found.deleted |= manifest.deleted
            found.losses += [
                Loss(text, manifest.first_commit, name)
                for text in manifest.losses
                if (name, text) not in known
            ]
        # A log that comes later fills its gap.
        gaps = [
            text
            for name, last in found.moment.last.items()
            for text in state.chains[name].gaps(last=last >> FILE_BITS)
        ]
        state.losses = [loss for loss in state.losses if loss.source != _GAP or loss.reason in gaps]
        noted = {loss.reason for loss in state.losses}
        found.losses += [Loss(text, found.since, _GAP) for text in gaps if text not in noted]

    def _check(self, manifests: Sequence[Manifest]) -> None:
        taken = {(one.root, one.path) for one in self._found.files}
        files = [
            file
            for manifest in manifests
            for file in manifest.files
            if file.kind == "statements" or (file.place.uri, file.path) in taken
        ]
        for table, text in wrong_hashes(files).items():
            if table is None:
                raise BinxError(text)
            self._found.wrong[table] = text


def _spans(
    logs: Sequence[Log], chains: Chains, upto: int, moment: Moment
) -> Iterator[tuple[Manifest, str, tuple[Span, ...]]]:
    """Each manifest's chain and the spans that it gives: whole exports first, the longest of them before."""
    given: dict[tuple[str, int], list[Span]] = {}

    def order(one: Log) -> tuple[bool, int, int, str]:
        manifest = one[0]
        first, last = manifest.span or (0, 0)
        return (not manifest.whole, first, -last, manifest.listed.path)

    for manifest, chain in sorted(logs, key=order):
        if manifest.span is None:
            yield manifest, chain, ()
            continue
        number = manifest.source.number
        taken = given.setdefault((chain, number), chains[chain].taken(number, upto))
        first, last = manifest.span
        last = min(last, moment.last[chain])
        spans = without((first, last), taken) if first <= last else ()
        if manifest.whole:
            taken += spans
        yield manifest, chain, spans


def _changes(file: DataFile, table: TableName, chain: str, manifest: Manifest) -> ChangesFile:
    return ChangesFile(
        identity=file.sha256,
        table=table,
        version=file.schema_version,
        chain=chain,
        root=file.place.uri,
        path=file.path,
        rows=file.rows,
        bytes=file.bytes,
        first=file.first,
        last=file.last,
        partial=file.partial,
        by_rows=manifest.by_rows,
    )


def _former_names(table: TableName, statements: Sequence[Statement]) -> set[TableName]:
    """The names under which a table's rows may be logged: its own, and those that it was renamed from."""
    found = {table}
    before = 0
    while len(found) > before:
        before = len(found)
        for statement in statements:
            for effect in statement.effects:
                if effect["action"] == "renamed":
                    new = TableName(effect["new_db"] or effect.get("db") or "", effect["new_table"])
                    if new in found:
                        found.add(TableName(effect.get("db") or "", effect["table"]))
    return found
