"""The rows of a table that a loader made, as the differential test compares them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testdata.compare import read_parquet, spell
from tests.dataset.current_state import Row, plain, to_rows
from tests.live.state import UNKNOWN, TableState
from tests.live.tables_at_end import TableAtEnd

_OWN = ("_commit_version", "_commit_timestamp", "_misfits")


def loaded_state(folder: Path, entry: Mapping[str, Any], known: TableState, table: TableAtEnd) -> TableState:
    """The rows of ``current/``; null where the log does not have a value counts as unknown.

    Args:
        folder: the snapshot's.
        entry: what the loader's state says of the table.
        known: the state that the log leads to, which tells what it does not have.
        table: as the server has it.
    """
    content = read_parquet(folder)
    columns = [name for name in content.column_names if name not in (*_OWN, *entry["apart"])]
    described = table.description["columns"]
    kinds = {name: column["type"] for name, column in zip(columns, described, strict=False)}

    def place(row: Row) -> tuple[object, ...]:
        return tuple(spell(row.get(name), kinds[name]) for name in entry["key"])

    holes = {
        place(row): {name for name, value in row.items() if value is UNKNOWN}
        for row in known.rows
        if not any(row.get(name, UNKNOWN) is UNKNOWN for name in entry["key"])
    }
    rows = []
    for row in to_rows(content):
        misfits = dict(row.get("_misfits") or [])
        values = {name: misfits.get(name, plain(row[name])) for name in columns}
        unknown = holes.get(place(values), set())
        rows.append(
            {name: UNKNOWN if value is None and name in unknown else value for name, value in values.items()}
        )
    return TableState(columns, [column["name"] for column in described], rows)
