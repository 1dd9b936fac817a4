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
