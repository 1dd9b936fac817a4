"""The current state: the last image of each key.

Images are ordered by chain, SCN, row and pre-image before post-image. A key whose last image is a deletion or
the pre-image of an update (the row went on under another key) is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from .events import IMAGE, MISFITS, ORDER, RANK, Events
from .names import named

GONE = "_gone"
_BASE_RANK = -1
_LINE = "_line"
_LIFE = "_life"
_MOVED = "_moved"
_LEFT = "_left"
_BROADCAST_ROWS = 2_000_000
_PLACE = "_place"


def _is_gone() -> Column:
    return F.col("_change_type").isin("delete", "update_preimage")


def _heads(events: Events) -> list[str]:
    return [*([MISFITS] if events.misfits else []), "_commit_version", "_commit_timestamp"]


def last_images(events: Events, key: Sequence[str]) -> DataFrame:
    """The last image of each key, also of those that are gone (``_gone``).

    Columns: the table's, ``_misfits`` where there can be any, ``_commit_version``, ``_commit_timestamp``.
    """
    if events.present:
        return _replayed(_lines(_keyed(events, key), key), events, key)
    keys = [named(name) for name in key]
    # Only what decides and what is kept: each byte of a row is sent to its key's task and sorted there.
    place = (F.col("_row") * 2 + F.col(IMAGE)).alias(_PLACE)
    kept = [*map(named, events.columns), *map(F.col, _heads(events)), _is_gone().alias(GONE)]
    newest = Window.partitionBy(*keys).orderBy(F.desc(RANK), F.desc("_commit_version"), F.desc(_PLACE))
    # Divided by key before the window: else Spark sorts all rows to thin them out before it sends them, too.
    rows = events.rows.select(*kept, F.col(RANK), place).repartition(*keys)
    last = rows.withColumn("_newest", F.row_number().over(newest)).where("_newest = 1")
    return last.drop("_newest", RANK, _PLACE)


def current_state(events: Events, key: Sequence[str]) -> DataFrame:
    """The rows that the table holds after all events."""
    return last_images(events, key).where(~F.col(GONE)).drop(GONE)


def completed_images(events: Events, key: Sequence[str]) -> DataFrame:
    """All images, those that end a key's row included (``_gone``), absent columns filled from earlier ones.

    Columns: those of ``ORDER``, the table's, ``_misfits`` where there can be any, ``_commit_timestamp``.
    """
    heads = [F.col(name) for name in (*ORDER, "_commit_timestamp")] + [_is_gone().alias(GONE)]
    if not events.present:
        misfits = [F.col(MISFITS)] if events.misfits else []
        return events.rows.select(*heads, *[named(name) for name in events.columns], *misfits)
    lines = _lines(_keyed(events, key), key)
    by_line = Window.partitionBy(_LINE).orderBy(*ORDER)
    so_far = by_line.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    known = [
        F.last(F.when(F.col(events.present[name]), _value(events, name)), ignorenulls=True)
        .over(so_far)
        .alias(f"_value_{index}")
        for index, name in enumerate(events.columns)
    ]
    keys = [F.col(_key(index)) for index in range(len(key))]
    rows = lines.select(*heads, *keys, *known)
    columns = _completed(events, {name: F.col(_key(index)) for index, name in enumerate(key)})
    return rows.select(*ORDER, "_commit_timestamp", GONE, *columns)


def advanced_state(
    base: DataFrame, events: Events, key: Sequence[str], *, rows: int, unique: bool
) -> tuple[DataFrame, DataFrame]:
    """The rows that the table holds after events that all come later than ``base``.

    Args:
        base: an earlier state; columns that it lacks are null.
        events: the images since.
        key: the names of the key's columns.
        rows: the number of images, which decides how Spark joins.
        unique: whether the key is the table's primary key, which is never null.

    Returns:
        The rows, and the last images among them, which are computed once and kept until they are unpersisted.
    """
    former = _conformed(base, events)
    if events.present:
        keyed = _keyed(events, key)
        touched = keyed.select(*[F.col(_key(index)).alias(name) for index, name in enumerate(key)]).distinct()
        before = _as_events(_join(former, touched, key, "left_semi", rows=rows, unique=unique), events, key)
        last = _replayed(_lines(keyed.unionByName(before), key), events, key).persist()
    else:
        last = touched = last_images(events, key).persist()
    kept = _join(former, touched, key, "left_anti", rows=rows, unique=unique)
    return kept.unionByName(last.where(~F.col(GONE)).drop(GONE)), last


def _conformed(base: DataFrame, events: Events) -> DataFrame:
    """A former state in today's columns and types."""
    types = {field.name: field.dataType for field in events.rows.schema.fields}
    spelled = {name.lower(): name for name in base.columns}
    columns = []
    for name in (*events.columns, *_heads(events)):
        former = spelled.get(name.lower())
        value = F.lit(None) if former is None else named(former)
        columns.append(value.cast(types[name]).alias(name))
    return base.select(*columns)


