"""Spark: load data sets into tables, and read binary logs and data sets as Spark data sources."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from binx.errors import BinxError
from binx.version import install_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Register the formats ``binlog`` (logs) and ``binx`` (data sets) in a session.

    See :mod:`binx.spark.source.data_source` and :mod:`binx.spark.source.data_set`.

    Raises:
        BinxError: pyspark is missing or older than 4.0.
    """
    from binx.spark.session import check_pyspark

    check_pyspark()
    try:
        from binx.spark.source.data_source import register as register_source
    except ImportError as error:
        raise BinxError(
            f"this pyspark does not have data sources in Python ({error}); version 4.0 or later is needed:"
            f" `{sys.executable} -m {install_command('spark')}`"
        ) from error
    register_source(spark)
