"""What is new: the manifests that no load has read, and what they bring."""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binx.errors import BinxError
from binx.spark.lake.bases import PlacedBase, look_at_logs, placed_bases
from binx.spark.lake.chains import Chains
from binx.spark.lake.manifests import (
    NOT_UNDERSTOOD,
    DataFile,
    Manifest,
    Span,
    list_manifests,
    read_manifests,
    wrong_hashes,
)
from binx.spark.lake.model import FILE_BITS, ChangesFile, FileColumn, Statement, TableName, Value, Version
from binx.spark.lake.moments import Log, Moment, moment_of
from binx.spark.lake.overlaps import clipped, without, without_repeated
from binx.spark.lake.place import Place
from binx.spark.lake.state import Loss, State

_GAP = "gap"
"""The source of losses that are logs which no export has."""
_STRICT = ("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES")


@dataclass(slots=True)
class Arrivals:
    """What a load takes.

    Attributes:
        manifests: how many there are.
        since: the first commit time of the new ones.
        new_manifests: how many no load has read.
        listed: rows in the new manifests' files, by table.
        files: new files of changes.
        statements: with effects, of new files.
        versions: schema records that were not known.
        wrong: why tables cannot be taken this time.
        losses: what the manifests tell is missing.
        deleted: tables with deletions, of servers that do not log what foreign keys do.
        order: the chains in the order in which they are applied.
        moment: up to where the logs are taken.
        logs: the exports that were read and begin before it.
        changes: by chain, the commit versions of changes that are logged as statements, of new files.
        texts: if asked for, schema statements as they are in new files, by chain, commit version and number
            in the transaction.
    """

    manifests: int = 0
    since: str = ""
    new_manifests: int = 0
    listed: dict[TableName, int] = field(default_factory=lambda: defaultdict(int))
    files: list[ChangesFile] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    versions: dict[tuple[TableName, str], Version] = field(default_factory=dict)
    wrong: dict[TableName, str] = field(default_factory=dict)
    losses: list[Loss] = field(default_factory=list)
    deleted: set[TableName] = field(default_factory=set)
    order: list[str] = field(default_factory=list)
    moment: Moment = field(default_factory=lambda: moment_of(None, (), {}))
    logs: list[Log] = field(default_factory=list)
    changes: dict[str, array[int]] = field(default_factory=lambda: defaultdict(lambda: array("q")))
    texts: dict[tuple[str, int, int], Any] = field(default_factory=dict)


def find_arrivals(
    state: State,
    places: Sequence[Place],
    output: Place,
    *,
    wanted: Callable[[TableName], bool],
    selection: str,
    verify: bool,
    chains: Sequence[str] = (),
    at: str | None = None,
    texts: bool = False,
) -> Arrivals:
    """Read what is new, and note in the state that it is taken.

    Args:
        chains: those that are applied first, in order.
        at: the moment up to which logs are taken, of a state that has none; see :func:`.moments.moment_of`.
        texts: whether the texts of schema statements are wanted.

    Raises:
        UsageError: there is no such chain, or ``at`` is no moment.
        AbsentError, RefusedError: ``at`` is not in the logs.
        BinxError: a data set cannot be read.
    """
    return _Finder(state, places, output, wanted, selection, verify, texts).find(chains, at)


