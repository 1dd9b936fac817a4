"""``binx state``: what is asked for, and how it is refused."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx


@pytest.mark.parametrize(("key", "code"), [("status", 2), ("id", 0)])
def test_another_key_than_the_primary_key_is_refused(shop: Shop, key: str, code: int) -> None:
    ended = binx("state", *shop.logs, "--table", "shop.orders", "--key", key, "--format", "csv")
    assert ended.code == code
    assert ("rows of shop.orders are told apart by its key id: leave out --key" in ended.err) == (code == 2)


def test_times_of_moments_are_in_the_zone_that_times_are_listed_in(shop: Shop) -> None:
    state = ("state", "--table", "shop.orders", "--format", "csv")
    in_utc = binx(*state, "--at", "2026-11-21T09:48:53Z", *shop.logs)
    assert in_utc.code == 0
    east = binx(*state, "--at", "2026-11-21 14:48:53", "--tz", "+05:00", *shop.logs)
    assert (east.out, east.err) == (in_utc.out, in_utc.err)
    zone = {"BINX_TZ": "America/New_York"}
    west = binx(*state, "--at", "2026-11-21 04:48:53", *shop.logs, env=zone)
    assert (west.out, west.err) == (in_utc.out, in_utc.err)
    # In this hour, clocks there show each time twice.
    doubtful = binx(*state, "--at", "2026-11-01 01:30", *shop.logs, env=zone)
    assert (doubtful.code, doubtful.out) == (2, "")
    assert "write its offset" in doubtful.err
