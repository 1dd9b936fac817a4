"""Mask statements about tables with rules: remove their texts, and mask their effects like the rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from binx.dataset.personal.masked_rows import hashed_type
from binx.dataset.personal.rules import PersonalData, TableRules
from binx.errors import RefusedError, UsageError
from binx.rows.columns.schema import DefaultKind
from binx.rows.columns.types import quote_text
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.catalog_record import catalog_record, recorded_catalog
from binx.rows.ddl.effects import ColumnEffect, Effect
from binx.rows.logged_statements import ROWS, Statement

_WORD = re.compile(r'`((?:[^`]|``)+)`|"((?:[^"]|"")+)"|([\w$]+)')
_SEALED = "sealed"
"""The recorded type of a column whose members are sealed."""

_STATEMENT = (
    "commit_version", "commit_timestamp", "transaction", "ordinal", "position", "timestamp", "kind", "db",
    "options", "sql_is_text", "thread_id", "exec_time", "error_code", "loaded", "microseconds",
    "uses_db", "unknown_variables", "takes_effect", "uses_temporary",
)  # fmt: skip
"""What remains of a statement without its text: nothing that may hold values."""

_INDEX = (
    "name", "columns", "unique", "whole", "prefixes", "kind", "descending", "expressions",
    "without_overlaps", "generated",
)  # fmt: skip
_DEFINITION: dict[str, tuple[str, ...]] = {
    "table": (
        "db", "name", "columns", "primary_key", "indexes", "charset", "collation", "provenance", "unknown",
        "server_id", "foreign_keys", "period", "primary", "checks", "options", "partitioning", "versioned",
    ),
    "columns": (
        "name", "mysql_type", "base", "length", "scale", "unsigned", "nullable", "charset", "collation",
        "members", "invisible", "generated", "default", "srid", "added", "expression", "numbered", "width",
        "on_update",
    ),
    "indexes": _INDEX,
    "primary": _INDEX,
    "foreign_keys": ("name", "columns", "db", "table", "referenced", "on_delete", "on_update", "written"),
    "checks": ("name", "enforced"),
    "partitioning": ("number", "partitions"),
}  # fmt: skip
"""What remains of a definition: what rows are read by, and the names that statements call its parts by."""

_HIDDEN = "its text is left out, as it is about a table with personal data"


def masked_statement(
    statement: Statement, effects: list[Effect], rules: PersonalData
) -> tuple[Statement, list[Effect]]:
    """Return a statement and its effects, masked.

    The text of a row change is removed for any table, because a view or trigger may reach another table.

    Raises:
        RefusedError: it renames a table or column to a name with other rules.
    """
    masked = [_masked_effect(effect, rules) for effect in effects]
    if statement.kind not in ("dml", ROWS) and not _names_masked_table(statement, effects, rules):
        return statement, masked
    hidden = Statement(**{name: getattr(statement, name) for name in _STATEMENT}, sql="", user_vars={})
    return hidden, [item._replace(reason=_HIDDEN) if item.reason is not None else item for item in masked]


def _names_masked_table(statement: Statement, effects: list[Effect], rules: PersonalData) -> bool:
    if any(effect.table is not None and rules.of_table(effect.db, effect.table) for effect in effects):
        return True
    words = (
        "".join(word).replace("``", "`").replace('""', '"') for word in _WORD.findall(statement.sql.lower())
    )
    return any(map(rules.may_name_table, set(words)))


def _masked_effect(effect: Effect, rules: PersonalData) -> Effect:
    if effect.table is None:
        return effect
    table_rules = rules.of_table(effect.db, effect.table)
    if effect.action == "renamed" and effect.new_table is not None:
        new = rules.of_table(effect.new_db or effect.db, effect.new_table)
        if (table_rules.alike() if table_rules else set()) != (new.alike() if new else set()):
            name = f"{effect.new_db or effect.db}.{effect.new_table}"
            raise RefusedError(
                f"{effect.db}.{effect.table} is renamed to {name}, and other rules about personal data hold"
                f" for that name: give both the same, such as {effect.db}.*.COLUMN"
            )
    if table_rules is None:
        return effect
    columns = effect.columns
    return effect._replace(
        columns=None if columns is None else _masked_columns(columns, table_rules, effect),
        changes=_masked_columns(effect.changes, table_rules, effect),
    )


def _masked_columns(
    columns: tuple[ColumnEffect, ...], rules: TableRules, effect: Effect
) -> tuple[ColumnEffect, ...]:
    masked = []
    for column in columns:
        masking = rules.masking(column.name)
        if column.former is not None and column.action != "added" and rules.masking(column.former) != masking:
            raise RefusedError(
                f"{effect.db}.{effect.table}.{column.former} is renamed to {column.name}, and other rules"
                " about personal data hold for that name: give both the same"
            )
        if masking is None:
            masked.append(column)
        elif not masking.drops:
            is_hidden = column.action == "added" and (column.value, column.misfit) != (None, None)
            known = False if is_hidden else column.known
            hidden = column._replace(value=None, misfit=None, known=known)
            if masking.hashes and column.mysql_type is not None:
                hashed = hashed_type(column.mysql_type)
                hidden = hidden._replace(mysql_type=hashed, arrow_type="string", charset="ascii")
            masked.append(hidden)
    return tuple(masked)


def scrub(catalog: Catalog, rules: PersonalData | None) -> None:
    """Remove texts of definitions, and defaults that rules apply to, from a catalog."""
    if rules is None or not any(rules.of_table(table.db, table.name) for table in _all_tables(catalog)):
        return
    document: dict[str, Any] = json.loads(catalog_record(catalog))
    for table in _tables_of(document):
        table_rules = rules.of_table(table["db"], table["name"])
        if table_rules is None:
            continue
        _remove_texts(table)
        for column in table.get("columns", ()):
            masking = table_rules.masking(column["name"])
            if masking is None:
                continue
            if masking.drops and column.get("members") is not None:
                # Members of hashed columns are needed to read the next log; of dropped ones, their number is.
                column["members"] = [str(number) for number in range(len(column["members"]))]
                column["mysql_type"] = f"{column['base']}({','.join(map(quote_text, column['members']))})"
            for fact in ("default", "added"):
                if fact in column and column[fact]["kind"] not in (
                    DefaultKind.NULL.value,
                    DefaultKind.IMPLICIT.value,
                ):
                    column[fact] = {"text": "", "kind": DefaultKind.EXPRESSION.value}
    catalog.become(recorded_catalog(json.dumps(document).encode()))


def _remove_texts(table: dict[str, Any]) -> None:
    """Remove what a table's statements say in words of their own, which may be values of any column."""
    for part, kept in _DEFINITION.items():
        found = table if part == "table" else table.get(part, ())
        for facts in [found] if isinstance(found, dict) else found:
            for name in facts.keys() - set(kept):
                del facts[name]
    table["options"] = [option for option in table.get("options", ()) if option[0].upper() == "ENGINE"]
    if "unknown" in table:
        table["unknown"] = _HIDDEN
    for index in (*table.get("indexes", ()), *filter(None, [table.get("primary")])):
        index["expressions"] = [[place, ""] for place, _ in index.get("expressions", ())]
    for check in table.get("checks", ()):
        check["expression"] = ""
    if table.get("partitioning"):
        parts = table["partitioning"]
        parts |= {"by": "", "partitions": [[name, ""] for name, _ in parts.get("partitions", ())]}


