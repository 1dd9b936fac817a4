"""The statements that made a table what it was at a moment, out of those that the logs have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from binx.rows.ddl.parse import is_schema_statement, parse
from binx.rows.ddl.statements import AlterTable
from binx.slices.sql.literals import identifier
from binx.spark.lake.model import Statement, TableName

_MEANING = (
    "ANSI_QUOTES",
    "IGNORE_SPACE",
    "NO_BACKSLASH_ESCAPES",
    "ORACLE",
    "PIPES_AS_CONCAT",
    "REAL_AS_FLOAT",
)
"""The modes that decide what a definition means."""


def definition_of(
    table: TableName, statements: Sequence[Statement], texts: Mapping[tuple[str, int, int], Any]
) -> tuple[list[str], str]:
    """The statements, and why they would not make the table; empty where they do.

    Args:
        table: as it is called at the moment.
        statements: those with effects up to the moment, in order.
        texts: all schema statements, by chain, commit version and number in the transaction.
    """
    ends = {one.chain: one for one in statements}
    known = {(one.chain, one.scn, one.ordinal): one for one in statements}
    made: dict[TableName, list[str]] = {}
    why: dict[TableName, str] = {}
    chains = list(dict.fromkeys(one.chain for one in statements))
    placed = sorted(
        (place for place in texts if place in known or (place[0] in ends and not texts[place]["effects"])),
        key=lambda place: (chains.index(place[0]), *place[1:]),
    )
    for place in placed:
        row = texts[place]
        text = _told(row)
        touched: set[TableName] = set()
        for effect in _effects(row):
            name = TableName(effect["db"] or "", effect["table"] or "")
            match effect["action"]:
                case "created" if not (effect["if_not_exists"] and made.get(name)):
                    made[name] = [text]
                    touched.add(name)
                    why.pop(name, None)
                    if effect["from_query"] or effect["columns"] is None or _is_like(row["sql"]):
                        why[name] = "its CREATE TABLE takes its columns from another table"
                case "dropped" if not effect["table"]:
                    for one in [one for one in made if one.db == name.db]:
                        del made[one]
                case "dropped":
                    made.pop(name, None)
                case "renamed" if name in made:
                    new = TableName(effect["new_db"] or name.db, effect["new_table"])
                    if name not in touched:
                        made[name].append(f"RENAME TABLE {_called(name)} TO {_called(new)}")
                    made[new], why[new] = made.pop(name), why.pop(name, "")
                    touched = {new if one == name else one for one in touched}
                case "altered" | "partitions" | "not_understood" if name in made:
                    made[name].append(text)
                    touched.add(name)
        if not (row["sql"] and row["sql_is_text"]):
            why |= dict.fromkeys(touched, "the text of a statement about it is not in the data set")
    return made.get(table, []), why.get(table, "")


def _effects(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a statement did; of one that changed neither columns nor keys, that it is about a table."""
    if row["effects"] or not is_schema_statement(row["sql"]):
        return list(row["effects"])
    parsed = parse(row["sql"])
    if not isinstance(parsed, AlterTable):
        return []
    db = row["db"] if parsed.table.db is None else parsed.table.db
    return [{"action": "altered", "db": db, "table": parsed.table.name}]


def _is_like(sql: str) -> bool:
    return " LIKE " in f" {sql.partition('(')[0].upper()} " or "(LIKE" in sql.upper().replace(" ", "")


def _called(name: TableName) -> str:
    return f"{identifier(name.db)}.{identifier(name.table)}"


def _told(row: Mapping[str, Any]) -> str:
    """A statement in the session that it needs."""
    modes = str(dict(row["options"] or ()).get("sql_mode", "")).split(",")
    mode = ",".join(one for one in modes if one in _MEANING)
    used = f"USE {identifier(row['db'])};\n" if row["db"] else ""
    return f"SET SESSION sql_mode = '{mode}';\n{used}{row['sql'].rstrip().rstrip(';')}"