class _Finder:
    def __init__(
        self,
        state: State,
        places: Sequence[Place],
        output: Place,
        wanted: Callable[[TableName], bool],
        selection: str,
        verify: bool,
        texts: bool,
    ) -> None:
        self._state, self._output, self._wanted, self._verify = state, output, wanted, verify
        self._texts = texts
        self._places = {place.uri: place for place in places}
        self._default = state.upto(selection)
        self._found = Arrivals()
        self._load = state.version + 1

    def find(self, asked: Sequence[str], at: str | None) -> Arrivals:
        state, found = self._state, self._found
        default = self._default
        behind = min([default, *(upto for table, upto in state.uptos.items() if self._wanted(table))])
        loads: list[int] = []
        manifests: list[Manifest] = []
        for place in self._asked(behind):
            for manifest in read_manifests(place, self._opened(place, behind)):
                known = state.known[place.uri].get(manifest.listed.path)
                loads.append(known[2] if known else self._load)
                manifests.append(manifest)
        new = [manifest for manifest, load in zip(manifests, loads, strict=True) if load == self._load]
        found.new_manifests = len(new)
        found.since = min((manifest.first_commit for manifest in new if manifest.first_commit), default="")
        found.logs = list(zip(manifests, state.chains.assign(manifests), strict=True))
        self._look_at_logs(found.logs, new)
        found.order = state.chains.in_order(asked)
        ranks = {name: rank for rank, name in enumerate(found.order)}
        bases = placed_bases(state.chains, ranks)
        found.moment = moment_of(at, found.logs, ranks).with_bases(bases)
        loads = [load for load, log in zip(loads, found.logs, strict=True) if found.moment.reaches(log)]
        found.logs = list(filter(found.moment.reaches, found.logs))
        takes: dict[TableName, list[tuple[Manifest, str]]] = defaultdict(list)
        for load, (manifest, chain) in zip(loads, found.logs, strict=True):
            for table in {file.table for file in manifest.of_kind("changes") if file.table is not None}:
                if self._wanted(table) and load > state.uptos.get(table, default):
                    takes[table].append((manifest, chain))
        for table, taken in takes.items():
            self._take(table, taken, state.uptos.get(table, default))
        fresh = [log for load, log in zip(loads, found.logs, strict=True) if load == self._load]
        self._take_statements(fresh)
        self._stop_unplaced(bases)
        self._take_versions(manifests)
        self._note(fresh)
        if self._verify:
            self._check(manifests)
        return found

    def _stop_unplaced(self, bases: Mapping[str, PlacedBase]) -> None:
        """Take nothing of tables whose base stands nobody knows where."""
        for statement in (*self._state.statements, *self._found.statements):
            base = bases.get(statement.chain)
            if base is not None and base.problem:
                for effect in statement.effects:
                    name = TableName(effect["db"], effect["table"])
                    self._found.wrong.setdefault(name, base.problem)

    def _look_at_logs(self, logs: Sequence[Log], new: Sequence[Manifest]) -> None:
        """Have bases know what they hold of new logs, and new bases what of all."""
        state = self._state
        if self._load > 1 and any(manifest.base is not None for manifest in new):
            listed = [
                manifest
                for place in self._places.values()
                for manifest in read_manifests(place, list_manifests(place))
            ]
            look_at_logs(state.chains, zip(listed, state.chains.assign(listed), strict=True))
        else:
            look_at_logs(state.chains, logs)

    def _asked(self, behind: int) -> list[Place]:
        """The data sets to look at: also those of which a table has not taken all yet."""
        missed = (
            uri
            for uri, names in self._state.known.items()
            if any(load > behind for _, _, load in names.values())
        )
        return list(
            {**self._places, **{uri: Place(uri) for uri in missed if uri not in self._places}}.values()
        )

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

    def _take(self, table: TableName, manifests: Sequence[tuple[Manifest, str]], upto: int) -> None:
        """Choose a table's files, each transaction from one export."""
        state, found = self._state, self._found
        for manifest, _ in manifests:
            if table in manifest.wrong:
                found.wrong[table] = manifest.wrong[table]
                return
        by_chain: dict[str, list[tuple[ChangesFile, bool]]] = defaultdict(list)
        compared: set[str] = set()
        for manifest, chain, spans in _spans(manifests, state.chains, upto, found.moment):
            if not manifest.whole:
                compared.add(chain)
            for file in manifest.of_kind("changes"):
                if file.table == table:
                    found.listed[table] += file.rows
                    kept = clipped(_changes(file, chain), spans) if file.rows else None
                    if kept is not None:
                        by_chain[chain].append((kept, manifest.by_rows))
        try:
            for chain, listed in by_chain.items():
                if chain in compared or (table, chain) in state.partial:
                    history = [one for one in state.history if (one.table, one.chain) == (table, chain)]
                    found.files += without_repeated(listed, history, self._output)
                else:
                    found.files += [file for file, _ in listed]
        except (BinxError, OSError, pa.ArrowInvalid) as error:
            found.wrong[table] = str(error)
            return
        state.partial |= {(table, chain) for chain in compared}

    def _take_statements(self, manifests: Sequence[tuple[Manifest, str]]) -> None:
        moment = self._found.moment
        for manifest, chain, spans in _spans(manifests, self._state.chains, self._load - 1, moment):
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
        rows = pq.read_table(
            file.place.inside(file.path),
            columns=[
                "commit_version",
                "transaction",
                "ordinal",
                "event_timestamp",
                "kind",
                "options",
                "effects",
                *(("db", "sql", "sql_is_text") if self._texts else ()),
            ],
            filesystem=file.place.filesystem,
            partitioning=None,
        )
        kinds = ["dml", "ddl"] if self._texts else ["dml"]
        matters = pc.or_(
            pc.is_in(rows["kind"], pa.array(kinds)), pc.greater(pc.list_value_length(rows["effects"]), 0)
        )
        for row in rows.filter(matters).to_pylist():
            scn = row["commit_version"]
            if not any(first <= scn <= last for first, last in spans):
                continue
            if row["kind"] == "ddl" and self._texts:
                self._found.texts[chain, scn, row["ordinal"]] = row
            if not row["effects"]:
                if row["kind"] == "dml":
                    self._found.changes[chain].append(scn)
                continue
            options = dict(row["options"] or ())
            mode = str(options.get("sql_mode", ""))
            self._found.statements.append(
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
        seen: dict[tuple[TableName, str], DataFile] = {}
        for manifest in manifests:
            for file in manifest.of_kind("schema"):
                name = (file.table, file.path.rpartition("/")[2].removesuffix(".json"))
                if (
                    file.table is not None
                    and file.path.endswith(".json")
                    and name not in self._state.versions
                ):
                    seen.setdefault((file.table, name[1]), file)
        by_place: dict[str, list[tuple[tuple[TableName, str], DataFile]]] = defaultdict(list)
        for key, file in seen.items():
            by_place[file.place.uri].append((key, file))
        for listed in by_place.values():
            contents = listed[0][1].place.read_all(file.path for _, file in listed)
            for (key, file), content in zip(listed, contents, strict=True):
                try:
                    self._found.versions[key] = read_version(key[1], content)
                except NOT_UNDERSTOOD as error:
                    self._found.wrong[key[0]] = (
                        f"{file.shown} is not a schema record of binx: {type(error).__name__} {error}"
                    )

    def _note(self, manifests: Sequence[tuple[Manifest, str]]) -> None:
        """Let the state know what is taken, and what the manifests say is missing."""
        state = self._state
        mended = {f"{m.source.name}.{m.source.identity}" for m, _ in manifests if m.whole}
        state.losses = [loss for loss in state.losses if loss.source not in mended]
        known = {(loss.source, loss.reason) for loss in state.losses}
        for manifest, chain in manifests:
            name = f"{manifest.source.name}.{manifest.source.identity}"
            listed = manifest.listed
            state.known[manifest.place.uri][listed.path] = (listed.bytes, listed.modified, self._load)
            state.chains[chain].logs[manifest.source.number].take(manifest, self._load)
            state.chains[chain].gtids |= manifest.gtids
            if not manifest.source.logs_cascades:
                self._found.deleted |= manifest.deleted
            self._found.losses += [
                Loss(text, manifest.first_commit, name)
                for text in manifest.losses
                if (name, text) not in known
            ]
        # A log that comes later fills its gap.
        gaps = [
            text
            for name, last in self._found.moment.last.items()
            for text in state.chains[name].gaps(last=last >> FILE_BITS)
        ]
        state.losses = [loss for loss in state.losses if loss.source != _GAP or loss.reason in gaps]
        noted = {loss.reason for loss in state.losses}
        self._found.losses += [Loss(text, self._found.since, _GAP) for text in gaps if text not in noted]

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
    manifests: Sequence[tuple[Manifest, str]], chains: Chains, upto: int, moment: Moment
) -> Iterator[tuple[Manifest, str, tuple[Span, ...]]]:
    """Each manifest's chain and the spans that it gives: whole exports first, the longest of them before."""
    given: dict[tuple[str, int], list[Span]] = {}

    def order(one: tuple[Manifest, str]) -> tuple[bool, int, int, str]:
        manifest = one[0]
        first, last = manifest.span or (0, 0)
        return (not manifest.whole, first, -last, manifest.listed.path)

    for manifest, chain in sorted(manifests, key=order):
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