def _join(
    left: DataFrame, keys: DataFrame, key: Sequence[str], how: str, *, rows: int, unique: bool
) -> DataFrame:
    """A join on the key, in which null equals null where the key may be null."""
    aliases = [f"_join_{index}" for index in range(len(key))]
    right = keys.select(*[named(name).alias(alias) for name, alias in zip(key, aliases, strict=True)])
    if rows <= _BROADCAST_ROWS:
        right = F.broadcast(right)
    same = [
        named(name) == F.col(alias) if unique else named(name).eqNullSafe(F.col(alias))
        for name, alias in zip(key, aliases, strict=True)
    ]
    return left.join(right, reduce(lambda one, more: one & more, same), how)


def _key(index: int) -> str:
    return f"_key_{index}"


def _position() -> Column:
    return F.struct(*ORDER)


def _keyed(events: Events, key: Sequence[str]) -> DataFrame:
    """Events with the key that each image belongs to, and whether its update changed the key.

    The image after an update may lack the key's columns, where the update left them alone: the image
    before it has them.
    """
    pair = Window.partitionBy(RANK, "_commit_version", "_row").orderBy(IMAGE)
    after = F.col(IMAGE) == 1
    rows = events.rows
    moved = F.lit(False)
    for index, name in enumerate(key):
        present = F.col(events.present[name])
        before = F.lag(named(name)).over(pair)
        rows = rows.withColumn(_key(index), F.when(after & ~present, before).otherwise(named(name)))
        moved |= ~F.col(_key(index)).eqNullSafe(before)
    rows = rows.withColumn(_MOVED, after & moved)
    return rows.withColumn(_LEFT, F.coalesce(F.lead(_MOVED).over(pair), F.lit(False)))


def _as_events(former: DataFrame, events: Events, key: Sequence[str]) -> DataFrame:
    """Rows of a former state as images that come before all others."""
    heads = {
        RANK: F.lit(_BASE_RANK),
        "_row": F.lit(0).cast("bigint"),
        IMAGE: F.lit(0),
        "_change_type": F.lit("insert"),
        _MOVED: F.lit(False),
        _LEFT: F.lit(False),
    }
    flags = {flag: F.lit(True) for flag in events.present.values()}
    keys = {_key(index): named(name) for index, name in enumerate(key)}
    added = {**heads, **flags, **keys}
    return former.select("*", *[value.alias(name) for name, value in added.items()])


