"""The rows of a table that a loader made, as the differential test compares them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.dataset.current_state import plain, to_rows
from tests.live.state import UNKNOWN, TableState
from tests.live.tables_at_end import TableAtEnd

_OWN = ("_commit_version", "_commit_timestamp", "_misfits", "_unknown")


def loaded_state(output: Path, life: Mapping[str, Any], table: TableAtEnd) -> TableState:
    """The rows of ``current/``; what ``_unknown`` lists is unknown.

    Args:
        output: the loader's.
        life: what its state says of the table.
        table: as the server has it.
    """
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
