"""Digests of transactions by GTID, held against a dictionary."""

from __future__ import annotations

import pyarrow as pa
import pytest

from binx.compare.contents import DIGEST_BYTES, Digests, GtidKeys

GTIDS = [
    "bf1c133d-e590-11f1-8de0-02fc00000001:1",
    "bf1c133d-e590-11f1-8de0-02fc00000001:tag:1",
    "bf1c133d-e590-11f1-8de0-02fc00000001:9223372036854775806",
    "bf1c133d-e590-11f1-8de0-02fc00000002:1",
    "0-1-100",
    "1-1-100",
    "0-4294967295-18446744073709551615",
]


@pytest.mark.parametrize("gtid", GTIDS)
def test_a_gtid_comes_back_as_it_was(gtid: str) -> None:
    keys = GtidKeys()
    found = [keys.key(one) for one in GTIDS]
    assert len(set(found)) == len(GTIDS)
    assert keys.gtid(keys.key(gtid)[1]) == gtid


def test_what_differs_from_the_others_first_is_told_both_ways() -> None:
    keys = GtidKeys()
    left, right = Digests(keys), Digests(keys)
    digests = [bytes([number]) * DIGEST_BYTES for number in range(4)]
    for gtid in GTIDS:
        left.add(gtid, digests[0])
    for gtid in (*GTIDS[:2], GTIDS[4], "3-1-1"):
        right.add(gtid, digests[gtid == GTIDS[1]])
    right.add(GTIDS[4], digests[2])
    assert set(left.different(right)) == {GTIDS[1], GTIDS[4]}
    assert set(right.different(left)) == {GTIDS[1], GTIDS[4]}


def test_a_transaction_takes_little_memory() -> None:
    """Its key of 12 bytes and its digest of 16; what serves to compare is that of a part of them."""
    count = 100_000
    before = pa.total_allocated_bytes()
    keys = GtidKeys()
    sides = [Digests(keys), Digests(keys)]
    for number in range(1, count + 1):
        for side in sides:
            side.add(f"bf1c133d-e590-11f1-8de0-02fc00000001:{number}", b"\7" * DIGEST_BYTES)
    assert pa.total_allocated_bytes() - before < count * len(sides) * 32
    assert list(sides[0].different(sides[1])) == []
    assert pa.total_allocated_bytes() - before < count * len(sides) * 32
