"""What transactions did to rows: alike however it is logged, and other wherever a row is."""

from __future__ import annotations

from typing import Any

import pytest

from binx.compare.effects import Effect, Verdict, compared


def effect(*rows: tuple[str, dict[str, Any] | None, dict[str, Any] | None], table: str = "t") -> Effect:
    """What a transaction of some changes did."""
    made = Effect()
    for kind, before, after in rows:
        made.take_row({"type": kind, "db": "d", "table": table, "before": before, "after": after})
    return made


def insert(**columns: Any) -> tuple[str, None, dict[str, Any]]:
    return "insert", None, columns


def delete(**columns: Any) -> tuple[str, dict[str, Any], None]:
    return "delete", columns, None


def update(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    return "update", before, after


ONE, TWO = {"c1": 1, "c2": "a"}, {"c1": 1, "c2": "b"}
OTHER = {"c1": 2, "c2": "a"}

Change = tuple[str, dict[str, Any] | None, dict[str, Any] | None]
PAIRS: dict[str, tuple[list[Change], list[Change], Verdict]] = {
    "rows in another order": (
        [delete(**ONE), delete(**OTHER)],
        [delete(**OTHER), delete(**ONE)],
        Verdict.SAME,
    ),
    "an update as delete and insert": ([update(ONE, TWO)], [delete(**ONE), insert(**TWO)], Verdict.SAME),
    "a row twice": ([delete(**ONE), delete(**ONE)], [delete(**ONE)], Verdict.DIFFERENT),
    "another value": ([insert(**ONE)], [insert(**TWO)], Verdict.DIFFERENT),
    "an update the other way": ([update(ONE, TWO)], [update(TWO, ONE)], Verdict.DIFFERENT),
    "a minimal image": (
        [update(ONE, TWO)],
        [update({"c1": 1}, {"c2": "b"})],
        Verdict.OTHER_COLUMNS,
    ),
    "a minimal image with another value": (
        [update(ONE, TWO)],
        [update({"c1": 1}, {"c2": "c"})],
        Verdict.DIFFERENT,
    ),
    "a minimal image that lacks a change": (
        [update({"c1": 1, "c2": "a", "c3": 1}, {"c1": 1, "c2": "b", "c3": 2})],
        [update({"c1": 1}, {"c2": "b"})],
        Verdict.DIFFERENT,
    ),
    "minimal images of one row in another order": (
        [update({"c1": 1}, {"c2": 5}), update({"c1": 1}, {"c2": 6})],
        [update({"c1": 1}, {"c2": 6}), update({"c1": 1}, {"c2": 5})],
        Verdict.DIFFERENT,
    ),
    "minimal images whose values changed places": (
        [update({"c1": 1}, {"c2": 5}), update({"c1": 2}, {"c2": 6})],
        [update({"c1": 1}, {"c2": 6}), update({"c1": 2}, {"c2": 5})],
        Verdict.DIFFERENT,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_rows(name: str) -> None:
    one, other, verdict = PAIRS[name]
    assert compared(effect(*one), effect(*other)).verdict is verdict
    assert compared(effect(*other), effect(*one)).verdict is verdict


def test_rows_of_another_table_are_others() -> None:
    assert compared(effect(insert(**ONE)), effect(insert(**ONE), table="u")).verdict is Verdict.DIFFERENT


def test_statements_and_rows_cannot_be_compared() -> None:
    text = Effect()
    text.texts.append(("d", "INSERT INTO t VALUES (1)"))
    assert compared(text, effect(insert(**ONE))).verdict is Verdict.NOT_COMPARED
    assert compared(text, Effect()).verdict is Verdict.NOT_COMPARED
    other = Effect()
    other.texts.append(("d", "INSERT INTO t VALUES (2)"))
    assert compared(text, other).verdict is Verdict.DIFFERENT


def test_more_rows_than_are_kept_are_compared_by_their_sums() -> None:
    rows = [insert(c1=number) for number in range(3000)]
    assert compared(effect(*rows), effect(*reversed(rows))).verdict is Verdict.SAME
    assert compared(effect(*rows), effect(*rows[1:])).verdict is Verdict.DIFFERENT
    fewer = [insert(c1=number, c2=1) for number in range(3000)]
    assert compared(effect(*rows), effect(*fewer)).needs_rows
