"""Columns by their names."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom


def named(name: str) -> Column:
    """A column whose name may hold dots or backquotes."""
    return F.col("`" + name.replace("`", "``") + "`")
