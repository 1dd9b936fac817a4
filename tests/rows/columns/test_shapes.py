"""Tables whose columns change without a statement: told wherever a log is cut into parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from binx.event.column import Column, ColumnType
from binx.event.table_map import TableMap
from binx.rows.resolving import Shapes

COLUMNS = {
    "one": (Column(ColumnType.LONG, 0, True),),
    "two": (Column(ColumnType.LONG, 0, True), Column(ColumnType.LONG, 0, True)),
    "longer": (Column(ColumnType.VARCHAR, 80, True),),
}

Event: TypeAlias = tuple[str, str, str]
"""What happens, to which database or table, and which columns a table has."""

NAMES = st.sampled_from(["shop", "Shop", "stock"])
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("row"), NAMES, st.sampled_from(sorted(COLUMNS))),
        st.tuples(st.sampled_from(["table", "database", "all"]), NAMES, st.just("")),
    ),
    max_size=20,
)


def table_map(database: str, columns: str) -> TableMap:
    return TableMap(1, 0, database, "t", b"", COLUMNS[columns], False, False, ())


def told_of(shapes: Shapes, events: Sequence[Event]) -> list[str]:
    told = []
    for kind, name, columns in events:
        if kind == "row":
            sentence = shapes.saw(table_map(name, columns))
            told += [] if sentence is None else [sentence]
        elif kind == "table":
            shapes.touch(name.casefold(), "t")
        elif kind == "database":
            shapes.touch_database(name.casefold())
        else:
            shapes.touch_all()
    return told


def test_other_columns_are_told_of() -> None:
    assert told_of(Shapes(), [("row", "shop", "one"), ("row", "shop", "one")]) == []
    (told,) = told_of(Shapes(), [("row", "shop", "one"), ("row", "Shop", "two")])
    assert told.startswith("the columns of Shop.t change, and no statement")


def test_a_statement_explains_them() -> None:
    for kind in ("table", "database", "all"):
        assert told_of(Shapes(), [("row", "shop", "one"), (kind, "shop", ""), ("row", "shop", "two")]) == []


@given(EVENTS, st.lists(st.integers(0, 20), max_size=3))
def test_parts_tell_together_what_the_whole_does(events: list[Event], cuts: list[int]) -> None:
    whole = told_of(Shapes(), events)
    together, told = Shapes(), []
    bounds = [0, *sorted(min(cut, len(events)) for cut in cuts), len(events)]
    for first, last in pairwise(bounds):
        part = Shapes()
        within = told_of(part, events[first:last])
        told += [*together.join(part), *within]
    assert sorted(told) == sorted(whole)
