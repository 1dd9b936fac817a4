"""GTIDs that a chain should hold and does not."""

from __future__ import annotations

import pytest

from binx.event.gtid.sets import GtidSet
from binx.log.chain.chain import missing_gtids

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
B = "4e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    ("logged", "previous", "missing"),
    [
        (f"{A}:1-10", [""], ""),
        (f"{A}:1-10:12-20", [""], f"{A}:11"),
        (f"{A}:101-200", [f"{A}:1-100"], ""),
        (f"{A}:105-200", [f"{A}:1-100"], f"{A}:101-104"),
        (f"{A}:11-20", [f"{A}:1-5:8-10"], ""),
        (f"{A}:11-20", [f"{A}:1-5:8"], f"{A}:9-10"),
        (f"{A}:11-20:31-40", [f"{A}:1-10", f"{A}:1-30"], f"{A}:21-30"),
        (f"{A}:11-20", [f"{A}:1-10,{B}:1-7"], ""),
        (f"{A}:1-5:7,{B}:tag:2:4", [None], f"{A}:6,{B}:tag:3"),
        ("0-1-1..10,0-2-11..20,0-1-21..30", [None], ""),
        ("0-1-1..10,0-2-13..20", [None], "0-2-11..12"),
        ("0-1-1..10,7-1-100..110", [None], ""),
    ],
)
def test_holes_are_found_and_what_was_before_is_not_reported(
    logged: str, previous: list[str | None], missing: str
) -> None:
    before = [None if text is None else GtidSet.parse(text) for text in previous]
    assert missing_gtids(GtidSet.parse(logged), before) == GtidSet.parse(missing)
