"""Plan a load: compare the lives traced from files and statements with the loaded state."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import Any

from binx.errors import AbsentError, UsageError
from binx.lake.arrow.before_images import ComparedImages
from binx.lake.arrow.column_types import sql_type
from binx.lake.dataset.files import ChangesFile, counting
from binx.lake.dataset.placement import placed_bases
from binx.lake.dataset.spans import Span
from binx.lake.dataset.statement_effects import RecordedStatement, names_of, once
from binx.lake.state.loaded_state import LifeState, State
from binx.lake.table_name import TableName
from binx.lake.tables.lives import FileSpan, TableColumn, TableHistory
from binx.lake.tables.timeline import Timeline
from binx.lake.tasks.work import Work
from binx.rows.columns.schema import folded_name
from binx.source.wording import did_you_mean

_KEYLESS = "the logs tell no primary key of it as it is now: current/ stays as it was; give a key with --key"
_ALIKE = (
    "an ENUM or SET of its key has an empty member: rows with it and rows with no member are alike, and count"
    " once"
)
_NOT_TOLD = (
    "it no longer has all columns ({}) of keys that were erased forever: later rows of these are not erased"
)
_WITHOUT_KEY = (
    "the logs tell no primary key of it for some of its rows: of those with equal keys, if any, one is left"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """All lives, and the work of a load.

    Attributes:
        work: for each life whose state changes.
        finished: lives that have ended; their ``current/`` and ``scd2/`` no longer count.
        empty: by file identity, spans of commit versions in which the file must have no rows.
    """

    lives: list[TableHistory]
    work: list[Work]
    finished: list[str]
    empty: Mapping[str, tuple[Span, ...]]


def lives_of(
    state: State,
    arrived: Sequence[ChangesFile] = (),
    *,
    keys: Mapping[TableName, Sequence[str]] | None = None,
    with_lost: bool = False,
) -> list[TableHistory]:
    """Return all lives, traced from all known files and statements, and the new files.

    ``keys`` are key columns by table; by default the ones that the state has from options. ``with_lost`` is
    whether transactions count that a server which took over never had.
    """
    return _traced(state, arrived, state.keys if keys is None else keys, with_lost=with_lost).lives


@dataclass(slots=True)
class _Traced:
    """All lives, and the prepared transactions that were committed."""

    lives: list[TableHistory] = field(default_factory=list)
    committed: set[tuple[str, int]] = field(default_factory=set)


def _traced(
    state: State,
    arrived: Sequence[ChangesFile],
    keys: Mapping[TableName, Sequence[str]],
    *,
    with_lost: bool = False,
) -> _Traced:
    ranks, shards, traced = state.ranks, state.shard_of_chains(), _Traced()
    bases = placed_bases(state.chains, ranks, shards)
    shards |= {name: shards.get(base.chain, name) for name, base in bases.items()} if shards else {}
    files, statements = [*state.history, *arrived], once(state.spelled_statements(), ranks)
    for shard in dict.fromkeys(shards.values()) or [""]:
        timeline = Timeline(state.versions, ranks, bases)
        own_files = [file for file in files if shards.get(file.chain, "") == shard]
        own_statements = [one for one in statements if shards.get(one.chain, "") == shard]
        if with_lost:
            lives = timeline.trace([replace(file, lost=()) for file in own_files], own_statements)
        else:
            lives = _without_lost(state, timeline, own_files, own_statements)
        for life in lives:
            life.id, life.shard = f"{shard}/{life.id}" if shard else life.id, shard
        traced.lives += lives
        traced.committed |= set(timeline.committed)
    for life in traced.lives:
        if life.name is None:
            continue
        life.reasons += [
            _NOT_TOLD.format(", ".join(note["key"]))
            for note in forever_erased(life, state.erasures)
            if key_called(life, note.get("key", ())) is None
        ]
        given = keys.get(life.name, ())
        if given and not life.epochs[-1].key and (key := key_called(life, given)):
            _give_key(life, key)
            life.key_is_given = True
        life.is_keyed = all(life.epochs[unit.epoch].key for unit in life.units)
        if life.epochs[-1].key:
            _fill_keys(life)
        elif given:
            life.reasons.append(f"it has no columns {', '.join(given)}, which --key gave as its key")
        elif life.id in state.lives:
            life.reasons.append(_KEYLESS)
    return traced


def _without_lost(
    state: State, timeline: Timeline, files: Sequence[ChangesFile], statements: Sequence[RecordedStatement]
) -> list[TableHistory]:
    """Return the lives without transactions that a server which took over never had."""
    lost = {chain: set(left_out.gtids.texts()) for chain, left_out in state.left_out.items()}
    hit = {(file.chain, file.table) for file in files if file.lost}
    counting_statements = []
    for statement in statements:
        if statement.transaction in lost.get(statement.chain, ()):
            hit |= {(statement.chain, name) for effect in statement.effects for name in names_of(effect)}
        else:
            counting_statements.append(statement)
    lives = timeline.trace([left for file in files if (left := counting(file))], counting_statements)
    for life in lives:
        names = {name for _, name in life.names}
        life.reasons += [
            left_out.sentence(chain)
            for chain, left_out in state.left_out.items()
            if any((chain, name) in hit for name in names)
        ]
    return lives


def plan_load(
    state: State,
    arrived: Sequence[ChangesFile],
    *,
    rebuild: Collection[TableName] = (),
    scd2: bool = False,
    soft_deletes: bool = False,
) -> Plan:
    """Plan a load.

    Lives are traced each time. If the applied units are a prefix of a life, they are kept and only the rest
    is applied. Otherwise (an older log arrived late, or the order of chains changed) the life is rebuilt from
    history.

    Args:
        state: the known files and statements, and the loaded state.
        arrived: new files.
        rebuild: tables to rebuild.
        scd2: whether versions are written.
        soft_deletes: whether deleted rows are kept.
    """
    traced = _traced(state, arrived, state.keys)
    lives, work = traced.lives, []
    erased = {table for table, _ in state.erased}
    loaded = {life.name: life for life in state.lives.values()}
    for life in lives:
        if life.name is None or not life.epochs[-1].key:
            continue
        former = state.lives.get(life.id)
        # A table that replaces another of the same name inherits its options.
        options = former or loaded.get(life.name) or LifeState("", life.name, "")
        options = replace(
            options, scd2=scd2 or options.scd2, soft_deletes=soft_deletes or options.soft_deletes
        )
        life_work = _plan(life, traced.committed, None if life.name in rebuild else former, options)
        if life_work is not None:
            life_work.comparison = comparison_of(life, erased)
            work.append(life_work)
    ends = {life.id for life in lives if life.name is not None}
    empty: dict[str, tuple[Span, ...]] = {}
    for file, first, last in (part for life in lives for part in life.empty):
        empty[file.identity] = (*empty.get(file.identity, ()), (first, last))
    return Plan(lives, work, sorted(set(state.lives) - ends), empty)


def forever_erased(life: TableHistory, erasures: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the keys of a table, under all names that it had, that were erased forever."""
    names = {str(name) for _, name in life.names}
    return [note["forever"] for note in erasures if note["table"] in names and note.get("forever")]


