"""Rows read from Parquet, spelled as the server's SELECT spells them, and compared with what it said.

The types are those of the server's tables, so that it does not matter who wrote the Parquet: binx, or
Spark, which reads a duration as a number and a dictionary as text.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

EPOCH = dt.datetime(1970, 1, 1)

SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """How one table's rows compare.

    Attributes:
        table: ``db.table``.
        rows: rows that SELECT returned.
        missing: rows of SELECT that are not in the Parquet.
        unexpected: rows in the Parquet that SELECT did not return.
    """

    table: str
    rows: int
    missing: list[list[object]]
    unexpected: list[list[object]]

    @property
    def equal(self) -> bool:
        """Whether both hold the same rows."""
        return not self.missing and not self.unexpected


def compare_shop(shop: Path, folder_of: Callable[[str, str], Path]) -> Iterator[Comparison]:
    """Compare every table whose state follows from row changes.

    Args:
        shop: a folder of this testdata with ``expected/``.
        folder_of: where a table's current rows are, by database and table.
    """
    tables = json.loads((shop / "expected" / "tables.json").read_text("utf-8"))["tables"]
    for name, expected in tables.items():
        if expected["state_from_rows"]:
            lines = (shop / "expected" / expected["file"]).read_text("utf-8").splitlines()
            content = read_parquet(folder_of(*name.split(".", 1)))
            yield compare(name, content, expected["columns"], [json.loads(line) for line in lines])


def read_parquet(folder: Path) -> pa.Table:
    """All Parquet files of a folder."""
    files = sorted(path for path in folder.glob("*.parquet") if not path.name.startswith("_"))
    return pa.concat_tables(
        [pq.read_table(path, partitioning=None) for path in files], promote_options="default"
    )


def compare(
    name: str, content: pa.Table, columns: list[dict[str, Any]], rows: list[list[str | None]]
) -> Comparison:
    """Compare rows whatever their order."""
    types = [column["type"] for column in columns]
    values = [as_integers(content.column(column["name"])).to_pylist() for column in columns]
    with_misfits(values, content, columns)
    found = [
        [spell(value, kind) for value, kind in zip(row, types, strict=True)]
        for row in zip(*values, strict=True)
    ]
    wanted = [[normal(text, kind) for text, kind in zip(row, types, strict=True)] for row in rows]
    keys_found, keys_wanted = {repr(row) for row in found}, {repr(row) for row in wanted}
    return Comparison(
        table=name,
        rows=len(wanted),
        missing=[row for row in wanted if repr(row) not in keys_found],
        unexpected=[row for row in found if repr(row) not in keys_wanted] + found[len(wanted) :],
    )


def with_misfits(values: list[list[Any]], content: pa.Table, columns: list[dict[str, Any]]) -> None:
    """Put the texts of values that their type cannot hold, such as partial dates, in their places."""
    if "_misfits" not in content.column_names:
        return
    names = [column["name"] for column in columns]
    for row, misfits in enumerate(content.column("_misfits").to_pylist()):
        for name, text in misfits or ():
            values[names.index(name)][row] = text


def as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as microseconds, which Python's own types cannot all hold."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64())
    return column.cast(pa.int64()) if pa.types.is_duration(column.type) else column


def spell(value: Any, mysql_type: str) -> object:
    """A value from Parquet as it is compared."""
    base = base_of(mysql_type)
    if value is None or isinstance(value, str):
        return normal(value, mysql_type)
    if base in ("datetime", "timestamp"):
        return normal(datetime_text(value), mysql_type)
    if base == "time":
        return normal(time_text(value), mysql_type)
    if base in ("float", "double", "year"):
        return normal(str(value), mysql_type)
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value)


def normal(text: str | None, mysql_type: str) -> object:
    """A text of SELECT as it is compared: fractions without trailing zeros, floating point as numbers."""
    if text is None:
        return None
    base = base_of(mysql_type)
    if base in ("float", "double"):
        return float(text)
    if base == "year":
        return int(text)
    if base in ("time", "datetime", "timestamp") and "." in text:
        return text.rstrip("0").rstrip(".")
    return text


def base_of(mysql_type: str) -> str:
    """``decimal`` of ``decimal(10,2) unsigned``."""
    return mysql_type.split("(", maxsplit=1)[0].split(" ", maxsplit=1)[0]


def datetime_text(microseconds: int) -> str:
    """``2026-03-02 09:08:32.25``."""
    moment = EPOCH + dt.timedelta(microseconds=microseconds)
    fraction = f".{moment.microsecond:06d}" if moment.microsecond else ""
    return f"{moment.year:04d}-{moment:%m-%d %H:%M:%S}{fraction}"


def time_text(microseconds: int) -> str:
    """``-838:59:59.5``."""
    sign = "-" if microseconds < 0 else ""
    seconds, fraction = divmod(abs(microseconds), SECOND)
    text = f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:06d}" if fraction else text