def sealed_record(catalog: Catalog, rules: PersonalData | None) -> bytes:
    """Return the record of a catalog, with members of hashed columns sealed with the hash key."""
    record = catalog_record(catalog)
    if rules is None or not rules.hashed:
        return record
    document: dict[str, Any] = json.loads(record)
    for table in _tables_of(document):
        table_rules = rules.of_table(table["db"], table["name"])
        for column in table.get("columns", ()):
            masking = None if table_rules is None else table_rules.masking(column["name"])
            if masking is not None and masking.hashes and column.get("members") is not None:
                members = json.dumps([column["members"], column["mysql_type"]])
                column["members"], column["mysql_type"] = [rules.seal(members)], _SEALED
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def unsealed_catalog(record: bytes, rules: PersonalData | None) -> Catalog:
    """Restore a catalog from its record.

    Raises:
        UsageError: members are sealed with another key.
        ValueError, KeyError, TypeError, AttributeError, RecursionError: it is not a valid record.
    """
    document: dict[str, Any] = json.loads(record)
    for table in _tables_of(document):
        for column in table.get("columns", ()):
            if column["mysql_type"] == _SEALED:
                members = None if rules is None else rules.unseal(column["members"][0])
                if members is None:
                    raise UsageError(
                        f"the log before was exported with {table['db']}.{table['name']}.{column['name']}"
                        " among --hash-columns and another key: give the same --hash-key, or another folder"
                    )
                column["members"], column["mysql_type"] = json.loads(members)
    return recorded_catalog(json.dumps(document).encode())


def _tables_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from document["tables"]
    for *_, tables in (*document["temporary"], *document["expected"]):
        yield from tables


def _all_tables(catalog: Catalog) -> list[Any]:
    temporary = [table for tables in catalog.temporary.values() for table in tables]
    return [*catalog, *temporary, *(table for tables in catalog.expected.values() for table in tables)]
