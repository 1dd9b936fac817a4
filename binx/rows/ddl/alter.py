"""ALTER TABLE: the clauses that change columns, and those that are known not to."""

from __future__ import annotations

from collections.abc import Callable

from binx.rows.ddl.clauses import (
    charset_option,
    default_clause,
    is_key_or_constraint,
    key_or_constraint,
    merged,
    table_name,
)
from binx.rows.ddl.columns import column_spec
from binx.rows.ddl.create import column_keys
from binx.rows.ddl.statements import (
    AddColumn,
    AddKey,
    AlterAction,
    AlterColumn,
    AlterTable,
    ChangeColumn,
    ColumnSpec,
    ConvertCharset,
    DropColumn,
    DropKey,
    DropPrimaryKey,
    MovePartition,
    PartitionMove,
    Position,
    RenameColumn,
    RenameKey,
    RenameTo,
    SetCharset,
    SystemVersioning,
)
from binx.rows.ddl.tokens import TokenKind, TokenReader

_PARTITION_WORDS = frozenset(
    {
        "PARTITION",
        "ANALYZE",
        "CHECK",
        "COALESCE",
        "DISCARD",
        "EXCHANGE",
        "IMPORT",
        "OPTIMIZE",
        "REBUILD",
        "REMOVE",
        "REORGANIZE",
        "REPAIR",
        "SECONDARY_LOAD",
        "SECONDARY_UNLOAD",
        "TRUNCATE",
    }
)
"""Clauses about partitions and tablespaces: they leave columns alone, and all that follows is theirs."""

_TO_TABLES = (("EXCHANGE", "WITH", PartitionMove.ROWS), ("CONVERT", "TO", PartitionMove.TABLE_MADE))
"""Clauses by which the rows of a partition become those of a table."""

_OPTIONS = frozenset(
    {
        "AUTO_INCREMENT",
        "AUTOEXTEND_SIZE",
        "AVG_ROW_LENGTH",
        "CHECKSUM",
        "COMMENT",
        "COMPRESSION",
        "CONNECTION",
        "DELAY_KEY_WRITE",
        "DIRECTORY",
        "ENCRYPTION",
        "ENGINE",
        "ENGINE_ATTRIBUTE",
        "INSERT_METHOD",
        "KEY_BLOCK_SIZE",
        "MAX_ROWS",
        "MIN_ROWS",
        "NODEGROUP",
        "PACK_KEYS",
        "PAGE_CHECKSUM",
        "PASSWORD",
        "ROW_FORMAT",
        "SECONDARY_ENGINE",
        "SECONDARY_ENGINE_ATTRIBUTE",
        "SEQUENCE",
        "STATS_AUTO_RECALC",
        "STATS_PERSISTENT",
        "STATS_SAMPLE_PAGES",
        "STORAGE",
        "TABLE_CHECKSUM",
        "TABLESPACE",
        "TRANSACTIONAL",
        "TYPE",
        "UNION",
    }
)
"""The options of tables, whose ``=`` may be left out; none of them matters to columns."""

_COLUMNLESS = frozenset({"DISABLE", "ENABLE", "FORCE", "LOCK", "ALGORITHM", "ORDER", "WITH", "WITHOUT"})
"""Clauses up to the next comma that leave columns alone."""


def alter_table(reader: TokenReader) -> AlterTable:
    """Read ALTER TABLE behind the word TABLE."""
    if_exists = reader.accept("IF", "EXISTS")
    table = table_name(reader)
    if reader.accept("WAIT"):
        reader.number()
    else:
        reader.accept("NOWAIT")
    actions: list[AlterAction] = []
    while not reader.at_end and not _partition_clause(reader):
        is_option = reader.current.upper not in _CLAUSES and reader.current.upper not in _COLUMNLESS
        actions.extend(_clause(reader))
        # Only options may follow each other without a comma, and partitions any clause.
        if not reader.accept(",") and not is_option and not reader.at_end and not _partition_clause(reader):
            raise reader.not_understood("a comma")
    if not reader.at_end:
        actions += _moved_partitions(reader)
    return AlterTable(table, tuple(actions), if_exists)


