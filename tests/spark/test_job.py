"""How a load spreads its work over Spark's tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.functions import spark_partition_id

from binx.spark.job import partition_keys
from tests.lake.conftest import Load
from tests.lake.test_history import two_tables


@pytest.mark.parametrize("count", [1, 2, 7, 64, 300])
def test_each_share_of_the_work_has_a_partition_of_its_own(spark: Any, count: int) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "false")
    keys = [(key,) for key in partition_keys(count)]
    spread = session.createDataFrame(keys, "slot int").repartition(count, "slot")
    found = [row[0] for row in spread.select(spark_partition_id()).collect()]
    assert sorted(found) == [*range(count)]


def test_jobs_say_which_tables_they_are_about(spark: Any, load: Load, tmp_path: Path) -> None:
    server = two_tables()
    server.export_all(tmp_path / "in")
    load(tmp_path / "in", tmp_path / "out")
    images = sum(len(log.images) for log in server.logs)
    tracker = spark.sparkContext.statusTracker()
    jobs = tracker.getJobIdsForGroup(f"binx load {tmp_path / 'out'}")
    store = spark.sparkContext._jsc.sc().statusStore()
    described = {store.job(number).description().get() for number in jobs}
    assert described == {
        f"binx load: copy {images} row images to history of shop.orders, shop.visits",
        f"binx load: merge {images} row images of shop.orders, shop.visits",
    }
