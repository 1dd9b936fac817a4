"""Parse the clauses of ALTER TABLE: those that change columns, and those known not to."""

from __future__ import annotations

from collections.abc import Callable

from binx.rows.columns.schema import Check, StatementContext
from binx.rows.ddl.clauses import (
    accept_wait,
    charset_option,
    column_name,
    default_clause,
    is_key_or_constraint,
    key_or_constraint,
    merged,
    partition_definition,
    partition_list,
    partitioning,
    period,
    table_name,
    table_option,
)
from binx.rows.ddl.column_definitions import column_spec
from binx.rows.ddl.parsed_statements import (
    AddCheck,
    AddColumn,
    AddKey,
    AddPartitions,
    AlterAction,
    AlterCheck,
    AlterColumn,
    AlterKey,
    AlterTable,
    ChangeColumn,
    CoalescePartitions,
    ColumnPosition,
    ColumnSpec,
    ConvertCharset,
    DropCheck,
    DropColumn,
    DropKey,
    DropPrimaryKey,
    Key,
    MoveRows,
    PartitionMove,
    RenameColumn,
    RenameKey,
    RenameTo,
    Repartition,
    ReplacePartitions,
    SetCharset,
    SetOption,
    SetPeriod,
    SystemVersioning,
    may_remove_rows,
    no_rows_of,
)
from binx.rows.ddl.tokens import TokenReader

_PARTITION_WORDS = frozenset(
    {
        "PARTITION", "ANALYZE", "CHECK", "COALESCE", "DISCARD", "EXCHANGE", "IMPORT", "OPTIMIZE",
        "REBUILD", "REMOVE", "REORGANIZE", "REPAIR", "SECONDARY_LOAD", "SECONDARY_UNLOAD", "TRUNCATE",
    }
)  # fmt: skip
"""Clauses about partitions and tablespaces: they leave columns alone, and all that follows is theirs."""

_COLUMNLESS = frozenset({"DISABLE", "ENABLE", "FORCE", "LOCK", "ALGORITHM", "ORDER", "WITH", "WITHOUT"})
"""Clauses up to the next comma that leave columns alone."""


def alter_table(reader: TokenReader, *, ignore: bool = False) -> AlterTable:
    """Parse ALTER TABLE after the word TABLE; with ``ignore``, ALTER IGNORE TABLE."""
    if_exists = reader.accept("IF", "EXISTS")
    table = table_name(reader)
    accept_wait(reader)
    actions: list[AlterAction] = []
    clauses = 0
    while not reader.at_end and not _at_partitions(reader):
        clauses += 1
        is_option = reader.current.upper not in _CLAUSES and reader.current.upper not in _COLUMNLESS
        actions.extend(_clause(reader))
        # Only options may follow each other without a comma, and partitions any clause.
        if not reader.accept(",") and not is_option and not reader.at_end and not _at_partitions(reader):
            raise reader.not_understood("a comma")
    if not reader.at_end:
        actions += _partition_clause(reader)
    elif clauses == 1:
        actions = [one._replace(alone=True) if isinstance(one, ConvertCharset) else one for one in actions]
    if ignore and any(map(may_remove_rows, actions)):
        actions.append(
            MoveRows(reason="ALTER IGNORE TABLE may have removed rows that break a key or constraint")
        )
    return AlterTable(table, tuple(actions), if_exists)


def _at_partitions(reader: TokenReader) -> bool:
    if reader.at_any("ADD", "DROP"):
        return reader.ahead().upper == "PARTITION"
    if reader.at("CONVERT"):
        return reader.ahead().upper in {"PARTITION", "TABLE"}
    return reader.current.upper in _PARTITION_WORDS


def _partition_clause(reader: TokenReader) -> list[AlterAction]:
    """Read a clause about partitions or tablespaces, which may move whole ones with their rows."""
    for word in ("DISCARD", "IMPORT"):
        if reader.accept(word, "TABLESPACE"):
            return [MoveRows(reason=f"{word} TABLESPACE took or brought its rows")]
    if reader.accept("PARTITION", "BY"):
        return [Repartition(partitioning(reader))]
    if reader.accept("REMOVE", "PARTITIONING"):
        return [Repartition(None)]
    if reader.accept_any("TRUNCATE", "DISCARD", "IMPORT"):
        return [MoveRows()]
    if reader.accept("CONVERT", "TABLE"):
        moved = MoveRows(table_name(reader), PartitionMove.TABLE_TAKEN)
        reader.expect("TO", "PARTITION")
        return [moved, AddPartitions((partition_definition(reader),))]
    for clause, to, kind in (
        ("EXCHANGE", "WITH", PartitionMove.ROWS),
        ("CONVERT", "TO", PartitionMove.TABLE_MADE),
    ):
        if reader.accept(clause, "PARTITION"):
            name = reader.name("a partition's name")
            reader.expect(to, "TABLE")
            given = MoveRows(table_name(reader), kind)
            return [given] if kind is PartitionMove.ROWS else [given, ReplacePartitions((name,))]
    return _changed_partitions(reader)