def _partition_clause(reader: TokenReader) -> bool:
    if reader.at_any("ADD", "DROP"):
        return reader.ahead().upper == "PARTITION"
    if reader.at("CONVERT"):
        return reader.ahead().upper in {"PARTITION", "TABLE"}
    return reader.current.upper in _PARTITION_WORDS


def _moved_partitions(reader: TokenReader) -> list[AlterAction]:
    """Read a clause that may move rows by whole partitions or tablespaces."""
    if reader.accept("DROP", "PARTITION") or reader.accept_any("TRUNCATE", "DISCARD", "IMPORT"):
        return [MovePartition()]
    if reader.accept("CONVERT", "TABLE"):
        return [MovePartition(table_name(reader), PartitionMove.TABLE_TAKEN)]
    for clause, to, kind in _TO_TABLES:
        if reader.accept(clause, "PARTITION"):
            reader.name("a partition's name")
            if reader.accept(to, "TABLE"):
                return [MovePartition(table_name(reader), kind)]
    return []


def _clause(reader: TokenReader) -> list[AlterAction]:
    """Read one clause, without the comma behind it."""
    word = reader.current.upper
    if word in _CLAUSES:
        reader.next()
        return _CLAUSES[word](reader)
    if word in _COLUMNLESS:
        reader.next()
        reader.skip_to_comma()
        # ORDER BY a, b: its commas cannot be told from the statement's, but nothing may follow it.
        while word == "ORDER" and not reader.at_end:
            reader.next()
        return []
    return _table_option(reader)


def _if_not_exists(reader: TokenReader) -> bool:
    return reader.accept("IF", "NOT", "EXISTS")


def _add(reader: TokenReader) -> list[AlterAction]:
    if reader.accept("SYSTEM", "VERSIONING"):
        return [SystemVersioning(add=True)]
    if not reader.at("COLUMN") and is_key_or_constraint(reader):
        return _add_key(reader)
    if reader.at("PERIOD", "FOR"):
        reader.skip_to_comma()
        return []
    reader.accept("COLUMN")
    if_not_exists = _if_not_exists(reader)
    if not reader.at("("):
        column = column_spec(reader)
        return [AddColumn(column, _position(reader), if_not_exists), *_own_keys(column, if_not_exists)]
    reader.expect("(")
    actions: list[AlterAction] = []
    while True:
        if is_key_or_constraint(reader):
            actions += _add_key(reader)
        else:
            column = column_spec(reader)
            actions += [AddColumn(column, None, if_not_exists), *_own_keys(column, if_not_exists)]
        if not reader.accept(","):
            break
    reader.expect(")")
    return actions


def _add_key(reader: TokenReader) -> list[AlterAction]:
    key = key_or_constraint(reader)
    return [AddKey(key)] if key is not None else []


def _own_keys(column: ColumnSpec, conditional: bool) -> list[AlterAction]:
    """The keys at a column; IF [NOT] EXISTS before it is about them too."""
    return [AddKey(key._replace(if_not_exists=conditional)) for key in column_keys(column)]


def _position(reader: TokenReader) -> Position | None:
    if reader.accept("FIRST"):
        return Position(None)
    if reader.accept("AFTER"):
        return Position(reader.name("a column's name"))
    return None


def _drop(reader: TokenReader) -> list[AlterAction]:
    if reader.accept("SYSTEM", "VERSIONING"):
        return [SystemVersioning(add=False)]
    if reader.accept("PRIMARY", "KEY"):
        return [DropPrimaryKey()]
    if reader.at("PERIOD", "FOR"):
        reader.skip_to_comma()
        return []
    if reader.accept("FOREIGN", "KEY"):
        reader.accept("IF", "EXISTS")
        return [DropKey(reader.name("a foreign key's name"), True, "FOREIGN KEY")]
    if reader.accept_any("CHECK"):
        reader.accept("IF", "EXISTS")
        reader.name("a constraint's name")
        return []
    if what := reader.accept_any("INDEX", "KEY", "CONSTRAINT"):
        if_exists = reader.accept("IF", "EXISTS")
        name = reader.name("an index's name")
        return [dropped_key(name, if_exists or what == "CONSTRAINT", what)]
    reader.accept("COLUMN")
    if_exists = reader.accept("IF", "EXISTS")
    name = reader.name("a column's name")
    reader.accept_any("RESTRICT", "CASCADE")
    return [DropColumn(name, if_exists)]


