"""The definitions of tables at a moment, from the schema statements of a data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from binx.errors import RefusedError
from binx.event.format import Flavour, split_version
from binx.event.query_event import is_by_server
from binx.lake.table_name import TableName
from binx.rows.columns.schema import StatementContext, TableDefinition
from binx.rows.ddl.catalog import Catalog, Followed
from binx.rows.ddl.parsed_statements import AlterTable
from binx.rows.logged_statements import session_context
from binx.sql.create_table import Definition, create_table, needed_sequences
from binx.sql.dialect import SqlDialect

Texts = Mapping[tuple[str, int, int], Mapping[str, Any]]
"""Rows of ``statements/``, by chain, commit version and number in the transaction."""

_NO_TEXT = "the text of a statement about it is not in the data set"
_NO_STATEMENT = "its CREATE TABLE is not in the logs"


class MadeTable(NamedTuple):
    """A table's definition, and why it cannot be written; both are empty if the logs do not have it.

    Attributes:
        sequences: those that its defaults need.
    """

    made: Definition | None
    refused: str
    sequences: tuple[NeededSequence, ...] = ()


class NeededSequence(NamedTuple):
    """A sequence that a table's defaults need.

    Attributes:
        definition: None if the logs do not have it.
        restarted: the commit version of the last statement that set its value; 0 if there is none.
    """

    name: TableName
    definition: TableDefinition | None
    restarted: int


def definition_of(
    name: TableName, columns: Iterable[str], texts: Texts, ranks: Mapping[str, int]
) -> MadeTable:
    """Return the statement that makes a table as it was after all these statements.

    Args:
        columns: the table's columns, as its rows have them.
        texts: all schema statements up to the moment.
        ranks: the order of the chains.
    """
    catalog, dialect = Catalog(), SqlDialect(Flavour.MYSQL, (0, 0, 0))
    restarted: dict[tuple[str, str], int] = {}
    done: set[Any] = set()
    for (chain, scn, ordinal), row in sorted(
        texts.items(), key=lambda item: (ranks[item[0][0]], *item[0][1:])
    ):
        # Of several chains that have a statement, the first one's counts.
        same = (row["transaction"] or (chain, scn), ordinal, row["event_timestamp"])
        if same in done:
            continue
        done.add(same)
        flavour = Flavour(row["flavour"])
        dialect = SqlDialect(flavour, split_version(row["server_version"]))
        if row["sql"] and row["sql_is_text"]:
            followed = _follow(catalog, row, dialect)
            if isinstance(followed.parsed, AlterTable) and followed.parsed.sets("RESTART"):
                restarted |= {(change.db, change.table or ""): scn for change in followed.changes}
        else:
            _forget(catalog, row["effects"])
    table = catalog.find(name.db, name.table)
    if table is None:
        return MadeTable(None, "")
    if table.unknown is None and not _has(table, columns):
        return MadeTable(None, f"{_NO_STATEMENT} with the columns that its rows have")
    sequences = tuple(
        NeededSequence(TableName(*of), catalog.find(*of), restarted.get(of, 0))
        for of in dict.fromkeys(needed_sequences(table))
    )
    try:
        made = create_table(table._replace(db=name.db, name=name.table), dialect)
        return MadeTable(made, "", sequences)
    except RefusedError as error:
        return MadeTable(None, str(error))


def _has(table: TableDefinition, columns: Iterable[str]) -> bool:
    known = {column.name.lower() for column in table.columns}
    return all(name.lower() in known for name in columns)


def _follow(catalog: Catalog, row: Mapping[str, Any], dialect: SqlDialect) -> Followed:
    context = _context(row, dialect)
    own = catalog.temporary.get(context.connection or (0, 0))
    if own is not None:
        changes = catalog.copy().apply(row["sql"], row["db"], context)
        # For its connection, a temporary table hides the other one of that name.
        hides = any(change.table and own.find(change.db, change.table) for change in changes)
        context = context._replace(uses_temporary=hides)
    return catalog.follow(row["sql"], row["db"], context)


def _forget(catalog: Catalog, effects: Iterable[Mapping[str, Any]]) -> None:
    for effect in effects:
        if effect["table"] is not None:
            catalog.put(TableDefinition(effect["db"], effect["table"], unknown=_NO_TEXT))


def _context(row: Mapping[str, Any], dialect: SqlDialect) -> StatementContext:
    options = {name: str(value) for name, value in row["options"] or ()}
    by_server = is_by_server(row["sql"].encode())
    return session_context(options, dialect.flavour, dialect.version, by_server=by_server)._replace(
        failed=row["error_code"] != 0,
        connection=None if row["thread_id"] is None else (0, row["thread_id"]),
    )
