"""The load as Spark runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from binx.spark.lake.model import LoadResult, Options, Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[int, int, str], None]
"""Called with the bytes done, all bytes, and what is being done."""


def load_tables(
    spark: SparkSession, plan: Plan, output: str, options: Options, progress: Progress
) -> LoadResult:
    """Write what a plan asks for below ``output``; nothing that was there is changed.

    Args:
        spark: the session; the driver and all executors have binx.
        plan: what to do.
        output: a folder or a URI of ``pyarrow.fs``.
        options: how.
        progress: told about each step.
    """
    raise NotImplementedError
