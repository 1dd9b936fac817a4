"""MariaDB's CREATE SEQUENCE: a table of one row, whose columns the server gives (sql/sql_sequence.cc)."""

from __future__ import annotations

from binx.rows.ddl.parts import table_name
from binx.rows.ddl.statements import ColumnSpec, CreateTable
from binx.rows.ddl.tokens import TokenReader
from binx.rows.ddl.types import data_type

_VALUE = ColumnSpec("", "bigint", nullable=False)
_VALUES = ("next_not_cached_value", "minimum_value", "maximum_value", "start_value")
_STATE = (
    ColumnSpec("increment", "bigint", nullable=False),
    ColumnSpec("cache_size", "bigint", unsigned=True, nullable=False),
    ColumnSpec("cycle_option", "tinyint", arguments=(1,), unsigned=True, nullable=False),
    ColumnSpec("cycle_count", "bigint", nullable=False),
)


def create_sequence(reader: TokenReader, temporary: bool) -> CreateTable:
    """Read CREATE SEQUENCE behind the word SEQUENCE; since MariaDB 11.5 it may name the values' type.

    Raises:
        NotUnderstoodError: it has no name, or an unknown type.
    """
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    table = table_name(reader)
    value = _VALUE
    if reader.accept("AS"):
        written = data_type(reader)
        value = value._replace(base=written.base, unsigned=written.unsigned or reader.accept("UNSIGNED"))
    columns = (*(value._replace(name=name) for name in _VALUES), *_STATE)
    return CreateTable(table, columns, temporary=temporary, if_not_exists=if_not_exists)
