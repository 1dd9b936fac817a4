"""What a server says about its tables and its logs, in files that tests compare with."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from testdata.servers import Server

Row = list[str | None]
_BINARY_TYPES = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "vector"}
_SPATIAL_TYPES = {
    "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
    "geometrycollection", "geomcollection",
}  # fmt: skip
_OWN = "('mysql', 'sys', 'performance_schema', 'information_schema')"
_OPERATIONS = {b"INSERT INTO": "inserts", b"UPDATE": "updates", b"DELETE FROM": "deletes"}
_CHANGE = re.compile(rb"^### (INSERT INTO|UPDATE|DELETE FROM) `(.*)`\.`(.*)`$", re.MULTILINE)
_MYSQL_GTID = re.compile(rb"^SET @@SESSION\.GTID_NEXT= '(?!AUTOMATIC)", re.MULTILINE)
_MARIADB_GTID = re.compile(rb"^#\d{6} .*\tGTID \d+-\d+-\d+", re.MULTILINE)


def describe_table(server: Server, database: str, table: str) -> dict[str, Any]:
    """A table's definition, columns, primary key and checksum.

    ``columns`` holds name, type, charset (None where the type has none), ``extra`` (such as
    ``STORED GENERATED``) and whether it is nullable.
    """
    this = f"table_schema = {_text(database)} AND table_name = {_text(table)}"
    columns = server.query(
        "SELECT column_name, column_type, character_set_name, extra, is_nullable "
        f"FROM information_schema.columns WHERE {this} ORDER BY ordinal_position"
    )
    key = server.query(
        "SELECT column_name FROM information_schema.key_column_usage "
        f"WHERE constraint_name = 'PRIMARY' AND {this} ORDER BY ordinal_position"
    )
    names = ("name", "type", "charset", "extra", "nullable")
    return {
        "create": server.query(f"SHOW CREATE TABLE {_name(database)}.{_name(table)}")[0][1],
        "columns": [dict(zip(names, column, strict=True)) for column in columns],
        "primary_key": [column for (column,) in key],
        "checksum": server.query(f"CHECKSUM TABLE {_name(database)}.{_name(table)}")[0][1],
    }


def select_rows(server: Server, database: str, table: str, description: dict[str, Any]) -> list[Row]:
    """All rows of a table as text, by primary key; by their texts where there is none.

    Binary and spatial values are in hexadecimal, BIT is a number, FLOAT has the digits of the DOUBLE that it
    equals (the server itself rounds it to six), everything else is what SELECT prints.
    """
    columns = [(column["name"], _expression(column)) for column in description["columns"]]
    # Hexadecimal keeps zero bytes and line ends whole on their way through the client program.
    wanted = ", ".join(f"HEX(CONVERT({expression} USING utf8mb4))" for _, expression in columns)
    key = ", ".join(_name(column) for column in description["primary_key"])
    order = f" ORDER BY {key}" if key else ""
    rows = server.query(f"SELECT {wanted} FROM {_name(database)}.{_name(table)}{order}")
    texts: list[Row] = [
        [None if value is None else bytes.fromhex(value).decode() for value in row] for row in rows
    ]
    return texts if key else sorted(texts, key=lambda row: [value or "" for value in row])


def databases_of(server: Server) -> list[str]:
    """Name of every database that is not the server's own."""
    rows = server.query(
        f"SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN {_OWN}"
    )
    return sorted(str(name) for (name,) in rows)


def tables_of(server: Server) -> list[tuple[str, str]]:
    """Database and name of every table that is not the server's own."""
    rows = server.query(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type <> 'VIEW' "
        f"AND table_type <> 'SEQUENCE' AND table_schema NOT IN {_OWN} ORDER BY 1, 2"
    )
    return [(str(database), str(table)) for database, table in rows]


def write_tables(server: Server, folder: Path, notes: dict[str, str]) -> None:
    """Write ``tables.json`` and, per table, its rows as JSON arrays, a row a line.

    Args:
        server: the server that is asked.
        folder: where to; made again.
        notes: for tables whose state does not follow from row changes, why.
    """
    folder.mkdir(parents=True)
    tables = {}
    for database, table in tables_of(server):
        name = f"{database}.{table}"
        description = describe_table(server, database, table)
        rows = select_rows(server, database, table, description)
        file = f"{quote(table if database == 'shop' else name, safe='')}.jsonl"
        (folder / file).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        facts = {
            "file": file,
            "rows": len(rows),
            "state_from_rows": name not in notes,
            "note": notes.get(name),
        }
        tables[name] = facts | description
    write_json(folder / "tables.json", server_facts(server) | {"tables": tables})


def server_facts(server: Server) -> dict[str, Any]:
    """Name, version and executed GTIDs of a server."""
    mariadb = server.daemon == "mariadbd"
    variable = "@@GLOBAL.gtid_binlog_state" if mariadb else "@@GLOBAL.gtid_executed"
    executed = server.query(f"SELECT {variable}, @@GLOBAL.version")[0]
    return {
        "server": "MariaDB" if mariadb else "MySQL",
        "version": executed[1],
        "gtid_executed": (executed[0] or "").replace("\n", ""),
    }


def rows_document(server: Server) -> dict[str, Any]:
    """All tables of a server with their rows, for logs that are small enough for one document."""
    tables = {}
    for database, table in tables_of(server):
        description = describe_table(server, database, table)
        tables[f"{database}.{table}"] = description | {
            "rows": select_rows(server, database, table, description)
        }
    return server_facts(server) | {"tables": tables}


def count_changes(server: Server, files: Iterable[Path]) -> dict[str, Any]:
    """Per file, the transactions and each table's row changes, as the server's own reader prints them."""
    counted = {}
    for file in files:
        text = server.mysqlbinlog("-v", "--base64-output=decode-rows", file)
        changes = Counter(_CHANGE.findall(text))
        tables: dict[str, dict[str, int]] = {}
        for (operation, database, table), count in sorted(changes.items()):
            name = f"{database.decode()}.{table.decode()}"
            tables.setdefault(name, dict.fromkeys(_OPERATIONS.values(), 0))[_OPERATIONS[operation]] = count
        pattern = _MARIADB_GTID if server.daemon == "mariadbd" else _MYSQL_GTID
        counted[file.name] = {"transactions": len(pattern.findall(text)), "tables": tables}
    return counted


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a document in which everything that holds only plain values stands in one line."""
    path.write_text(_json_text(document, "") + "\n")


def _json_text(value: Any, indent: str) -> str:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(isinstance(member, dict | list) for member in members):
        return json.dumps(value, ensure_ascii=False)
    inner = indent + " "
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key)}: {_json_text(member, inner)}" for key, member in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    lines = [f"{inner}{_json_text(member, inner)}" for member in value]
    return "[\n" + ",\n".join(lines) + f"\n{indent}]"


def _expression(column: dict[str, str]) -> str:
    name = _name(column["name"])
    kind = re.split(r"[ (]", column["type"], maxsplit=1)[0].lower()
    if kind in _BINARY_TYPES or kind in _SPATIAL_TYPES:
        return f"LOWER(HEX({name}))"
    if kind == "bit":
        return f"{name} + 0"
    if kind == "float" or (kind == "double" and "(" in column["type"]):
        # FLOAT prints six digits, DOUBLE(M,D) no more than D behind the point.
        return f"CAST({name} AS DOUBLE)"
    return name


def _name(identifier: str) -> str:
    return "`" + identifier.replace("`", "``") + "`"


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