def _changed_partitions(reader: TokenReader) -> list[AlterAction]:
    """Read a clause that adds, drops or reorganizes partitions; of all others, nothing."""
    word = reader.accept_any("ADD", "COALESCE", "REORGANIZE", "DROP")
    if word is None:
        return []
    reader.expect("PARTITION")
    _if_exists(reader)
    _if_not_exists(reader)
    reader.accept_any("NO_WRITE_TO_BINLOG", "LOCAL")
    match word:
        case "COALESCE":
            return [CoalescePartitions(reader.number())]
        case "ADD" if reader.accept("PARTITIONS"):
            return [AddPartitions(number=reader.number())]
        case "ADD":
            return [AddPartitions(partition_list(reader))]
        case "DROP":
            return [MoveRows(), ReplacePartitions(_names(reader))]
    if reader.at_end:
        return []
    names = _names(reader)
    reader.expect("INTO")
    return [ReplacePartitions(names, partition_list(reader))]


def _names(reader: TokenReader) -> tuple[str, ...]:
    return tuple(reader.separated(lambda reader: reader.name("a partition's name")))


def _clause(reader: TokenReader) -> list[AlterAction]:
    """Parse one clause, without the comma after it."""
    word = reader.current.upper
    if word in _CLAUSES:
        reader.next()
        return _CLAUSES[word](reader)
    if word in _COLUMNLESS:
        reader.next()
        reader.skip_to_comma()
        # ORDER BY a, b: its commas look like the statement's, but nothing may follow it.
        while word == "ORDER" and not reader.at_end:
            reader.next()
        return []
    return _table_option(reader)


def _if_exists(reader: TokenReader) -> bool:
    return reader.accept("IF", "EXISTS")


def _if_not_exists(reader: TokenReader) -> bool:
    return reader.accept("IF", "NOT", "EXISTS")


def _add(reader: TokenReader) -> list[AlterAction]:
    if reader.accept("SYSTEM", "VERSIONING"):
        return [SystemVersioning(add=True)]
    if not reader.at("COLUMN") and is_key_or_constraint(reader):
        return [_added(key_or_constraint(reader))]
    if reader.at("PERIOD", "FOR") or reader.at("PERIOD", "IF"):
        reader.next()
        if_not_exists = _if_not_exists(reader)
        bounds = period(reader)
        return [SetPeriod(bounds, if_not_exists)] if bounds else []
    reader.accept("COLUMN")
    if_not_exists = _if_not_exists(reader)

    def added(reader: TokenReader) -> list[AlterAction]:
        if in_parentheses and is_key_or_constraint(reader):
            return [_added(key_or_constraint(reader))]
        column = column_spec(reader)
        position = None if in_parentheses else _position(reader)
        own = _own_constraints(column, if_not_exists, reader.context)
        return [AddColumn(column, position, if_not_exists), *own]

    in_parentheses = reader.at("(")
    if not in_parentheses:
        return added(reader)
    return [action for actions in reader.listed(added) for action in actions]


def _added(item: Key | Check) -> AlterAction:
    return AddCheck(item) if isinstance(item, Check) else AddKey(item)


def column_keys(column: ColumnSpec, context: StatementContext) -> list[Key]:
    """Return the keys that a column's own attributes declare; MariaDB makes no other one of a primary key."""
    keys = [Key((column.name,), primary=True)] if column.primary_key else []
    keys += [Key((column.name,), unique=True)] if column.unique and not (keys and context.mariadb) else []
    return [*keys, Key((column.name,), references=column.references)] if column.references else keys


def table_checks(column: ColumnSpec, context: StatementContext) -> tuple[Check, ...]:
    """Return the CHECKs of a column that MySQL makes the table's; MariaDB keeps them at the column."""
    return () if context.mariadb else column.checks


def _own_constraints(column: ColumnSpec, conditional: bool, context: StatementContext) -> list[AlterAction]:
    """Return the keys and CHECKs of a column's attributes, to which its IF [NOT] EXISTS applies too."""
    keys = [AddKey(key._replace(if_not_exists=conditional)) for key in column_keys(column, context)]
    return [*keys, *map(AddCheck, table_checks(column, context))]