def dropped_key(name: str, if_exists: bool, what: str = "KEY") -> AlterAction:
    """What dropping the key of that name asks for; a constraint's name may be that of no key."""
    return DropPrimaryKey() if name.upper() == "PRIMARY" else DropKey(name, if_exists, what)


def _change(reader: TokenReader) -> list[AlterAction]:
    reader.accept("COLUMN")
    if_exists = reader.accept("IF", "EXISTS")
    old = reader.name("a column's name")
    column = column_spec(reader)
    return [ChangeColumn(old, column, _position(reader), if_exists), *_own_keys(column, if_exists)]


def _modify(reader: TokenReader) -> list[AlterAction]:
    reader.accept("COLUMN")
    if_exists = reader.accept("IF", "EXISTS")
    column = column_spec(reader)
    return [ChangeColumn(column.name, column, _position(reader), if_exists), *_own_keys(column, if_exists)]


def _rename(reader: TokenReader) -> list[AlterAction]:
    if reader.accept("COLUMN"):
        if_exists = reader.accept("IF", "EXISTS")
        old = reader.name("a column's name")
        reader.expect("TO")
        return [RenameColumn(old, reader.name("a column's name"), if_exists)]
    if reader.accept_any("INDEX", "KEY"):
        reader.accept("IF", "EXISTS")
        old = reader.name("an index's name")
        reader.expect("TO")
        return [RenameKey(old, reader.name("an index's name"))]
    if not reader.accept("TO") and not reader.accept("AS"):
        reader.accept("=")
    return [RenameTo(table_name(reader))]


def _alter(reader: TokenReader) -> list[AlterAction]:
    if reader.accept_any("INDEX", "CHECK", "CONSTRAINT", "KEY"):
        reader.skip_to_comma()
        return []
    reader.accept("COLUMN")
    if_exists = reader.accept("IF", "EXISTS")
    name = reader.name("a column's name")
    if reader.accept("DROP", "DEFAULT"):
        return [AlterColumn(name, sets_default=True, if_exists=if_exists)]
    reader.expect("SET")
    if reader.accept("DEFAULT"):
        return [AlterColumn(name, sets_default=True, default=default_clause(reader), if_exists=if_exists)]
    if reader.accept("INVISIBLE"):
        return [AlterColumn(name, invisible=True, if_exists=if_exists)]
    reader.expect("VISIBLE")
    return [AlterColumn(name, invisible=False, if_exists=if_exists)]


def _convert(reader: TokenReader) -> list[AlterAction]:
    reader.expect("TO")
    option = charset_option(reader)
    if option is None:
        raise reader.not_understood("CHARACTER SET")
    following = charset_option(reader)
    return [ConvertCharset(merged(option, following) if following is not None else option)]


def _table_option(reader: TokenReader) -> list[AlterAction]:
    """Read ``name [=] value``; an option that is not known must have its ``=``, as engines' own do."""
    option = charset_option(reader)
    if option is not None:
        return [SetCharset(option)]
    name = reader.name("a clause of ALTER TABLE")
    if name.upper() in {"DATA", "INDEX"} and reader.accept("DIRECTORY"):
        name = "DIRECTORY"
    if not reader.accept("=") and name.upper() not in _OPTIONS:
        raise reader.not_understood(f"= behind {name}")
    if reader.at("("):
        reader.skip_parentheses()
        return []
    value = reader.next()
    if value.kind in {TokenKind.SIGN, TokenKind.END}:
        raise reader.not_understood(f"the value of {name}")
    return []


_CLAUSES: dict[str, Callable[[TokenReader], list[AlterAction]]] = {
    "ADD": _add,
    "DROP": _drop,
    "CHANGE": _change,
    "MODIFY": _modify,
    "RENAME": _rename,
    "ALTER": _alter,
    "CONVERT": _convert,
}
"""The clauses that may change columns, by their first word."""
