"""A table's row images from history, in the columns that the table has today.

History keeps each load's columns as they were. Here they are followed to today's names, united in type,
and limited to the rows that belong to the table as it is now.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql.types import DataType

from .added import Added, added_value
from .fields import unite
from .images import ABSENT, CHAIN, SCHEMA_VERSION, is_of, is_postimage
from .lineage import Era, Position, Segment, trace_columns
from .manifests import TableName
from .names import named
from .outcome import LoadError
from .plan import Place
from .steady import without_preimages

RANK = "_rank"
IMAGE = "_image"
MISFITS = "_misfits"
ORDER = (RANK, "_commit_version", "_row", IMAGE)


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one table's history that were written with the same columns.

    ``stored`` tells where each schema version's columns stand: by version, then by their own name.
    ``steady`` are columns that no update changed.
    """

    table: TableName
    rows: DataFrame
    stored: Mapping[str, Mapping[str, str]]
    steady: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Events:
    """Row images in order of ``ORDER``, with today's columns.

    Where images may be partial, ``present`` names for each column the flag that says whether it was in
    the image; else it is empty. ``apart`` names columns that hold values whose type does not fit,
    ``keyless`` the schema versions whose rows are left out because they lack a column of the key.
    """

    rows: DataFrame
    columns: tuple[str, ...]
    present: Mapping[str, str]
    misfits: bool
    apart: tuple[str, ...]
    keyless: tuple[str, ...]

    def widened(self, former: Sequence[tuple[str, DataType]], today: Collection[str]) -> Events | None:
        """These events in columns that hold a former state's values too; None where a type does not fit.

        Args:
            former: the state's columns.
            today: the columns that the table has now; others of the state are left out.
        """
        kept = [(name, kind) for name, kind in former if name in today]
        types = {field.name: field.dataType for field in self.rows.schema.fields}
        united = unite([kept, [(name, types[name]) for name in self.columns]])
        if united.apart:
            return None
        others = [name for name in self.rows.columns if name not in self.columns]
        values = []
        present = dict(self.present)
        for name, kind in united.columns:
            value = named(name) if name in self.columns else F.lit(None)
            values.append(value.cast(kind).alias(name))
            if self.present and name not in present:
                present[name] = f"_has_{name}"
                values.append(F.lit(True).alias(present[name]))
        rows = self.rows.select(*others, *values)
        names = tuple(name for name, _ in united.columns)
        return replace(self, rows=rows, columns=names, present=present)


@dataclass(frozen=True, slots=True)
class Slice:
    """One schema version within one part, and where today's columns stand in it."""

    part: int
    version: str
    since: Position | None
    era: int
    places: dict[str, str]


def rank_of(ranks: Mapping[str, int]) -> Column:
    """The rank of a row's chain."""
    if len(ranks) == 1:
        return F.lit(next(iter(ranks.values())))
    pairs = [F.lit(item) for chain, rank in ranks.items() for item in (chain, rank)]
    return F.element_at(F.create_map(*pairs), F.col(CHAIN))


def collect_events(
    parts: Sequence[Part],
    segments: Sequence[Segment],
    eras: Sequence[Era],
    ranks: Mapping[str, int],
    *,
    partial: bool,
    misfits: bool,
    key: Sequence[str] = (),
    withheld: Collection[Place] = (),
    added: Added = MappingProxyType({}),
) -> Events:
    """Row images of a table as it is now.

    Args:
        parts: the history of all tables that the segments name.
        segments: which of their rows belong to the table.
        eras: the schema versions of these tables in the order in which they were in force.
        ranks: the rank of each chain.
        partial: whether images may lack columns.
        misfits: whether values may stand in ``_misfits``.
        key: rows of versions that lack one of these columns are left out.
        withheld: transactions whose rows do not hold.
        added: what rows hold in columns that came later.
    """
    found = sorted(find_slices([(one.table, one.stored) for one in parts], eras), key=lambda one: one.era)
    slices = [one for one in found if set(key) <= set(one.places)]
    keyless = tuple(dict.fromkeys(one.version for one in found if one not in slices))
    types = [_types(part.rows) for part in parts]
    united = unite([[(name, types[one.part][place]) for name, place in one.places.items()] for one in slices])
    chosen = [
        {column: one.places[own] for column, own in sources.items()}
        for one, sources in zip(slices, united.sources, strict=True)
    ]
    names = tuple(name for name, _ in united.columns)
    present = {name: f"_has_{index}" for index, name in enumerate(names)} if partial else {}
    pieces = []
    held = ~is_of(withheld)
    for number, part in enumerate(replace(part, rows=part.rows.where(held)) for part in parts):
        mine = [(one, chosen[index]) for index, one in enumerate(slices) if one.part == number]
        if mine:
            keys = {tuple(one.places[name] for name in key) for one, _ in mine}
            steady = bool(key) and not partial and keys == {tuple(part.steady)}
            pieces.extend(
                _project(
                    replace(part, rows=without_preimages(part.rows)) if steady else part,
                    mine,
                    segments,
                    ranks=ranks,
                    columns=united.columns,
                    present=present,
                    misfits=misfits,
                    added=added,
                )
            )
    if not pieces:
        raise LoadError(f"no rows have the key columns ({', '.join(key)}): give another key with --key")
    rows = pieces[0]
    for piece in pieces[1:]:
        rows = rows.unionByName(piece)
    return Events(rows, names, present, misfits, united.apart, keyless)


