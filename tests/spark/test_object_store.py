"""An output in an object store: its lock is a file that each writer announces."""

from __future__ import annotations

import pytest

from binx.errors import OutputError
from binx.spark.lake.place import Place
from tests.object_store import Bucket, object_store

pytest.importorskip("pyspark")


def test_of_two_loads_one_gives_way() -> None:
    with object_store() as service:
        bucket = Bucket(service, "locks")
        place = Place(bucket.place("tables"))
        with place.locked(broken=False):
            with pytest.raises(OutputError, match="--break-lock"), place.locked(broken=False):
                pytest.fail("both hold it")
            with place.locked(broken=True):
                pass
        with place.locked(broken=False):
            pass
