"""Numbers and nouns in messages."""

from __future__ import annotations

import pytest

from binx.source.wording import counted


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (2_030_000, "2,030,000 rows")]
)
def test_what_is_counted_is_in_the_plural_where_there_is_not_one(number: int, text: str) -> None:
    assert counted(number, "row") == text
