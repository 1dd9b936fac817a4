"""GTIDs that are gathered in runs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.event.gtid.sets import GtidSet
from binx.log.identifiers import source_of
from binx.stats import sums as gtids_module
from binx.stats.sums import GtidCollector

KEYS = [bytes(range(16)), bytes(16), b"\1\0\0\0\2\0\0\0"]
runs = st.lists(
    st.tuples(st.sampled_from(KEYS), st.integers(1, 200), st.integers(0, 9)).map(
        lambda run: (run[0], run[1], run[1] + run[2])
    )
)


@given(st.lists(runs, max_size=30))
def test_runs_add_up_to_their_union(pages: Sequence[Sequence[tuple[bytes, int, int]]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gtids_module, "_PENDING_LEAST", 3)
        collector = GtidCollector()
        expected = GtidSet()
        for page in pages:
            collector.add(page)
            expected |= GtidSet((source_of(key), first, last) for key, first, last in page)
        assert collector.gtids() == expected


def test_too_many_intervals_are_given_up_and_not_cut_short() -> None:
    collector = GtidCollector(limit=2)
    collector.add([(KEYS[0], 1, 1), (KEYS[0], 3, 3), (KEYS[0], 2, 2), (KEYS[0], 9, 9)])
    found = collector.gtids()
    assert found is not None
    assert str(found).endswith(":1-3:9")
    collector.add([(KEYS[0], 20, 20)])
    assert collector.gtids() is None
    collector.add([(KEYS[0], 4, 19)])
    assert collector.gtids() is None
