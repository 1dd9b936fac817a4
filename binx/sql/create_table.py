"""CREATE TABLE from the catalog's model of a table."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from binx.errors import RefusedError
from binx.event.format import Flavour
from binx.rows.columns.names import ResolvedTable, is_hash
from binx.rows.columns.schema import (
    Check,
    ColumnDefinition,
    Default,
    DefaultKind,
    ForeignKey,
    IndexDefinition,
    TableDefinition,
    folded_name,
)
from binx.rows.columns.types import CHARACTER_BASES, bytes_literal, quote_text
from binx.rows.ddl.catalog_alter import VERSIONING_COLUMNS
from binx.rows.ddl.tokens import identifier, sequences_in
from binx.sql.dialect import SqlDialect

DEFINITION_MODE = "PIPES_AS_CONCAT,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES"
"""The sql_mode in which the text of definitions is read."""

_OF_THE_MACHINE = frozenset({"DATA DIRECTORY", "INDEX DIRECTORY"})
"""Options that name folders of the machine where the table was."""

_OF_SEQUENCES = ("START WITH", "INCREMENT BY", "MINVALUE", "MAXVALUE", "CACHE", "CYCLE")
_NO_DEFAULT = Default("", DefaultKind.NULL)
_ZERO_DATE = re.compile(r"[0\s:.-]*")


class Definition(NamedTuple):
    """A statement that makes a table.

    Attributes:
        time_zone: the session's time zone, for TIMESTAMP defaults; ``+00:00`` if it has none.
        sequences: statements before it, which make the sequences that its defaults need.
        defaults: statements after it that set the defaults of other time zones, each with its zone.
    """

    sql: str
    time_zone: str
    sequences: tuple[str, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()

    @property
    def zones(self) -> tuple[str, ...]:
        """The time zones that its statements run in."""
        return (self.time_zone, *(zone for zone, _ in self.defaults))

    def in_utc(self) -> str:
        """Return the text for a session with ``time_zone='+00:00'``: one statement if that is right there."""
        first = [] if self.time_zone == "+00:00" else [f"SET SESSION time_zone = '{self.time_zone}'"]
        return ";\n".join([*first, self.sql, *self._later()])

    def _later(self) -> Iterator[str]:
        for zone, statement in self.defaults:
            yield f"SET SESSION time_zone = '{zone}'"
            yield statement

    def statements(self) -> Iterator[str]:
        """Yield all statements, with those that set a session to read them."""
        yield "SET NAMES utf8mb4"
        yield f"SET SESSION sql_mode = '{DEFINITION_MODE}', time_zone = '{self.time_zone}'"
        yield "/*!80002 SET SESSION explicit_defaults_for_timestamp = 1 */"
        yield "/*M!101000 SET SESSION explicit_defaults_for_timestamp = 1 */"
        yield "/*M!110201 SET SESSION character_set_collations = '' */"
        yield from self.sequences
        yield self.sql
        yield from self._later()


def create_table(table: TableDefinition, dialect: SqlDialect) -> Definition:
    """Return the statement that creates a table as it is known, without the sequences that it needs.

    Raises:
        RefusedError: its columns are not known.
    """
    if table.unknown is not None:
        raise RefusedError(table.unknown)
    zones = {column.name: zone for column in table.columns if (zone := _zone_of(column)) is not None}
    zone = next(iter(zones.values()), "+00:00")
    later = {name for name, other in zones.items() if other != zone}
    name = quoted(table)
    items = ",\n".join(f"  {item}" for item in _items(table, dialect, later))
    tail = "".join(_table_options(table, dialect))
    defaults = (
        (
            zones[column.name],
            f"ALTER TABLE {name} ALTER COLUMN {identifier(column.name)} SET DEFAULT {_default(column)}",
        )
        for column in table.columns
        if column.name in later
    )
    return Definition(f"CREATE TABLE {name} (\n{items}\n){tail}", zone, defaults=tuple(defaults))


def known_statement(table: TableDefinition | None, dialect: SqlDialect) -> str | None:
    """Return the statement that makes a table or a sequence as it is known, for a session in UTC.

    Returns:
        None if the logs do not tell what it is.
    """
    if table is None or table.unknown is not None:
        return None
    return create_sequence(table) if table.is_sequence else create_table(table, dialect).in_utc()


def statement_of_rows(table: ResolvedTable, dialect: SqlDialect) -> str | None:
    """Return the statement that makes a table as it was when its rows were logged, for a session in UTC.

    Returns:
        None if the logs do not tell what it was, or tell of other columns than the rows have.
    """
    definition = table.definition
    if definition is None or table.unfit is not None:
        return None
    logged = {folded_name(one.source_name) for one in table.columns if not is_hash(one.source_name)}
    if logged != {folded_name(column.name) for column in definition.columns}:
        return None
    return known_statement(definition._replace(db=table.db, name=table.name), dialect)


def create_sequence(table: TableDefinition) -> str:
    """Return the statement that creates a sequence, if there is none of its name.

    Raises:
        RefusedError: it is not known.
    """
    if table.unknown is not None or not table.is_sequence:
        raise RefusedError(table.unknown or f"{table.name} is no sequence")
    words = [f"CREATE SEQUENCE IF NOT EXISTS {quoted(table)}"]
    value = table.columns[0].mysql_type
    words += [] if value == "bigint" else [f"AS {value}"]
    options = dict(table.options)
    for name in _OF_SEQUENCES:
        if (text := options.pop(name, None)) is not None:
            words.append(f"NO{name}" if text == "NO" else f"{name} {text}".rstrip())
    options.pop("RESTART", None)
    words += [f"{name}={text}" for name, text in options.items() if name not in _OF_THE_MACHINE]
    return " ".join(words)


def needed_sequences(table: TableDefinition) -> Iterator[tuple[str, str]]:
    """Yield database and name of the sequences that a table's defaults take values of."""
    for column in table.columns:
        if column.default is not None:
            yield from ((db, name.text) for db, name in sequences_in(column.default.sql))


