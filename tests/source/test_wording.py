"""Numbers and nouns in messages."""

from __future__ import annotations

import pytest

from binx.source.wording import counted, listed


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (2_030_000, "2,030,000 rows")]
)
def test_what_is_counted_is_in_the_plural_where_there_is_not_one(number: int, text: str) -> None:
    assert counted(number, "row") == text


def test_of_many_names_the_first_are_listed() -> None:
    assert listed({"a": 1, "b": 2}, 2) == "a, b"
    assert listed([f"t{number}" for number in range(1202)], 2) == "t0, t1 and 1,200 more"
