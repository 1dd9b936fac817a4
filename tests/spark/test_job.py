"""How a load spreads its work over Spark's tasks."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.functions import spark_partition_id

from binx.spark.job import partition_keys


@pytest.mark.parametrize("count", [1, 2, 7, 64, 300])
def test_each_share_of_the_work_has_a_partition_of_its_own(spark: Any, count: int) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "false")
    keys = [(key,) for key in partition_keys(count)]
    spread = session.createDataFrame(keys, "slot int").repartition(count, "slot")
    found = [row[0] for row in spread.select(spark_partition_id()).collect()]
    assert sorted(found) == [*range(count)]
