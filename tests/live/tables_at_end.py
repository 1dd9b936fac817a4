"""The tables of a server at the end, beside those of a data set and of a lake, cell by cell."""

from __future__ import annotations

import json
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from testdata.compare import as_integers, normal, spell
from testdata.expected import describe_table, select_rows, tables_of
from testdata.servers import Server
from tests.dataset.current_state import plain, to_rows
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
    """How the tables after a replay differ from those before."""
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
    """How a table differs from the state that a data set leads to."""
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


_OWN = ("_commit_version", "_commit_timestamp", "_misfits", "_unknown")


def loaded_state(output: Path, life: Mapping[str, Any], table: TableAtEnd) -> TableState:
    """The rows of ``current/``; what ``_unknown`` lists is unknown."""
    parts = [pq.read_table(output / one["path"], partitioning=None) for one in life["ranges"]]
    content = pa.concat_tables(parts)
    columns = [name for name in content.column_names if name not in _OWN]
    rows = []
    for row in to_rows(content):
        misfits = dict(row.get("_misfits") or [])
        unknown = row["_unknown"] or []
        values = {name: misfits.get(name, plain(row[name])) for name in columns}
        rows.append({name: UNKNOWN if name in unknown else value for name, value in values.items()})
    return TableState(columns, [column["name"] for column in table.description["columns"]], rows)


def differences(
    server: Server, database: str, output: Path, *, without_current: Collection[str] = ()
) -> tuple[list[str], int]:
    """What differs between SELECT and ``current/``, and how many cells the lake says it does not know."""
    state = json.loads((output / "_state.json").read_text())
    lives = {tuple(one["name"]): one for one in state["lives"].values()}
    found: list[str] = []
    unknown = 0
    tables = [
        name
        for (name,) in server.query(
            f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{database}'"
        )
    ]
    for table in tables:
        assert table is not None
        described = describe_table(server, database, table)
        rows = select_rows(server, database, table, described)
        life = lives.pop((database, table), None)
        if life is None:
            if table not in without_current:
                found.append(f"{table}: not loaded")
            continue
        key = [place for place, one in enumerate(life["columns"]) if one["id"] in life["key"]]
        content = pa.concat_tables(_parts(output, life))
        listed, lacking = compare_rows(table, content, key, described, rows)
        found += listed
        unknown += lacking
    found += [f"{name}: loaded, but gone from the server" for name in lives if name[0] == database]
    return found, unknown


def compare_rows(
    table: str, content: pa.Table, key: list[int], described: dict[str, Any], rows: list[Any]
) -> tuple[list[str], int]:
    """What differs between SELECT and a content with a key in these columns, and how many cells it lacks."""
    columns = described["columns"]
    own = [name for name in content.column_names if name not in _LOADERS]
    if [name.rstrip("_") for name in own] != [column["name"].rstrip("_") for column in columns]:
        return [f"{table}: columns {own}, expected {[column['name'] for column in columns]}"], 0
    kinds = [column["type"] for column in columns]
    ours = _spelled(content, own, kinds)
    by_key = {repr([row[one] for one in key]): row for row in ours}
    found = [] if len(by_key) == len(ours) else [f"{table}: a key is there twice, or is not known"]
    unknown = 0
    for theirs in rows:
        wanted = [normal(text, kind) for text, kind in zip(theirs, kinds, strict=True)]
        place = repr([wanted[one] for one in key])
        for name, one, other in zip(own, by_key.pop(place, []) or [None] * len(own), wanted, strict=True):
            unknown += one is _HOLE
            if one is not _HOLE and repr(one) != repr(other):
                found.append(f"{table}[{place}].{name}: {one!r}, expected {other!r}")
    found += [f"{table}: the key {place} is gone from the server" for place in by_key]
    return found, unknown


def _parts(output: Path, life: dict[str, Any]) -> list[pa.Table]:
    return [pq.ParquetFile(output / one["path"]).read() for one in life["ranges"]]


def _spelled(content: pa.Table, own: list[str], kinds: list[str]) -> list[list[object]]:
    """The rows as SELECT would print them."""
    values = [as_integers(content.column(name)).to_pylist() for name in own]
    if "_misfits" in content.column_names:
        for row, misfits in enumerate(content.column("_misfits").to_pylist()):
            for name, text in misfits or ():
                values[own.index(name)][row] = text
    for row, names in enumerate(content.column("_unknown").to_pylist()):
        for name in names or ():
            values[own.index(name)][row] = _HOLE
    return [
        [one if one is _HOLE else spell(_stored(one), kind) for one, kind in zip(row, kinds, strict=True)]
        for row in zip(*values, strict=True)
    ]


def _stored(value: Any) -> Any:
    """Geometries and vectors as the bytes that a server has of them."""
    if isinstance(value, dict):
        return struct.pack("<I", value["srid"]) + value["wkb"]
    return struct.pack(f"<{len(value)}f", *value) if isinstance(value, list) else value


_HOLE = object()
_LOADERS = ("_commit_version", "_commit_timestamp", "_misfits", "_unknown")


def read_rows(output: Path, table: tuple[str, str]) -> list[dict[str, Any]]:
    """The rows of ``current/`` of a table."""
    state = json.loads((output / "_state.json").read_text())
    [life] = [one for one in state["lives"].values() if tuple(one["name"]) == table]
    return [row for part in _parts(output, life) for row in part.to_pylist()]