def key_called(life: TableHistory, names: Sequence[str]) -> tuple[int, ...] | None:
    """Return the columns of a life's end that had these names last; None if one is not there."""
    wanted, last = [folded_name(name) for name in names], {column.id for column in life.epochs[-1].columns}
    for epoch in reversed(life.epochs):
        ids = {folded_name(column.name): column.id for column in epoch.columns}
        key = tuple(ids.get(name, -1) for name in wanted)
        if last.issuperset(key):
            return key
    return None


def _give_key(life: TableHistory, key: tuple[int, ...]) -> None:
    """Set a life's key in all epochs that have its columns."""
    for number, epoch in enumerate(life.epochs):
        if set(key) <= {column.id for column in epoch.columns}:
            life.epochs[number] = replace(epoch, key=key)


def check_key(life: TableHistory, names: Sequence[str]) -> None:
    """Check that columns that are given as a table's key are there, and that the logs tell no other key.

    Raises:
        AbsentError: there is no such column.
        UsageError: the table has another key.
    """
    last, key = life.epochs[-1], key_called(life, names)
    if key is None and last.columns:
        columns = {folded_name(column.name): column.name for column in last.columns}
        absent = next((name for name in names if folded_name(name) not in columns), names[0])
        near = did_you_mean(absent, columns.values())
        raise AbsentError(f"--key: {life.name} has no column {absent}{near}")
    if key is not None and set(key) != set(last.key):
        own = ", ".join(last.column(number).name for number in last.key)
        raise UsageError(f"rows of {life.name} are told apart by its key {own}: leave out --key")


def _fill_keys(life: TableHistory) -> None:
    """Give epochs without a key that of another epoch, if they have its columns."""
    for number, epoch in enumerate(life.epochs):
        if epoch.key:
            continue
        ids = {column.id for column in epoch.columns}
        others = [
            epoch.key for epoch in (*reversed(life.epochs[:number]), *life.epochs[number:]) if epoch.key
        ]
        key = next((key for key in others if set(key) <= ids), tuple(column.id for column in epoch.columns))
        life.epochs[number] = replace(epoch, key=key)
        if any(unit.epoch == number for unit in life.units):
            life.reasons.append(_WITHOUT_KEY)
    if any(_has_empty_member(epoch.column(number)) for epoch in life.epochs for number in epoch.key):
        life.is_keyed = False
        life.reasons.append(_ALIKE)