def _types(rows: DataFrame) -> dict[str, DataType]:
    return {field.name: field.dataType for field in rows.schema.fields}


def find_slices(
    parts: Sequence[tuple[TableName, Mapping[str, Mapping[str, str]]]], eras: Sequence[Era]
) -> list[Slice]:
    """Where today's columns stand in each part, for each version in it and each span that it was in force.

    Args:
        parts: the table of each part, and where its versions' columns stand in it.
        eras: the table's schema versions.
    """
    traced = trace_columns(eras)
    spans: dict[tuple[TableName, str], list[tuple[int, Position, dict[str, str]]]] = {}
    for index, (era, names) in enumerate(zip(eras, traced, strict=True)):
        spans.setdefault((era.table, era.version), []).append((index, era.since, names))
    slices = []
    for number, (table, versions) in enumerate(parts):
        for version, stored in versions.items():
            found = spans.get((table, version), [])
            same = all(names == found[0][2] for _, _, names in found)
            for index, since, names in found[:1] if same else found:
                places = {today: stored[own] for own, today in names.items() if own in stored}
                slices.append(Slice(number, version, None if same else since, index, places))
    return slices


def _project(
    part: Part,
    slices: Sequence[tuple[Slice, dict[str, str]]],
    segments: Sequence[Segment],
    *,
    ranks: Mapping[str, int],
    columns: Sequence[tuple[str, DataType]],
    present: Mapping[str, str],
    misfits: bool,
    added: Added,
) -> list[DataFrame]:
    """A part's rows in today's columns, one piece for each segment that lies in it."""
    cases = [(_applies(one, [other for other, _ in slices]), places) for one, places in slices]
    ranked = part.rows.where(F.col(SCHEMA_VERSION).isin(sorted({one.version for one, _ in slices})))
    ranked = ranked.withColumn(RANK, rank_of(ranks)).withColumn(IMAGE, is_postimage())
    heads = [F.col(name) for name in (*ORDER, "_change_type", "_commit_timestamp")]
    if misfits:
        heads.append(_renamed_misfits(cases).alias(MISFITS))
    values = [_value(name, kind, cases, added.get(name)) for name, kind in columns]
    flags = [_flag(name, cases).alias(flag) for name, flag in present.items()]
    return [
        ranked.where(_within(segment)).select(*heads, *values, *flags)
        for segment in segments
        if segment.table == part.table
    ]


def _applies(one: Slice, others: Sequence[Slice]) -> Column:
    """Whether a row belongs to a slice: by its version, and where that came back, by its place."""
    matches = F.col(SCHEMA_VERSION) == one.version
    if one.since is None:
        return matches
    later = [
        other.since
        for other in others
        if other.version == one.version and other.since is not None and other.since > one.since
    ]
    earliest = min(
        other.since for other in others if other.version == one.version and other.since is not None
    )
    if one.since > earliest:
        matches &= ~_before(one.since)
    if later:
        matches &= _before(min(later))
    return matches


def _value(
    name: str, kind: DataType, cases: Sequence[tuple[Column, dict[str, str]]], lacking: str | None
) -> Column:
    """A column of today; ``lacking`` is what versions hold that do not have it."""
    places = [places.get(name) for _, places in cases]
    value = added_value(lacking, kind)
    if len(set(places)) == 1:
        return (value if places[0] is None else named(places[0]).cast(kind)).alias(name)
    for (applies, _), place in zip(cases, places, strict=True):
        if place is not None:
            value = F.when(applies, named(place).cast(kind)).otherwise(value)
    return value.alias(name)


def _flag(name: str, cases: Sequence[tuple[Column, dict[str, str]]]) -> Column:
    """Whether the column was in the image; a version without the column counts as one that has its value."""
    flag = F.lit(True)
    for applies, places in cases:
        if name in places:
            absent = F.coalesce(F.array_contains(ABSENT, places[name]), F.lit(False))
            flag = F.when(applies, ~absent).otherwise(flag)
    return flag


def _renamed_misfits(cases: Sequence[tuple[Column, dict[str, str]]]) -> Column:
    """``_misfits`` under today's column names."""
    misfits = F.col(MISFITS)
    for applies, places in cases:
        moved = [(place, name) for name, place in places.items() if place != name]
        if moved:
            pairs = F.create_map(*[F.lit(item) for pair in moved for item in pair])
            renamed = F.transform_keys(MISFITS, lambda key, _: F.coalesce(F.element_at(pairs, key), key))  # noqa: B023
            misfits = F.when(applies, renamed).otherwise(misfits)
    return misfits


def _within(segment: Segment) -> Column:
    inside = F.lit(True)
    if segment.since is not None:
        inside &= ~_before(segment.since)
    if segment.until is not None:
        inside &= _before(segment.until)
    return inside


def _before(position: Position) -> Column:
    return (F.col(RANK) < position.rank) | (
        (F.col(RANK) == position.rank) & (F.col("_commit_version") < position.scn)
    )