def _position(reader: TokenReader) -> ColumnPosition | None:
    if reader.accept("FIRST"):
        return ColumnPosition(None)
    return ColumnPosition(reader.name("a column's name")) if reader.accept("AFTER") else None


def _drop(reader: TokenReader) -> list[AlterAction]:
    if reader.accept("SYSTEM", "VERSIONING"):
        return [SystemVersioning(add=False)]
    if reader.accept("PRIMARY", "KEY"):
        return [DropPrimaryKey()]
    if reader.at("PERIOD", "FOR") or reader.at("PERIOD", "IF"):
        reader.next()
        _if_exists(reader)
        return [SetPeriod(())] if period(reader) else []
    if reader.accept("FOREIGN", "KEY"):
        _if_exists(reader)
        # MariaDB reads the key's name as it reads a column's.
        return [DropKey(column_name(reader), True, "FOREIGN KEY")]
    if what := reader.accept_any("CHECK", "INDEX", "KEY", "CONSTRAINT"):
        if_exists = _if_exists(reader)
        name = reader.name("its name")
        dropped = [] if what == "CHECK" else [dropped_key(name, if_exists or what == "CONSTRAINT", what)]
        return [*dropped, DropCheck(name)] if what in {"CHECK", "CONSTRAINT"} else dropped
    reader.accept("COLUMN")
    if_exists = _if_exists(reader)
    name = column_name(reader)
    reader.accept_any("RESTRICT", "CASCADE")
    return [DropColumn(name, if_exists)]


def dropped_key(name: str, if_exists: bool, what: str = "KEY") -> AlterAction:
    """Return the action that drops the key of that name; a constraint's name may be that of no key."""
    return DropPrimaryKey() if name.upper() == "PRIMARY" else DropKey(name, if_exists, what)


def _change(reader: TokenReader, *, renames: bool = True) -> list[AlterAction]:
    reader.accept("COLUMN")
    if_exists = _if_exists(reader)
    old = column_name(reader) if renames else None
    column = column_spec(reader)
    own = _own_constraints(column, if_exists, reader.context)
    former = column.name if old is None else old
    return [ChangeColumn(former, column, _position(reader), if_exists), *own]


def _modify(reader: TokenReader) -> list[AlterAction]:
    return _change(reader, renames=False)


def _rename(reader: TokenReader) -> list[AlterAction]:
    if what := reader.accept_any("COLUMN", "INDEX", "KEY"):
        if_exists = _if_exists(reader)
        old = reader.name("its name")
        reader.expect("TO")
        new = reader.name("its new name")
        return [RenameColumn(old, new, if_exists) if what == "COLUMN" else RenameKey(old, new)]
    reader.accept_any("TO", "AS", "=")
    return [RenameTo(table_name(reader))]


def _alter(reader: TokenReader) -> list[AlterAction]:
    if what := reader.accept_any("INDEX", "CHECK", "CONSTRAINT", "KEY"):
        _if_exists(reader)
        name = reader.name("its name")
        negated = reader.accept("NOT")
        word = reader.next().upper
        if what in {"CHECK", "CONSTRAINT"}:
            return [AlterCheck(name, not negated)]
        return [AlterKey(name, f"NOT {word}" if negated else word)]
    reader.accept("COLUMN")
    if_exists = _if_exists(reader)
    name = column_name(reader)
    if reader.accept("DROP", "DEFAULT"):
        return [AlterColumn(name, sets_default=True, if_exists=if_exists)]
    reader.expect("SET")
    if reader.accept("DEFAULT"):
        return [AlterColumn(name, sets_default=True, default=default_clause(reader), if_exists=if_exists)]
    invisible = reader.accept("INVISIBLE")
    if not invisible:
        reader.expect("VISIBLE")
    return [AlterColumn(name, invisible=invisible, if_exists=if_exists)]


def _convert(reader: TokenReader) -> list[AlterAction]:
    reader.expect("TO")
    option = charset_option(reader)
    if option is None:
        raise reader.not_understood("CHARACTER SET")
    return [ConvertCharset(merged(option, charset_option(reader)))]


def _table_option(reader: TokenReader) -> list[AlterAction]:
    option = charset_option(reader)
    if option is not None:
        return [SetCharset(option)]
    known = table_option(reader)
    if known is None:
        raise reader.not_understood("a clause of ALTER TABLE")
    name, value = known
    reason = no_rows_of(((name, value),))
    return [SetOption(name, value), *([] if reason is None else [MoveRows(reason=reason)])]


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