def comparison_of(life: TableHistory, erased: Collection[TableName] = ()) -> ComparedImages | None:
    """Return how a life's before images are compared with its rows; None if its rows have no key.

    Generated columns are computed by the server. JSON and floating-point numbers differ in a backup's text.

    Args:
        erased: tables of which rows were erased.
    """
    columns = [
        (number, column)
        for unit in life.units
        for number, column in zip(unit.ids, unit.version.columns, strict=True)
    ]
    is_versioned = any(column.generated == "row_end" for _, column in columns)
    if not life.is_keyed or is_versioned or any(unit.file.by_rows for unit in life.units):
        return None
    apart = {number for number, column in columns if column.generated}
    if life.base is not None:
        apart |= {number for number, column in columns if column.arrow_type in ("float", "double")}
    if life.base is not None or any(unit.file.partial for unit in life.units):
        apart |= {number for number, column in columns if column.arrow_type == "extension<arrow.json>"}
    # Rows whose key only the server knows are left out until they change.
    has_keys = all(change.id not in epoch.key for epoch in life.epochs for change in epoch.changes)
    is_whole = life.whole and has_keys and not any(name in erased for _, name in life.names)
    return ComparedImages(frozenset(number for number, _ in columns) - apart, is_whole)


def _has_empty_member(column: TableColumn) -> bool:
    kind = sql_type(column)
    return kind is not None and "" in (kind.members or ())


def _plan(
    life: TableHistory, committed: Collection[tuple[str, int]], former: LifeState | None, options: LifeState
) -> Work | None:
    """Return the work that brings a life's state to the life's end; None if nothing is to be done."""
    assert life.name is not None
    units = list(life.units)
    if former is not None and (options.scd2 > former.scd2 or options.soft_deletes > former.soft_deletes):
        former = None
    if former is not None:
        late = _late(life.units, former, committed)
        count, digest = _applied(life, former.units, former.epochs)
        is_prefix = (count, digest) == (former.units, former.digest)
        if is_prefix and all(unit.epoch >= former.epochs - 1 for unit in late):
            rest = [unit for group in _groups(units)[former.units :] for unit in group]
            if (
                not rest
                and not late
                and former.epochs == len(life.epochs)
                and former.folder == life.name.folder
            ):
                return None
            units = sorted([*rest, *late], key=lambda unit: (unit.at, unit.first))
        else:
            former = None
    count, digest = applied(life)
    last = life.epochs[-1]
    withheld = tuple(sorted({(unit.file.chain, scn) for unit in life.units for scn in unit.excluded}))
    goal = LifeState(
        life.id, life.name, life.name.folder, count, len(life.epochs), digest,
        columns=last.columns, key=last.key, withheld=withheld,
        scd2=options.scd2, soft_deletes=options.soft_deletes, shard=life.shard,
    )  # fmt: skip
    return Work(former, goal, tuple(life.epochs), tuple(units))


def made_anew(work: Work, life: TableHistory) -> Work:
    """Return the work that brings a life to its end from its beginning, in place of another one."""
    return Work(None, work.goal, work.epochs, tuple(life.units), work.comparison)


def applied(life: TableHistory) -> tuple[int, str]:
    """Return the number of a life's units and their digest, to check whether a state has all of it."""
    return _applied(life, len(life.units), len(life.epochs))


def _applied(life: TableHistory, most: int, epochs: int) -> tuple[int, str]:
    """Return the same for the first units; files and epochs identify units, however a file was cut since."""
    named = [
        (*_name_of(group[0]), *(unit.file.lost for unit in group if unit.file.lost))
        for group in _groups(life.units)[:most]
    ]
    columns = [
        [[asdict(column) for column in epoch.columns], epoch.key, [change[:1] for change in epoch.changes]]
        for epoch in life.epochs[:epochs]
    ]
    return len(named), hashlib.sha256(json.dumps([columns, named], default=str).encode()).hexdigest()


def _groups(units: Sequence[FileSpan]) -> list[list[FileSpan]]:
    """Group consecutive units that have the same file and epoch."""
    return [list(group) for _, group in groupby(units, _name_of)]


def _name_of(unit: FileSpan) -> tuple[str, int]:
    return unit.file.identity, unit.epoch


def _late(
    units: Sequence[FileSpan], former: LifeState, committed: Collection[tuple[str, int]]
) -> list[FileSpan]:
    """Return units of XA transactions that an earlier load left out and that were committed since."""
    return [
        replace(unit, first=scn, last=scn, excluded=())
        for chain, scn in former.withheld
        if (chain, scn) in committed
        for unit in units
        if unit.file.chain == chain and unit.first <= scn <= unit.last
    ]
