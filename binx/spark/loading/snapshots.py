"""A table's state, advanced by new rows where they come later than all others, else built from history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from .added import Arrivals, added_columns, with_added
from .context import Load, history_parts, new_parts
from .eras import find_eras
from .events import IMAGE, Events, Part, collect_events
from .fields import fields_of, unite
from .inserted import untold_columns, with_defaults
from .lineage import Era, Position, Segment, trace_columns
from .manifests import TableName
from .outcome import LoadError
from .ranged import advance_ranges
from .records import TableState
from .scd2 import versions
from .schemas import file_schema
from .state import advanced_state, current_state
from .storage import address_of


def build_states(load: Load, table: TableName, segments: tuple[Segment, ...], *, reordered: bool) -> None:
    """Write a table's state to the staging, if it changes.

    Args:
        load: the run, its new rows staged.
        table: the table.
        segments: the rows that belong to it.
        reordered: whether the order of the chains is another than at the last load.
    """
    state, summary = load.tables[table], load.summary(table)
    _tell_beginning(load, state, segments)
    eras = find_eras(load, segments)
    key = _key(load, state, eras)
    summary.key = key
    if key and (retyped := _retyped(load, eras, key)):
        summary.losses.append(
            f"the key's {', '.join(retyped)} got a type that former values of it are not known in, so"
            " current/ is not made of later rows; load a data set that begins behind the change into a new"
            " folder, or give another key with --key"
        )
        leave_state(load, table, segments, reordered=reordered)
        return
    if not key:
        if "current" in state.snapshots:
            summary.losses.append(
                "the primary key is no longer known, so current/ stays as an earlier load left it;"
                " export the logs again starting where the data set has the previous log, or with"
                " --schema, or give a key with --key"
            )
        else:
            summary.notes.append(
                "no primary key is known, so only history is written; give one with --key or, if the"
                " table has one, export its logs with --schema"
            )
        leave_state(load, table, segments, reordered=reordered)
        return
    names = {rank: chain for chain, rank in load.ranks.items()}
    marks = [_mark(segment, names) for segment in segments]
    followed = state.segments == marks and state.key == key and not reordered
    kinds = ["current", *(["scd2"] if load.options.scd2 else [])]
    arrived = _arrived(load, segments)
    if followed and not arrived and all(kind in state.snapshots for kind in kinds):
        return
    former = state.snapshots.get("current")
    ahead = former and followed and arrived == {table}
    if not (ahead and _advance(load, state, segments, eras, key)):
        _rebuild(load, state, segments, eras, key)
    untold = _arrivals(load, eras).untold
    if untold:
        summary.notes.append(
            f"{', '.join(untold)} added later: null in rows not changed since, whose value is not known"
        )
    if load.options.scd2 or "scd2" in state.snapshots:
        _write_versions(load, state, segments, eras, key)
    state.key, state.segments = key, marks
    state.era = [*eras[-1].table, eras[-1].version] if eras else []
    if table in load.arrived:
        last = load.arrived[table][1]
        high = Position(load.ranks[state.high[0]], state.high[1]) if state.high else last
        state.high = [names[max(high, last).rank], max(high, last).scn]


def _tell_beginning(load: Load, state: TableState, segments: Sequence[Segment]) -> None:
    """Tell of a table whose first rows no log has: neither CREATE TABLE nor TRUNCATE stands before them."""
    state.begun = segments[0].since is not None
    if state.begun:
        return
    summary = load.summary(state.name)
    told = (
        "partial: the logs do not have the table's beginning (CREATE TABLE or TRUNCATE), so rows that were"
        " there before and did not change since are missing"
    )
    if load.options.partial:
        summary.notes.append(told)
    else:
        summary.losses.append(f"{told}; --partial says that this is wanted")


def _retyped(load: Load, eras: Sequence[Era], key: Sequence[str]) -> list[str]:
    """The columns of the key whose values have a type now that cannot hold those of before."""
    found = []
    for name in key:
        kinds = []
        for era, names in zip(eras, trace_columns(eras), strict=True):
            known = load.tables[era.table].schemas.get(era.version)
            own = next((one for one, today in names.items() if today == name), None)
            if known is not None and own is not None:
                schema = file_schema(era.table, known.record)
                kinds.append([(name, field.dataType) for field in schema.fields if field.name == own])
        if unite(kinds).apart:
            found.append(name)
    return found


def leave_state(load: Load, table: TableName, segments: tuple[Segment, ...], *, reordered: bool) -> None:
    """Leave a table's state as it is; where it lacks something now, the next one is built anew.

    Args:
        load: the run, its new rows staged.
        table: the table.
        segments: the rows that belong to it.
        reordered: whether the order of the chains is another than at the last load.
    """
    state = load.tables.get(table)
    if state is not None and (reordered or _arrived(load, segments)):
        state.segments = []


def _arrived(load: Load, segments: Sequence[Segment]) -> set[TableName]:
    """The tables of the segments whose rows the load changed."""
    return {segment.table for segment in segments} & {*load.arrived, *load.released_tables}


def _arrivals(load: Load, eras: Sequence[Era]) -> Arrivals:
    """The columns that are younger than the first rows."""
    tables = {era.table for era in eras}
    records = {
        table: {version: one.record for version, one in load.tables[table].schemas.items()}
        for table in tables
    }
    return added_columns(eras, records)


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
    misfits = any(state.misfits for state in concerned)
    if any(state.partial for state in concerned):
        parts = [_with_defaults(load, part) for part in parts]
        records = (one.record for state in concerned for one in state.schemas.values())
        misfits |= any(fact.misfit for record in records for fact in record.absent.values())
    return collect_events(
        parts,
        segments,
        eras,
        load.ranks,
        partial=any(state.partial for state in concerned),
        misfits=misfits,
        key=key,
        withheld=load.withheld,
        added=_arrivals(load, eras).told,
    )


def _with_defaults(load: Load, part: Part) -> Part:
    """A part's rows with the columns that inserted ones lack, as far as they are known."""
    known = load.tables[part.table].schemas.items()
    filled = with_defaults(part, {version: one.record for version, one in known})
    untold = untold_columns(filled)
    note = (
        f"inserted rows whose images lack {', '.join(untold)} have null there: only the server knows"
        " the default"
    )
    summary = load.summary(part.table)
    if untold and note not in summary.notes:
        summary.notes.append(note)
    return filled


