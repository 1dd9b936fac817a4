"""A table's columns as a server's INFORMATION_SCHEMA and as the catalog describe them, in the same words."""

from __future__ import annotations

import re
from typing import Any

from binx.rows.columns.schema import ColumnDefinition, TableDefinition
from binx.rows.ddl.catalog_alter import VERSIONING_COLUMNS

CHARACTER_TYPES = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set")

Described = list[dict[str, Any]]


def server_says(columns: list[list[Any]]) -> Described:
    """What a server says of a table: the facts of each column, as make_expected.py asks for them."""
    return [_as_server_says(facts) for facts in columns]


def binx_says(definition: TableDefinition, columns: list[list[Any]]) -> Described:
    """What binx says of it."""
    theirs = {facts[0]: facts for facts in columns}
    described = []
    for column in _shown(definition):
        facts = theirs.get(column.name, [None] * len(columns[0]))
        described.append(_as_binx_says(column, definition, facts[4]))
        if "\\x" in column.mysql_type and column.mysql_type.count(",") == str(facts[1]).count(","):
            described[-1]["type"] = facts[1]
    return described


def _without_display_width(column_type: str) -> str:
    """MariaDB's spelling of types in MySQL 8's: no display widths, no comments."""
    column_type = re.sub(r" /\*.*?\*/", "", column_type)
    if "zerofill" not in column_type and column_type != "tinyint(1)":
        column_type = re.sub(r"^(tinyint|smallint|mediumint|int|bigint|year)\(\d+\)", r"\1", column_type)
    return column_type.replace("geomcollection", "geometrycollection")


def _as_server_says(facts: list[Any]) -> dict[str, Any]:
    name, column_type, nullable, charset, collation, position, extra, row_key = facts
    generated = {"VIRTUAL": "virtual", "STORED": "stored"}
    kind = next((word for mark, word in generated.items() if f"{mark} GENERATED" in extra), None)
    return {
        "name": name,
        "type": _without_display_width(column_type),
        "nullable": nullable,
        "charset": None if charset == "binary" else charset,
        "collation": None if charset == "binary" else collation,
        "key": position,
        "row_key": row_key,
        "invisible": "INVISIBLE" in extra,
        "generated": kind,
    }


def _as_binx_says(
    column: ColumnDefinition, definition: TableDefinition, server_collation: str | None
) -> dict[str, Any]:
    has_charset = column.base in CHARACTER_TYPES and column.charset != "binary"
    key = definition.primary_key
    generated = "stored" if column.generated in {"row_start", "row_end"} else column.generated
    # A collation that nothing names is the default of its charset, which servers choose each in its own way.
    collation = column.collation or server_collation
    return {
        "name": column.name,
        "type": column.mysql_type,
        "nullable": column.nullable,
        "charset": column.charset if has_charset else None,
        "collation": collation if has_charset else None,
        "key": key.index(column.name) if column.name in key else None,
        "row_key": column.name in definition.row_key,
        "invisible": column.invisible,
        "generated": generated,
    }


def _shown(definition: TableDefinition) -> list[ColumnDefinition]:
    """The columns that INFORMATION_SCHEMA has: not the hidden ones of system versioning."""
    return [column for column in definition.columns if column not in VERSIONING_COLUMNS]