def _changes(file: DataFile, chain: str) -> ChangesFile:
    assert file.table is not None
    return ChangesFile(
        identity=file.sha256,
        table=file.table,
        version=file.schema_version,
        chain=chain,
        root=file.place.uri,
        path=file.path,
        rows=file.rows,
        bytes=file.bytes,
        first=file.first,
        last=file.last,
        partial=file.partial,
    )


def read_version(name: str, content: bytes | None) -> Version:
    """A schema record from its JSON."""
    document: Mapping[str, Any] = json.loads(content or b"null")

    def value(column: Mapping[str, Any], fact: str) -> Value | None:
        found = column.get(fact)
        return None if found is None else Value(found["value"], found["misfit"])

    columns = (
        FileColumn(
            name=str(column["name"]),
            source_name=str(column.get("source_name") or column["name"]),
            arrow_type=str(column["arrow_type"]),
            mysql_type=str(column.get("mysql_type") or ""),
            charset=str(column.get("charset") or ""),
            absent=value(column, "absent"),
            added=value(column, "added"),
            generated=str(column.get("generated") or ""),
        )
        for column in document["columns"]
    )
    key = tuple(document.get("primary_key") or ())
    return Version(name, tuple(columns), key, int(document.get("valid_from") or 0))


__all__ = ["Arrivals", "find_arrivals"]