def _advance(
    load: Load,
    state: TableState,
    segments: Sequence[Segment],
    eras: Sequence[Era],
    key: Sequence[str],
) -> bool:
    """Bring the last state forward by the new rows; False where it has to be built anew."""
    if not state.high or state.apart or not _same_columns(state, eras):
        return False
    high = Position(load.ranks[state.high[0]], state.high[1])
    if state.name in load.arrived and load.arrived[state.name][0] <= high:
        return False
    if _went_through_ranges(load, state, segments, eras, key):
        return True
    place = state.snapshot("current", state.snapshots["current"][0])
    base = load.spark.read.schema(state.shape("current")).parquet(address_of(load.storage, place))
    parts = new_parts(load, state.name)
    events = _events(load, segments, eras, key, parts)
    _check_keys(state.name, events, key)
    types = {field.name: field.dataType for field in events.rows.schema.fields}
    base = with_added(base, _arrivals(load, eras).told, types)
    widened = events.widened(fields_of(base.schema), {name for era in eras[-1:] for name in era.columns})
    if widened is None:
        return False
    known = load.tables[eras[-1].table].schemas.get(eras[-1].version) if eras else None
    unique = known is not None and [name.lower() for name in known.record.primary_key] == [
        name.lower() for name in key
    ]
    count = load.summary(state.name).loaded
    rows, last = advanced_state(base, widened, key, rows=count, unique=unique)
    try:
        _publish(load, state, "current", rows)
    finally:
        last.unpersist()
    return True


def _went_through_ranges(
    load: Load, state: TableState, segments: Sequence[Segment], eras: Sequence[Era], key: Sequence[str]
) -> bool:
    """Stage the state that sorted runs lead to, where they do."""
    schema = advance_ranges(load, state, segments, eras, key, _arrivals(load, eras).told)
    if schema is not None:
        _keep_snapshot(load, state, "current", schema.json())
    return schema is not None


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
    if "current" not in state.snapshots and _went_through_ranges(load, state, segments, eras, key):
        return
    tables = list(dict.fromkeys(segment.table for segment in segments))
    parts = [part for table in tables for part in history_parts(load, table)]
    events = _events(load, segments, eras, key, parts)
    _check_keys(state.name, events, key)
    state.apart = list(events.apart)
    if events.apart:
        load.report_apart(state.name, events.apart)
    if events.keyless:
        load.summary(state.name).losses.append(
            "rows from before the key columns existed are in history only: schema versions "
            + ", ".join(events.keyless)
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
            f"{table}: {count} row images lack a column of the key ({', '.join(key)}): partial images"
            " contain only the primary key columns; give those with --key"
        )


def _write_versions(
    load: Load, state: TableState, segments: Sequence[Segment], eras: Sequence[Era], key: Sequence[str]
) -> None:
    tables = list(dict.fromkeys(segment.table for segment in segments))
    parts = [part for table in tables for part in history_parts(load, table)]
    _publish(load, state, "scd2", versions(_events(load, segments, eras, key, parts), key))


def _publish(load: Load, state: TableState, kind: str, rows: DataFrame) -> None:
    """Stage a snapshot and count it."""
    path = state.snapshot(kind, load.record.load)
    observation = Observation()
    staged = load.output.staged(path)
    load.write(rows.observe(observation, F.count(F.lit(1)).alias("rows")), staged)
    load.take((), moves=[(staged, path)])
    _keep_snapshot(load, state, kind, rows.schema.json())
    summary = load.summary(state.name)
    if kind == "current":
        summary.current = observation.get["rows"]
    else:
        summary.scd2 = observation.get["rows"]


def _keep_snapshot(load: Load, state: TableState, kind: str, shape: str) -> None:
    """Let a staged snapshot be the table's."""
    state.snapshots[kind] = [load.record.load, *state.snapshots.get(kind, [])[:1]]
    state.shapes[kind] = shape
