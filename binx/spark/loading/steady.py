"""Whether updates left the key alone: then the images before them say nothing about the state.

Of an update that changes no column of the key, the image before it and the one after it have the same place
in the log and the same key, so the exclusive or of two hashes over both is 0. Over any number of such updates
it stays 0; one update that moves a row to another key makes it something else but for one chance in 2**128.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from .names import named

MARKS = ("steady_1", "steady_2")


def changed_marks(key: Sequence[str]) -> list[Column]:
    """Aggregates over row images that :func:`are_steady` judges; none without a key."""
    if not key:
        return []
    columns = [named(name) for name in key]
    # Hashes pass over null, so that (null, 1) and (1, null) would be alike.
    place = [F.col("_commit_version"), F.col("_row"), *columns, *[column.isNull() for column in columns]]
    updated = F.col("_change_type").isin("update_preimage", "update_postimage")
    return [
        F.bit_xor(F.when(updated, F.xxhash64(F.lit(number), *place))).alias(mark)
        for number, mark in enumerate(MARKS)
    ]


def are_steady(found: Mapping[str, Any]) -> bool:
    """Whether no update changed the key, by the aggregates' values."""
    return all(mark in found and not found[mark] for mark in MARKS)


def without_preimages(rows: DataFrame) -> DataFrame:
    """The images that decide the state where no update changed the key."""
    return rows.where(F.col("_change_type") != "update_preimage")
