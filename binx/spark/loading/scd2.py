"""Every version of each row with the time that it held: a slowly changing dimension of type 2.

A version begins and ends at commit times; of several changes within one transaction only the last was ever
seen by others, so only that one counts. What a table held before it was last truncated or dropped is in
history, not here.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from .events import MISFITS, ORDER, RANK, Events
from .names import named
from .state import GONE, completed_images

VERSION_COLUMNS = ("valid_from", "valid_to", "is_current")


def versions(events: Events, key: Sequence[str]) -> DataFrame:
    """All versions of all rows.

    Columns: the table's (one that is called like one of the following gets a ``_`` appended), ``_misfits``
    where there can be any, ``_commit_version``, ``valid_from``, ``valid_to`` (null while it holds),
    ``is_current``.
    """
    images = completed_images(events, key)
    by_key = Window.partitionBy(*map(named, key)).orderBy(*ORDER)
    following = F.lead(F.struct(RANK, "_commit_version")).over(by_key)
    transaction = F.struct(RANK, "_commit_version")
    last = images.withColumn("_following", following).where(~transaction.eqNullSafe(F.col("_following")))
    ended = F.lead("_commit_timestamp").over(by_key)
    more = F.lead("_commit_version").over(by_key).isNotNull()
    spans = last.withColumn("_ended", ended).withColumn("_more", more).where(~F.col(GONE))
    columns = [
        named(name).alias(f"{name}_" if name.lower() in VERSION_COLUMNS else name) for name in events.columns
    ]
    misfits = [F.col(MISFITS)] if events.misfits else []
    return spans.select(
        *columns,
        *misfits,
        "_commit_version",
        F.col("_commit_timestamp").alias("valid_from"),
        F.col("_ended").alias("valid_to"),
        (~F.col("_more")).alias("is_current"),
    )