def quoted(table: TableDefinition) -> str:
    """Return a table's name as SQL has it, with its database if that is known."""
    return f"{identifier(table.db)}.{identifier(table.name)}" if table.db else identifier(table.name)


def _items(table: TableDefinition, dialect: SqlDialect, later: Collection[str]) -> Iterator[str]:
    """Yield columns, keys and constraints; the defaults of the columns ``later`` are left out."""
    implicit = table.columns[-2:] == VERSIONING_COLUMNS
    for column in table.columns[:-2] if implicit else table.columns:
        yield _column(column._replace(default=None) if column.name in later else column, table, dialect)
    if table.primary_key:
        yield _key(_primary(table), table)
    for index in table.indexes:
        yield _key(index, table)
    yield from map(_foreign_key, table.foreign_keys)
    yield from map(_check, table.checks)
    bounds = [column.name for column in table.columns if column.generated in ("row_start", "row_end")]
    if bounds and not implicit:
        yield f"PERIOD FOR SYSTEM_TIME ({_names(bounds)})"
    if table.period:
        yield f"PERIOD FOR {identifier(table.period[0])} ({_names(table.period[1:])})"


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(identifier, names))


def _primary(table: TableDefinition) -> IndexDefinition:
    """Return the primary key as an index, without what MariaDB adds to it."""
    given = table.primary
    ends = {column.name for column in table.columns if column.generated == "row_end"}
    names = tuple(name for name in table.primary_key if name not in ends)
    if given is None or len(given.columns) != len(names):
        return IndexDefinition("PRIMARY", names)
    return given._replace(columns=names)


def _column(column: ColumnDefinition, table: TableDefinition, dialect: SqlDialect) -> str:
    mariadb = dialect.flavour is Flavour.MARIADB
    words = [identifier(column.name), _type(column)]
    words += [word for word in column.attributes if word.startswith("COMPRESSED")]
    words += _charset(column, table, dialect)
    if column.generated in ("row_start", "row_end"):
        words.append(f"GENERATED ALWAYS AS {column.generated.replace('_', ' ').upper()}")
    elif column.generated is not None:
        words.append(f"GENERATED ALWAYS AS {column.formula} {column.generated.upper()}")
    # AUTO_INCREMENT makes a column NOT NULL where no NULL follows it.
    words += ["AUTO_INCREMENT"] if column.numbered else []
    if not (column.generated and mariadb):
        words.append("NULL" if column.nullable else "NOT NULL")
    if column.srid is not None:
        words.append(f"{'REF_SYSTEM_ID' if mariadb else 'SRID'} {column.srid}")
    # MySQL takes TRUE for the default of a column with AUTO_INCREMENT, and has none.
    default = None if column.numbered else column.default
    if default is not None and default.kind is not DefaultKind.IMPLICIT:
        words.append(f"DEFAULT {_default(column)}")
    words += [f"ON UPDATE {column.on_update}"] if column.on_update else []
    words += ["INVISIBLE"] if column.invisible else []
    words += [f"COMMENT {quote_text(column.comment)}"] if column.comment else []
    words += [word for word in column.attributes if not word.startswith("COMPRESSED")]
    words += [f"CHECK {column.check}"] if column.check else []
    return " ".join(words)


def _type(column: ColumnDefinition) -> str:
    if column.width is None or "(" in column.mysql_type:
        return column.mysql_type
    return column.mysql_type.replace(column.base, f"{column.base}({column.width})", 1)


def _charset(column: ColumnDefinition, table: TableDefinition, dialect: SqlDialect) -> list[str]:
    if column.base not in CHARACTER_BASES or column.charset is None:
        return []
    own = (column.charset, _collation(column.charset, column.collation, dialect))
    if own == (table.charset, _collation(table.charset, table.collation, dialect)):
        return []
    return [f"CHARACTER SET {own[0]}", *([f"COLLATE {own[1]}"] if own[1] else [])]


