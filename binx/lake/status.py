"""What operators watch of loaded tables: how far behind their data sets they are, and what they hold."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields

from binx.dataset.dataset import escape_name
from binx.errors import AbsentError, BinxError
from binx.lake.dataset.files import clipped
from binx.lake.dataset.manifests import Manifest, list_manifests, read_manifests
from binx.lake.dataset.spans import without
from binx.lake.load_plan import lives_of
from binx.lake.place import LakeStore, ListedFile
from binx.lake.state.loaded_state import RangeFile, State
from binx.lake.state.output_folder import Output
from binx.lake.summary import LoadSummary, TableSummary
from binx.lake.table_name import TableName
from binx.lake.tables.lives import TableHistory
from binx.log.selection.times import parse_time
from binx.storage.store import MANIFESTS

_TIME = "_commit_timestamp"
_SECOND = 1_000_000
_TOGETHER = 32


@dataclass(slots=True)
class LoadedTable(TableSummary):
    """A table as it is loaded; times are in µs since 1970.

    Attributes:
        loaded_until: the commit of its last row change.
        waiting_rows: row images in files of the data sets that are not loaded, or not all of them.
        waiting_since: the first commit in their logs.
        behind_seconds: the time from then to the newest commit in the data sets.
        unknown_rows: rows with values that only the server knows.
        current_files: files of ``current/`` that count; likewise for ``history/`` and ``scd2/``.
        current_bytes: their size on disk.
    """

    loaded_until: int | None = None
    waiting_rows: int = 0
    waiting_since: int | None = None
    behind_seconds: float = 0.0
    unknown_rows: int = 0
    current_files: int = 0
    current_bytes: int = 0
    history_files: int = 0
    history_bytes: int = 0
    version_files: int = 0
    version_bytes: int = 0


@dataclass(slots=True)
class LoadedFrom:
    """A data set that was loaded: its manifests, those that no load has read, and the newest commit in it.

    ``error`` says why it cannot be read, as where it is on another machine.
    """

    data_set: str
    manifests: int = 0
    new_manifests: int = 0
    data_set_until: int | None = None
    error: str | None = None


@dataclass(slots=True)
class Status(LoadSummary):
    """What is loaded; ``loaded_until`` is the last commit in the logs that were loaded, in µs since 1970."""

    tables: list[LoadedTable]  # type: ignore[assignment]
    loaded_until: int | None = None
    behind_seconds: float = 0.0
    data_sets: list[LoadedFrom] = field(default_factory=list)


def load_status(path: str) -> Status:
    """Return what is loaded in an output, table by table, and what its data sets have that is not.

    Raises:
        AbsentError: the output has no loaded tables.
    """
    place = LakeStore(path)
    state = Output(place).state
    if not state.version:
        raise AbsentError("has no _state.json: expected the output of `binx load`", path=path)
    tables: dict[str, LoadedTable] = {}
    by_name: dict[TableName, LoadedTable] = {}
    for life, record in state.records.items():
        # Shards are added up.
        table = tables[life] = by_name.setdefault(record.name, LoadedTable(*record.name))
        table.unknown_rows += record.unknown
        table.add(record)
        if life in state.lives:
            own = state.lives[life]
            table.current = (table.current or 0) + own.rows
            # Rows of erased keys go with the next load.
            if own.is_pending or (own.catalog is not None and not own.digest):
                table.error = table.error or f"{state.catalog} lacks what is committed of it: load again"
    for name in state.emptied:
        table = by_name.setdefault(name, LoadedTable(*name))
        table.error = table.error or f"{state.catalog} has rows of it that do not count: load again"
    summary = LoadSummary.of(state, place.uri, by_name.values())
    status = Status(**{one.name: getattr(summary, one.name) for one in fields(summary)})
    _look_at_files(state, place, tables)
    _look_at_data_sets(state, status)
    return status


def _look_at_data_sets(state: State, status: Status) -> None:
    """Fill in what the data sets have that is not loaded, and the newest commits."""
    taken, last_logs = {}, set()
    for chain in state.chains.by_name.values():
        for number in chain.numbers if chain.at is None else ():
            log = chain.logs[number]
            path = f"{MANIFESTS}/{escape_name(chain.called(number))}.{log.identity}.json"
            taken[path] = log.taken
            last_logs |= {path} if number == chain.numbers[-1] else set()
    waiting: dict[str, Counter[TableName]] = defaultdict(Counter)
    for one in state.waiting:
        waiting[one.manifest][one.file.table] += one.file.rows
    loaded = [table.loaded_until for table in status.tables if table.loaded_until is not None]
    rows: list[tuple[int, Counter[TableName]]] = []
    for uri, known in state.known.items():
        place, found = LakeStore(uri), LoadedFrom(uri)
        status.data_sets.append(found)
        try:
            listed = list_manifests(place)
            unread = {file.path for file in listed if not _is_known(file, known)}
            wanted = [
                file
                for file in listed
                if file.path in last_logs or file.path in unread or place.shown(file.path) in waiting
            ]
            manifests = [*read_manifests(place, wanted)]
        except BinxError as error:
            found.error = str(error)
            continue
        found.manifests, found.new_manifests = len(listed), len(unread)
        for manifest in manifests:
            path = manifest.listed.path
            rest = without(manifest.span, taken.get(path, [])) if manifest.span and path in unread else ()
            until = _last_commit(manifest)
            if until is not None:
                found.data_set_until = max(until, found.data_set_until or until)
                loaded += [] if rest else [until]
            counts = waiting.get(place.shown(path), Counter())
            for file in manifest.changes if rest else ():
                counts[file.table] += file.rows if clipped(file, rest) is not None else 0
            since = parse_time(manifest.first_commit) if manifest.first_commit else manifest.until
            rows.append((max(since, max(loaded, default=0)) if path in taken and rest else since, counts))
    status.new_manifests = sum(one.new_manifests for one in status.data_sets)
    status.loaded_until = max(loaded, default=None)
    newest = max(
        (one.data_set_until for one in status.data_sets if one.data_set_until is not None), default=0
    )
    if status.loaded_until is not None:
        status.behind_seconds = max(0, newest - status.loaded_until) / _SECOND
    for table in status.tables:
        behind = [(since, counts[table.name]) for since, counts in rows if counts[table.name]]
        if behind:
            table.waiting_rows = sum(count for _, count in behind)
            table.waiting_since = min(since for since, _ in behind)
            table.behind_seconds = max(0, newest - table.waiting_since) / _SECOND


def _is_known(file: ListedFile, known: Mapping[str, tuple[int, int]]) -> bool:
    return known.get(file.path) == (file.bytes, file.modified)


def _last_commit(manifest: Manifest) -> int | None:
    """Return the last commit of a log; None if it has none, or is a base."""
    return manifest.until if manifest.base is None and manifest.span is not None else None


def _look_at_files(state: State, place: LakeStore, tables: Mapping[str, LoadedTable]) -> None:
    """Fill in files, their sizes, and the newest commit of each table."""
    by_name = {table.name: table for table in tables.values()}
    history: dict[TableName, dict[str, int]] = defaultdict(dict)
    lives = lives_of(state)
    for life in lives:
        # What a table had before a TRUNCATE, or before it was made again, is in its history, too.
        former = by_name.get(life.units[-1].file.table) if life.name is None and life.units else None
        if (found := tables.get(life.id, former)) is not None:
            history[found.name] |= {
                unit.file.path: unit.file.bytes for unit in life.units if not unit.file.gone
            }
    for name, own in history.items():
        by_name[name].history_files, by_name[name].history_bytes = len(own), sum(own.values())
    lives = [life for life in lives if life.id in tables]
    with ThreadPoolExecutor(_TOGETHER) as pool:
        for life, newest in zip(lives, pool.map(lambda life: _newest(place, life), lives), strict=True):
            table = tables[life.id]
            table.loaded_until = max(filter(None, (table.loaded_until, newest)), default=None)
        states = [state.lives[life.id] for life in lives if life.id in state.lives]
        listed = pool.map(lambda one: place.files(f"{one.folder}/current"), states)
        for one, files in zip(states, listed, strict=True):
            table, sizes = tables[one.life], _sizes(files, one.ranges)
            table.current_files += len(sizes)
            table.current_bytes += sum(sizes)
        listed = pool.map(lambda one: place.files(f"{one.folder}/scd2"), states)
        for one, files in zip(states, listed, strict=True):
            table, sizes = tables[one.life], _sizes(files, one.versions)
            table.version_files += len(sizes)
            table.version_bytes += sum(sizes)


def _sizes(listed: Sequence[ListedFile], counting: Sequence[RangeFile]) -> list[int]:
    paths = {file.path for file in counting}
    return [file.bytes for file in listed if file.path in paths]


def _newest(place: LakeStore, life: TableHistory) -> int | None:
    """Return the newest commit of a life's rows, as the last file of each chain tells it."""
    last = {unit.file.chain: unit.file for unit in life.units if not unit.file.gone}
    times = []
    for file in last.values():
        with place.reading(file.path) as opened:
            column = opened.schema_arrow.get_field_index(_TIME)
            groups = map(opened.metadata.row_group, range(opened.metadata.num_row_groups))
            statistics = [group.column(column).statistics for group in groups]
        times += [one.max for one in statistics if one is not None and one.has_min_max]
    return max((round(time.timestamp() * _SECOND) for time in times), default=None)
