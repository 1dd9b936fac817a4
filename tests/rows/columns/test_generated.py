"""Generated columns that updates of MariaDB change although their images lack them."""

from __future__ import annotations

import pytest

from binx.rows.columns.generated import unlogged_changes
from tests.rows.columns.test_names import defined

SQL = """CREATE TABLE orders (id INT PRIMARY KEY, N INT, text VARCHAR(9), s INT AS (`n` * 2) STORED,
v INT AS (length(TEXT)), both_of_them INT AS (s + v) PERSISTENT, ever INT AS (1 + 1) VIRTUAL)"""


@pytest.mark.parametrize(
    ("version", "stored", "both"),
    [((10, 11, 19), None, None), ((11, 8, 9), ("N",), ("N", "text"))],
    ids=["logged if they change", "never logged with updates"],
)
def test_a_generated_column_changes_with_what_it_is_computed_from(
    version: tuple[int, int, int], stored: tuple[str, ...] | None, both: tuple[str, ...] | None
) -> None:
    columns = unlogged_changes(defined(SQL).columns, version)
    assert columns == [None, None, None, stored, ("text",), both, ()]


def test_a_column_without_a_definition_is_no_generated_one() -> None:
    assert unlogged_changes([None, *defined(SQL).columns[:1]], (11, 8, 9)) == [None, None]