def _collation(charset: str | None, collation: str | None, dialect: SqlDialect) -> str | None:
    """Return a collation; of utf8mb4, whose default sessions set, the one that servers are compiled with."""
    if collation is not None or charset != "utf8mb4":
        return collation
    is_new = dialect.flavour is Flavour.MYSQL and dialect.version >= (8, 0, 0)
    return "utf8mb4_0900_ai_ci" if is_new else "utf8mb4_general_ci"


def _default(column: ColumnDefinition) -> str:
    default = column.default or _NO_DEFAULT
    match default.kind:
        case DefaultKind.NULL:
            return "NULL"
        case DefaultKind.NUMBER:
            return default.constant
        case DefaultKind.EXPRESSION:
            return default.sql or default.text
        case DefaultKind.BYTES:
            # MariaDB takes x'…' for text, also where a number is meant, and keeps it for TEXT and BLOB.
            is_kept = default.text[:1] in "xX" and column.base.endswith(("text", "blob"))
            if not default.constant:
                return "''"
            return bytes_literal(default.constant) if is_kept else f"0x{default.constant}"
    return quote_text(default.constant)


def _key(index: IndexDefinition, table: TableDefinition) -> str:
    prefixes = index.prefixes or (0,) * len(index.columns)
    parts = [
        identifier(name) + (f"({prefix})" if prefix else "") + (" DESC" if name in index.descending else "")
        for name, prefix in zip(index.columns, prefixes, strict=False)
    ]
    if index.without_overlaps and table.period:
        # Its columns stand for the period.
        parts = [*parts[: 1 - len(table.period)], f"{identifier(table.period[0])} WITHOUT OVERLAPS"]
    for place, text in index.expressions:
        parts.insert(place, text)
    words = ["UNIQUE KEY" if index.unique else f"{index.kind} KEY".strip(), identifier(index.name)]
    if index.name == "PRIMARY":
        words = ["PRIMARY KEY"]
    words.append(f"({', '.join(parts)})")
    for name, value in index.options:
        separator = " " if name in ("USING", "WITH PARSER", "COMMENT") else "="
        words.append(f"{name}{separator}{value}" if value else name)
    return " ".join(words)


def _foreign_key(key: ForeignKey) -> str:
    name = "" if key.name is None else f"CONSTRAINT {identifier(key.name)} "
    referenced = f" ({_names(key.referenced)})" if key.referenced else ""
    actions = zip(("DELETE", "UPDATE"), _written(key), strict=True)
    text = "".join(f" ON {event} {action}" for event, action in actions if action)
    table = f"{identifier(key.db)}.{identifier(key.table)}"
    return f"{name}FOREIGN KEY ({_names(key.columns)}) REFERENCES {table}{referenced}{text}"


def _written(key: ForeignKey) -> tuple[str, ...]:
    """Return the actions as written; in catalogs of earlier versions, those that change rows."""
    if any(key.written):
        return key.written
    return tuple(action if action != "RESTRICT" else "" for action in (key.on_delete, key.on_update))


def _check(check: Check) -> str:
    name = "" if check.name is None else f"CONSTRAINT {identifier(check.name)} "
    return f"{name}CHECK {check.expression}{'' if check.enforced else ' NOT ENFORCED'}"


def _table_options(table: TableDefinition, dialect: SqlDialect) -> Iterator[str]:
    for name, value in table.options:
        if name not in _OF_THE_MACHINE:
            yield f" {name}{' ' if name == 'STORAGE' else '='}{value}"
    if table.charset is not None:
        yield f" DEFAULT CHARSET={table.charset}"
        collation = _collation(table.charset, table.collation, dialect)
        yield f" COLLATE={collation}" if collation else ""
    if table.versioned or table.columns[-2:] == VERSIONING_COLUMNS:
        yield " WITH SYSTEM VERSIONING"
    if table.partitioning is not None:
        parts = table.partitioning
        yield f"\nPARTITION BY {parts.by}"
        yield "" if parts.number is None else f" PARTITIONS {parts.number}"
        yield f" {parts.subpartitions}" if parts.subpartitions else ""
        listed = ",\n  ".join(f"PARTITION {text}" for _, text in parts.partitions)
        yield f"\n  ({listed})" if listed else ""


def _zone_of(column: ColumnDefinition) -> str | None:
    """Return the time zone in which a column's default is read; None if it is the same in all."""
    default = column.default
    if column.base != "timestamp" or default is None:
        return None
    is_moment = default.kind in (DefaultKind.STRING, DefaultKind.NUMBER)
    return default.time_zone or "SYSTEM" if is_moment and not _ZERO_DATE.fullmatch(default.constant) else None
