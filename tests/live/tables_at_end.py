"""The tables that a server has, and how they differ from those that a data set or another server has."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from testdata.compare import normal, spell
from testdata.expected import describe_table, select_rows, tables_of
from testdata.servers import Server
from tests.live.state import UNKNOWN, TableState

Name = tuple[str, str]
MOST_REPORTED = 6


@dataclass(frozen=True, slots=True)
class TableAtEnd:
    """One table as the server describes it, and its rows as SELECT gives them."""

    description: dict[str, Any]
    rows: list[list[str | None]]


def read_tables(server: Server) -> dict[Name, TableAtEnd]:
    """All tables of a server but its own."""
    tables = {}
    for database, table in tables_of(server):
        description = describe_table(server, database, table)
        tables[database, table] = TableAtEnd(description, select_rows(server, database, table, description))
    return tables


def compare_servers(
    expected: dict[Name, TableAtEnd], found: dict[Name, TableAtEnd], *, json_as_values: bool
) -> list[str]:
    """How the tables after a replay differ from those before.

    Args:
        expected: the tables before.
        found: the tables after.
        json_as_values: take JSON documents for equal that mean the same; a text does not tell 99.0 from a
            DECIMAL with more zeros.
    """
    if expected.keys() != found.keys():
        return [
            f"tables {sorted(expected.keys() - found.keys())} are missing,"
            f" {sorted(found.keys() - expected.keys())} are new"
        ]
    differences = []
    for name, table in expected.items():
        ours = found[name]
        if table.description["create"] != ours.description["create"]:
            differences.append(
                f"{name} is\n{table.description['create']}\nand became\n{ours.description['create']}"
            )
        columns = table.description["columns"]
        wanted: list[list[object]] = [list(row) for row in table.rows]
        got: list[list[object]] = [list(row) for row in ours.rows]
        for place, column in enumerate(columns):
            if json_as_values and column["type"] == "json":
                for row in (*wanted, *got):
                    row[place] = None if row[place] is None else json.loads(str(row[place]))
        differences += _compare_rows(name, columns, wanted, got)
    return differences


def compare_state(name: Name, table: TableAtEnd, state: TableState, counts: dict[str, int]) -> list[str]:
    """How a table differs from the state that a data set leads to.

    Args:
        name: of the table.
        table: as the server has it.
        state: as the data set has it.
        counts: ``known`` and ``unknown`` values are counted in it.
    """
    columns = table.description["columns"]
    if not table.rows and not state.rows:
        return []
    if len(columns) != len(state.columns) and state.rows:
        return [f"{name}: columns {[column['name'] for column in columns]}, found {state.columns}"]
    names = [column["name"] for column in columns]
    if state.rows and names != state.names:
        return [f"{name}: columns are called {names}, found {state.names}"]
    types = [column["type"] for column in columns]
    wanted = [[normal(text, kind) for text, kind in zip(row, types, strict=True)] for row in table.rows]
    found = []
    for row in state.rows:
        values = [row.get(column, UNKNOWN) for column in state.columns]
        unknown = sum(value is UNKNOWN for value in values)
        counts["unknown"] += unknown
        counts["known"] += len(values) - unknown
        found.append(
            [
                value if value is UNKNOWN else spell(value, kind)
                for value, kind in zip(values, types, strict=True)
            ]
        )
    return _compare_rows(name, columns, wanted, found)


def _compare_rows(
    name: Name, columns: list[dict[str, Any]], wanted: list[list[object]], found: list[list[object]]
) -> list[str]:
    """Pair equal rows off, then say in which columns the most alike of the others differ."""
    # Rows that are known best choose first, so that an unknown value takes no other row's place.
    left = sorted(found, key=lambda row: sum(value is UNKNOWN for value in row))
    open_rows = list(wanted)
    unmatched = []
    for row in left:
        place = next((k for k, other in enumerate(open_rows) if _unequal(other, row) == 0), None)
        if place is None:
            unmatched.append(row)
        else:
            open_rows.pop(place)
    differences = []
    for row in open_rows[:MOST_REPORTED]:
        if not unmatched:
            differences.append(f"{name}: the row {_short(row)} is missing")
            continue
        nearest = min(unmatched, key=lambda other: _unequal(row, other))
        unmatched.remove(nearest)
        for column, value, other in zip(columns, row, nearest, strict=True):
            if other is not UNKNOWN and value != other:
                differences.append(
                    f"{name}: row {_short(row[:3])} column {column['name']!r} ({column['type'][:60]},"
                    f" {column['charset']}) is {_short(value)}, found {_short(other)}"
                )
    if len(open_rows) < MOST_REPORTED:
        differences += [f"{name}: the row {_short(row)} is new" for row in unmatched[:MOST_REPORTED]]
    return differences


def _unequal(row: list[object], other: list[object]) -> int:
    return sum(b is not UNKNOWN and a != b for a, b in zip(row, other, strict=True))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 300 else text[:297] + "..."
