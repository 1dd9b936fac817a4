"""The state that a data set's changes lead to, row by row, for tables with a key and without.

It knows Parquet, the rules of the data set's columns and the few schema statements that the random workload
makes, and nothing of the code that wrote them. What a log does not have, such as the defaults that a minimal
image leaves out, stays unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.dataset.current_state import ORDER, Row, listed_files, plain, to_rows, undone

Name = tuple[str, str]

SYSTEM = (
    "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp",
    "_position", "_statement", "_present", "_json_diff", "_misfits",
)  # fmt: skip

_PLACE = r"`((?:[^`]|``)+)`\.`((?:[^`]|``)+)`"
_GONE = re.compile(rf"(?:TRUNCATE|DROP|CREATE OR REPLACE) TABLE {_PLACE}")
_DROPPED = re.compile(r'DROP TABLE "((?:[^"]|"")+)"\."((?:[^"]|"")+)"')
_RENAME = re.compile(rf"(?:RENAME|ALTER) TABLE {_PLACE} (?:RENAME )?TO {_PLACE}")
_RENAMED = re.compile(rf"{_PLACE} (?:RENAME )?TO {_PLACE}")
_ALTER = re.compile(rf"ALTER TABLE {_PLACE}")


class Unknown:
    """A value that the log does not have."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = Unknown()


@dataclass(frozen=True, slots=True)
class Image:
    """One row image."""

    table: Name
    change: str
    columns: list[str]
    values: Row
    differing: list[str]
    place: tuple[int, int]
    names: list[str]
    computed: frozenset[str]


@dataclass(slots=True)
class TableState:
    """The rows of a table."""

    columns: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    absent: str | None = None
    ambiguous: bool = False

    def forget(self) -> None:
        """A statement may have changed values without saying how."""
        self.rows = [dict.fromkeys(row, UNKNOWN) for row in self.rows]

    def apply(self, image: Image, before: Row | None) -> Row | None:
        """Take in one image; returns the row that an update's first image took out."""
        self.columns, self.names = image.columns, image.names
        if self.absent is not None:
            return None
        if image.change in ("delete", "update_preimage"):
            return self._take(image)
        row: Row = dict.fromkeys(image.columns, UNKNOWN)
        # A computed column that the image lacks may have changed with the others.
        row |= {name: value for name, value in (before or {}).items() if name in row.keys() - image.computed}
        row |= image.values
        self.rows.append(row | dict.fromkeys(image.differing, UNKNOWN))
        return None

    def _take(self, image: Image) -> Row | None:
        """Take out the row that has the most of what an image says, and nothing else."""
        best, place = -1, -1
        candidates: list[Row] = []
        for number, row in enumerate(self.rows):
            agreeing = 0
            for name, value in image.values.items():
                known = row.get(name, UNKNOWN)
                if known is UNKNOWN or name in image.computed:
                    continue
                if known != value:
                    break
                agreeing += 1
            else:
                if agreeing > best:
                    best, place = agreeing, number
                if agreeing == len(image.values.keys() - image.computed):
                    candidates = [row]
                    break
                candidates.append(row)
        self.ambiguous |= any(row != candidates[0] for row in candidates)
        if place < 0:
            self.absent = self._explain(image)
            return None
        return self.rows.pop(place) | image.values

    def _explain(self, image: Image) -> str:
        """The row that comes nearest, by the columns in which it differs."""

        def differing(row: Row) -> dict[str, tuple[Any, Any]]:
            return {
                name: (row[name], value)
                for name, value in image.values.items()
                if row.get(name, UNKNOWN) is not UNKNOWN and row[name] != value and name not in image.computed
            }

        nearest = min((differing(row) for row in self.rows), key=len, default=None)
        return (
            f"{image.table}: the row of {image.change} at {image.place} is not there;"
            f" the nearest of {len(self.rows)} differs in {nearest}"
        )


def final_state(folder: Path) -> dict[Name, TableState]:
    """What each table of a data set holds in the end."""
    tables: dict[Name, TableState] = {}
    items: list[tuple[tuple[int, int, int], Image | str]] = [*_images(folder), *_statements(folder)]
    before: Row | None = None
    for _, item in sorted(items, key=lambda item: item[0]):
        if isinstance(item, str):
            _follow(tables, item)
        else:
            state = tables.setdefault(item.table, TableState())
            before = state.apply(item, before if item.change == "update_postimage" else None)
    return tables


def _images(folder: Path) -> Iterator[tuple[tuple[int, int, int], Image]]:
    rolled_back = undone(folder)
    for entry in listed_files(folder, "changes"):
        content = pq.read_table(folder / entry["path"], partitioning=None)
        columns = [name for name in content.column_names if name not in SYSTEM]
        record = _schema_record(folder, entry, content)
        names = [column["source_name"] for column in record]
        computed = frozenset(column["name"] for column in record if column["generated"])
        content = content.set_column(0, "_change_type", content.column(0).cast(pa.string()))
        for row in to_rows(content):
            if row["_transaction"] not in rolled_back:
                change = row["_change_type"]
                differing = list(json.loads(row.get("_json_diff") or "{}"))
                place = (row["_commit_version"], row["_row"])
                values = _present_values(row, columns)
                yield (
                    (*place, ORDER[change]),
                    Image(
                        (entry["db"], entry["table"]),
                        change,
                        columns,
                        values,
                        differing,
                        place,
                        names,
                        computed,
                    ),
                )


def _schema_record(folder: Path, entry: dict[str, Any], content: pa.Table) -> list[dict[str, Any]]:
    """The columns by the schema record that a file's metadata names."""
    version = content.schema.metadata[b"binx.schema_version"].decode()
    records = folder / "schemas" / Path(entry["path"]).parent.relative_to("changes")
    columns: list[dict[str, Any]] = json.loads((records / f"{version}.json").read_text("utf-8"))["columns"]
    return columns


def _statements(folder: Path) -> Iterator[tuple[tuple[int, int, int], str]]:
    for entry in listed_files(folder, "statements"):
        content = pq.read_table(folder / entry["path"])
        for row in content.select(["commit_version", "ordinal", "sql", "kind"]).to_pylist():
            if row["kind"] == "ddl":
                yield (row["commit_version"], -1, row["ordinal"]), row["sql"]


def _follow(tables: dict[Name, TableState], sql: str) -> None:
    """Do to the states what a schema statement does to the tables."""
    if _RENAME.match(sql):
        for renamed in _RENAMED.finditer(sql):
            names = [part.replace("``", "`") for part in renamed.groups()]
            state = tables.pop((names[0], names[1]), None)
            if state is not None:
                tables[names[2], names[3]] = state
    elif found := _GONE.match(sql):
        tables.pop(_name(found), None)
    elif found := _DROPPED.match(sql):
        # MySQL writes a DROP TABLE again, in the session's own quotes.
        tables.pop((found[1].replace('""', '"'), found[2].replace('""', '"')), None)
    elif (found := _ALTER.match(sql)) and _name(found) in tables:
        tables[_name(found)].forget()


def _name(found: re.Match[str]) -> Name:
    return found[1].replace("``", "`"), found[2].replace("``", "`")


def _present_values(row: dict[str, Any], columns: list[str]) -> Row:
    """The values that an image has; texts of misfits in place of their nulls."""
    misfits = dict(row.get("_misfits") or [])
    present = row["_present"]
    return {
        name: misfits.get(name, plain(row[name]))
        for place, name in enumerate(columns)
        if present is None or present[place // 8] >> (place % 8) & 1
    }