def _lines(keyed: DataFrame, key: Sequence[str]) -> DataFrame:
    """Events with the row that each belongs to (``_line``), followed through changes of its key.

    A key's events fall into lives: one begins with an insertion, with a row that arrives from another
    key, or after the key was gone. A life that begins with an arrival continues another key's life.
    """
    keys = [F.col(_key(index)) for index in range(len(key))]
    by_key = Window.partitionBy(*keys).orderBy(*ORDER)
    so_far = by_key.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ended = F.lag((F.col("_change_type") == "delete") | F.col(_LEFT), 1, True).over(by_key)
    begins = ended | (F.col("_change_type") == "insert") | F.col(_MOVED)
    own = F.when(F.col(RANK) == _BASE_RANK, F.to_json(F.array(*[key.cast("string") for key in keys])))
    identity = F.coalesce(own, F.concat_ws("/", *[F.col(name).cast("string") for name in ORDER]))
    lived = keyed.withColumn(_LIFE, F.last(F.when(begins, identity), ignorenulls=True).over(so_far))
    pair = Window.partitionBy(RANK, "_commit_version", "_row").orderBy(IMAGE)
    arrivals = (
        lived.where(F.col(_MOVED) | F.col(_LEFT))
        .withColumn("_parent", F.lag(_LIFE).over(pair))
        .where(_MOVED)
        .select(F.col(_LIFE).alias("_child"), "_parent")
        .localCheckpoint()
    )
    if arrivals.isEmpty():
        return lived.withColumnRenamed(_LIFE, _LINE)
    roots = _roots(arrivals)
    joined = lived.join(roots, F.col(_LIFE) == F.col("_child"), "left")
    return joined.withColumn(_LINE, F.coalesce("_parent", _LIFE)).drop("_child", "_parent", _LIFE)


def _roots(arrivals: DataFrame) -> DataFrame:
    """The first life of each chain of lives, in as many steps as the logarithm of the longest one."""
    while True:
        further = arrivals.select(F.col("_child").alias("_via"), F.col("_parent").alias("_origin"))
        stepped = arrivals.join(further, F.col("_parent") == F.col("_via"), "left").localCheckpoint()
        arrivals = stepped.select("_child", F.coalesce("_origin", "_parent").alias("_parent"))
        if stepped.where(F.col("_via").isNotNull()).isEmpty():
            return arrivals


def _replayed(lines: DataFrame, events: Events, key: Sequence[str]) -> DataFrame:
    """The last image of each key, its absent columns filled from the row's earlier images."""
    keys = [_key(index) for index in range(len(key))]
    position = _position()
    facts = F.struct(*keys, "_commit_version", "_commit_timestamp", _is_gone().alias(GONE))
    values = []
    for index, name in enumerate(events.columns):
        known = F.when(F.col(events.present[name]), position)
        values.append(F.max_by(_value(events, name), known).alias(f"_value_{index}"))
    rows = lines.groupBy(_LINE).agg(
        F.max(position).alias("_position"), F.max_by(facts, position).alias("_facts"), *values
    )
    newest = Window.partitionBy(*[F.col(f"_facts.{name}") for name in keys]).orderBy(F.desc("_position"))
    rows = rows.withColumn("_newest", F.row_number().over(newest)).where("_newest = 1")
    columns = _completed(events, {name: F.col(f"_facts.{_key(index)}") for index, name in enumerate(key)})
    facts_of = [F.col(f"_facts.{name}") for name in ("_commit_version", "_commit_timestamp", GONE)]
    return rows.select(*columns, *facts_of)


def _value(events: Events, name: str) -> Column:
    """A column's value with the text that stands for it in ``_misfits``."""
    misfit = F.element_at(MISFITS, name) if events.misfits else F.lit(None).cast("string")
    return F.struct(named(name).alias("value"), misfit.alias("misfit"))


def _completed(events: Events, keys: Mapping[str, Column]) -> list[Column]:
    """The table's columns from the values that are known of each, and from the key."""
    columns = [
        keys.get(name, F.col(f"_value_{index}.value")).alias(name)
        for index, name in enumerate(events.columns)
    ]
    if events.misfits:
        columns.append(_misfits(events.columns).alias(MISFITS))
    return columns


def _misfits(columns: Sequence[str]) -> Column:
    """``_misfits`` put together from the images that gave each column its value."""
    entries = F.filter(
        F.array(
            *[
                F.struct(F.lit(name).alias("key"), F.col(f"_value_{index}.misfit").alias("value"))
                for index, name in enumerate(columns)
            ]
        ),
        lambda entry: entry["value"].isNotNull(),
    )
    return F.when(F.size(entries) > 0, F.map_from_entries(entries))
