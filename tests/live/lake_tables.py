"""The tables of a lake beside those of a server, cell by cell."""

from __future__ import annotations

import json
import struct
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from testdata.compare import as_integers, normal, spell
from testdata.expected import describe_table, select_rows
from testdata.servers import Server


def differences(
    server: Server, database: str, output: Path, *, without_current: Collection[str] = ()
) -> tuple[list[str], int]:
    """What differs between SELECT and ``current/``, and how many cells the lake says it does not know.

    Args:
        server: what is right.
        database: whose tables are compared.
        output: the lake.
        without_current: tables that need not have rows here, as they are told to be stopped or have no key.
    """
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
