"""Make an undo script check itself, with nothing but the plain client.

After each statement, which is about one row or many (:mod:`binx.undo.joined_rows`), the script gets the
number of changed rows from ``ROW_COUNT()``, counts them in user variables, and records the keys of rows that
were not found. Rows whose key is taken again are detected by ``ON DUPLICATE KEY UPDATE``, which changes
nothing and records the key. At the end the script prints the result for each table, and a prepared COMMIT or
ROLLBACK ends its one transaction. Missing rows must cause an error, so that the client fails: setting an
invalid SQL mode fails on all servers, without a stored program.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from binx.event.charset import DEFAULT_CHARSET
from binx.event.format import Flavour
from binx.rows.columns.types import Kind
from binx.slices.rendering import Part
from binx.sql.dialect import SqlDialect
from binx.sql.literals import comment_text, text_literal
from binx.sql.tables import SqlTable
from binx.undo.options import OnConflict

KEYS_BYTES = 900_000
"""Bytes of keys kept until they are printed: the smallest default of max_allowed_packet is 1 MiB."""

ROWS_BEFORE_KEYS = 5000
"""Number of rows after which the keys of those not undone are printed."""

_TABLES_AT_ONCE = 100
_ROW_ALIAS_SINCE = (8, 0, 19)
_ROLES_SINCE = (8, 0, 0)
_GTIDS_SINCE = (5, 6, 9)
_ALIAS = "undone_row"
_SHOWN_COLUMNS = 4
_NOT_SHOWN = frozenset({Kind.JSON, Kind.GEOMETRY, Kind.VECTOR})
_SHOWN_CHARACTERS = 40
_NOT_UNDONE = "NOTHING WAS UNDONE"
_REMOVING = frozenset({"INSERT", "DELETE"})
"""What undoes changes of rows that foreign keys may have followed, or may be followed itself."""

_SHOWING_KEYS = ("ALTER", "CREATE", "DELETE", "DROP", "INDEX", "INSERT", "REFERENCES", "TRIGGER", "UPDATE")
"""Privileges of which any on a table shows its foreign keys."""


class UndoCheck:
    """The counters of an undo script, and how it ends."""

    def __init__(self, on_conflict: OnConflict) -> None:
        self.on_conflict = on_conflict
        self._tables: dict[str, int] = {}
        self._operations: dict[tuple[str, str], set[str]] = {}
        self._not_compared: dict[str, dict[str, None]] = {}
        self._known: set[tuple[str, str]] = set()
        self._has_roles = self._has_gtids = False
        self._joined = 0

    def of(self, table: SqlTable, dialect: SqlDialect, operation: str | None = None) -> TableCheck:
        """Return the check of a table whose rows the script inserts, updates, deletes, or only reads."""
        if operation is not None:
            self._operations.setdefault((table.db, table.table), set()).add(operation.upper())
        self._has_roles = dialect.flavour is Flavour.MYSQL and dialect.version >= _ROLES_SINCE
        self._has_gtids = dialect.flavour is Flavour.MYSQL and dialect.version >= _GTIDS_SINCE
        number = self._tables.setdefault(f"{table.db}.{table.table}", len(self._tables) + 1)
        return TableCheck(table, number, dialect, self.forces(table))

    def forces(self, table: SqlTable) -> bool:
        """Whether rows of a table are undone whatever they are now: its key finds them."""
        return self.on_conflict is OnConflict.FORCE and bool(table.key)

    def next_joined(self) -> int:
        """Return a number for a table of literals."""
        self._joined += 1
        return self._joined

    def compared(self, table: SqlTable, columns: Container[int]) -> None:
        """Record which columns of a table's rows are compared with what the log left."""
        lacking = [table.names[index] for index in table.writable if index not in columns]
        if lacking:
            self._not_compared.setdefault(table.name, {}).update(dict.fromkeys(lacking))

    def know(self, tables: Iterable[tuple[str, str]]) -> None:
        """Record tables that are known to refer to others by foreign keys."""
        self._known.update(tables)

    def head(self) -> str:
        """Comments on how rows are found, and how rows are handled that differ from what the log left."""
        return "".join(f"-- {comment_text(line)}\n" for line in self._head())

    def _head(self) -> Iterator[str]:
        if self.on_conflict is OnConflict.FORCE:
            yield "Rows are found by their keys, and set back even if they were changed since."
        else:
            yield "Rows are found by all their columns; those changed since are listed by their keys,"
            if self.on_conflict is OnConflict.SKIP:
                yield "and left as they are, and all others are undone (--on-conflict skip)."
            else:
                yield "and then nothing is undone, and the client ends with an error (--on-conflict stop)."
        for name, lacking in self._not_compared.items():
            yield f"Not in the log's images of {name}, and not compared: {', '.join(lacking)}."
        yield "It is one transaction: an error undoes nothing, except in tables without transactions."

    def start(self) -> str:
        """Begin the script: its transaction, counters, and checks for triggers and foreign keys."""
        numbers = self._tables.values()
        counts = "".join(f", @undone{number}=0, @left{number}=0" for number in numbers)
        checks = "".join((*self._engines(), *self._sight(), *self._triggers(), *self._foreign_keys()))
        counts += ", @missing=0" if self.on_conflict is OnConflict.FORCE else ""
        # Tables of literals are read whole, which safe updates do not allow.
        session = "@@session.autocommit=0, @@session.sql_safe_updates=0"
        return f"SET {session}, @keys='', @left=0{counts};\n{checks}"

    def _engines(self) -> Iterator[str]:
        """Check that the server takes the tables' engines in one transaction.

        With enforce_gtid_consistency, tables without transactions cannot change after others (error 1785).
        """
        if not self._has_gtids or len(self._operations) == 1:
            return
        yield "SET @safe=0, @plain=NULL;\n"
        for part in _parts_of(sorted(self._operations), _TABLES_AT_ONCE):
            listed = ", ".join(f"({db}, {table})" for db, table in _literals(part))
            tables = (
                "FROM information_schema.TABLES JOIN information_schema.ENGINES USING (ENGINE)"
                f" WHERE (TABLE_SCHEMA, TABLE_NAME) IN ({listed}) AND TRANSACTIONS"
            )
            yield (
                f"SET @safe=@safe+(SELECT COUNT(*) {tables}='YES'), @plain=CONCAT_WS(' ', @plain,"
                f" (SELECT GROUP_CONCAT(TABLE_SCHEMA, '.', TABLE_NAME SEPARATOR ' ') {tables}<>'YES'));\n"
            )
        yield _failing(
            "@safe>0 AND @plain<>'' AND @@GLOBAL.enforce_gtid_consistency IN ('1', 'ON')",
            f"CONCAT('{_NOT_UNDONE}: GTIDs allow no tables without transactions beside others: write a"
            " script for each kind with --exclude-table: ', LEFT(@plain, 100))",
        )

    def _sight(self) -> Iterator[str]:
        """Check that the account would see triggers and foreign keys, which servers show by privileges.

        A trigger is shown to those with TRIGGER on its table, a foreign key to those with a privilege beyond
        SELECT on the table that has it, which may be any. Sources: the manuals of both servers on
        information_schema.TRIGGERS and REFERENTIAL_CONSTRAINTS. What a role grants is listed by MySQL for
        accounts that may read the database ``mysql``, and by MariaDB for none.
        """
        quote = text_literal("'")
        host = "SUBSTRING_INDEX(CURRENT_USER(), '@', -1)"
        user = f"LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER())-CHAR_LENGTH({host})-1)"
        account = f"CONCAT({quote}, {user}, {quote}, '@', {quote}, {host}, {quote})"
        roles = f", REPLACE(REPLACE(CURRENT_ROLE(), '`', {quote}), ', ', ',')" if self._has_roles else ""
        yield f"SET @grantees=CONCAT_WS(',', {account}{roles});\n"
        granted = "FIND_IN_SET(GRANTEE, @grantees)"
        every = f"EXISTS (SELECT 1 FROM information_schema.USER_PRIVILEGES WHERE {granted} AND PRIVILEGE_TYPE"
        for part in _parts_of(sorted(self._operations), _TABLES_AT_ONCE):
            tables = " UNION ALL ".join(f"SELECT {db} AS d, {table} AS t" for db, table in _literals(part))
            yield (
                "SET @unseen=(SELECT GROUP_CONCAT(d, '.', t SEPARATOR ' ') FROM"
                f" ({tables}) AS undone WHERE NOT {every}='TRIGGER')"
                " AND NOT EXISTS (SELECT 1 FROM information_schema.SCHEMA_PRIVILEGES"
                f" WHERE {granted} AND PRIVILEGE_TYPE='TRIGGER' AND d LIKE TABLE_SCHEMA)"
                " AND NOT EXISTS (SELECT 1 FROM information_schema.TABLE_PRIVILEGES"
                f" WHERE {granted} AND PRIVILEGE_TYPE='TRIGGER' AND TABLE_SCHEMA=d AND TABLE_NAME=t));\n"
            )
            yield self._stop("@unseen", "triggers cannot be seen: grant this account itself TRIGGER ON")
        if any(operations & _REMOVING for operations in self._operations.values()):
            listed = ", ".join(map(text_literal, _SHOWING_KEYS))
            yield f"SET @unseen=IF({every} IN ({listed})), NULL, '*.*');\n"
            yield self._stop(
                "@unseen", "foreign keys cannot be seen: grant this account itself REFERENCES ON"
            )

    def _stop(self, found: str, what: str) -> str:
        """Fail if something was found, or print it and go on where conflicts do not stop the script."""
        if self.on_conflict is OnConflict.STOP:
            return _failing(f"{found} IS NOT NULL", f"CONCAT('{_NOT_UNDONE}: {what}: ', LEFT({found}, 100))")
        return f"SELECT {found} AS `{what}` FROM DUAL WHERE {found} IS NOT NULL;\n"

    def _triggers(self) -> Iterator[str]:
        events = sorted(
            (*name, operation) for name, operations in self._operations.items() for operation in operations
        )
        for part in _parts_of(events, _TABLES_AT_ONCE):
            listed = ", ".join(f"({', '.join(map(text_literal, event))})" for event in part)
            yield (
                "SET @triggers=(SELECT GROUP_CONCAT(TRIGGER_SCHEMA, '.', TRIGGER_NAME SEPARATOR ' ')"
                " FROM information_schema.TRIGGERS"
                f" WHERE (EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, EVENT_MANIPULATION) IN ({listed}));\n"
            )
            yield self._stop("@triggers", "triggers would fire")

    def _foreign_keys(self) -> Iterator[str]:
        """Check for foreign keys unknown to the logs that changed other tables, or would do so."""
        tables = sorted(name for name, operations in self._operations.items() if operations & _REMOVING)
        known = "".join(
            f" OR (CONSTRAINT_SCHEMA={db} AND TABLE_NAME={table})" for db, table in _literals(self._known)
        )
        for part in _parts_of(tables, _TABLES_AT_ONCE):
            listed = ", ".join(f"({db}, {table})" for db, table in _literals(part))
            yield (
                "SET @references=(SELECT GROUP_CONCAT(CONSTRAINT_SCHEMA, '.', CONSTRAINT_NAME SEPARATOR ' ')"
                " FROM information_schema.REFERENTIAL_CONSTRAINTS"
                " WHERE DELETE_RULE IN ('CASCADE', 'SET NULL')"
                f" AND (UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME) IN ({listed})"
                f" AND NOT (FALSE{known}));\n"
            )
            yield self._stop("@references", "foreign keys that the logs do not tell (give --schema)")

    @staticmethod
    def print_keys() -> str:
        """Print the keys of the rows that were not undone since the last print."""
        more = f"IF(LENGTH(@keys)>{KEYS_BYTES}, ' and more', '')"
        title = "rows not undone, as they are not what the log left"
        return f"SELECT CONCAT(@keys, {more}) AS `{title}` FROM DUAL WHERE @keys<>'';\nSET @keys='';\n"

    def end(self) -> str:
        """Print the result for each table, and end the transaction."""
        text = "\n" + self.print_keys()
        for part in _parts_of([*self._tables.items()], _TABLES_AT_ONCE):
            rows = " UNION ALL ".join(
                f"SELECT {text_literal(name)} AS `table`, @undone{number} AS `undone`,"
                f" @left{number} AS `not undone`"
                for name, number in part
            )
            text += f"{rows};\nSET @left=@left+{'+'.join(f'@left{number}' for _, number in part)};\n"
        if self.on_conflict is not OnConflict.STOP:
            return text + "COMMIT;\n"
        return (
            f"{text}SET @end=IF(@left=0, 'COMMIT', 'ROLLBACK');\n"
            "PREPARE undo_end FROM @end;\nEXECUTE undo_end;\nDEALLOCATE PREPARE undo_end;\n"
            + _failing("@left>0", f"CONCAT('{_NOT_UNDONE}: ', @left, ' rows are not as the log left them')")
        )


class TableCheck:
    """The checks after the statements about one table.

    Attributes:
        shown: columns that identify a row to people.
    """

    def __init__(self, table: SqlTable, number: int, dialect: SqlDialect, force: bool) -> None:
        self._table = table
        self._dialect = dialect
        self._force = force
        self._undone, self._left = f"@undone{number}", f"@left{number}"
        self.shown = table.key or _shown_without_key(table)

    def behind_row(
        self, done: Sequence[bytes | Part], values: Mapping[int, Iterable[Part]]
    ) -> Iterator[bytes | Part]:
        """Count an updated or deleted row, or record its key if it was not found."""
        yield f";\nSET {self._undone}={self._undone}+(".encode()
        yield from done
        yield f"), {self._left}={self._left}+1-(".encode()
        yield from done
        yield b"), @keys=IF("
        yield from done
        yield f" OR LENGTH(@keys)>{KEYS_BYTES}, @keys, CONCAT(@keys".encode()
        lead = f"{self._table.db}.{self._table.table}"
        for index, literals in values.items():
            opening, closing = _readable(self._table, index)
            yield f", {text_literal(f'{lead} {self._table.columns[index].source_name}=')}, {opening}".encode()
            yield from literals
            yield closing.encode()
            lead = ""
        yield f", {text_literal(f'{lead}; ')}));\n".encode()

    def around_insert(self, columns: Sequence[int]) -> tuple[bytes, bytes, bytes]:
        """Return the text around the rows of an INSERT that counts them.

        Rows whose key is taken are left unchanged and their keys recorded; with force they are overwritten.
        """
        names = self._table.names
        alias = self._dialect.flavour is Flavour.MYSQL and self._dialect.version >= _ROW_ALIAS_SINCE
        given = [f"{_ALIAS}.{name}" if alias else f"VALUES({name})" for name in names]
        head = f"INSERT INTO {self._table.name} ({', '.join(names[index] for index in columns)}) VALUES "
        if not columns:
            return head.encode(), f";\nSET {self._undone}={self._undone}+".encode(), b";\n"
        tail = f"\nAS {_ALIAS}\n" if alias else "\n"
        recorded = self.recorded({index: given[index] for index in self.shown if index in columns})
        first = names[columns[0]]
        same = f"{self._table.name}.{first}"
        left = f"({self._left}:={self._left}+1) IS NULL"
        if self._force:
            # Another row may have the value of another unique key, and is no row to set back.
            is_same = " AND ".join(
                f"{self._table.name}.{names[index]}={given[index]}" for index in self._table.key
            )
            less = f"({self._undone}:={self._undone}-1) IS NULL"
            sets = [
                f"{first}=IF({is_same}, {given[columns[0]]},"
                f" IF({left} OR {less} OR {recorded}, {same}, {same}))"
            ]
            sets += [
                f"{names[index]}=IF({is_same}, {given[index]}, {self._table.name}.{names[index]})"
                for index in columns[1:]
            ]
            tail += f"ON DUPLICATE KEY UPDATE {', '.join(sets)}"
            return head.encode(), f"{tail};\nSET {self._undone}={self._undone}+".encode(), b";\n"
        tail += (
            f"ON DUPLICATE KEY UPDATE {first}=IF({left} OR {recorded}, {same}, {same});\n"
            f"SET {self._undone}={self._undone}+GREATEST(ROW_COUNT(), 0),"
            f" {self._left}={self._left}+(ROW_COUNT()<0)"
        )
        return head.encode(), tail.encode() + b";\n", b""

    def recorded(self, values: Mapping[int, str]) -> str:
        """Return an expression, never true, that records a row's key, given expressions of its values."""
        shown = "".join(
            f", {text_literal(f' {self._table.columns[index].source_name}=')}"
            f", {value.join(_readable(self._table, index))}"
            for index, value in values.items()
        )
        key = f"CONCAT(@keys, {text_literal(f'{self._table.db}.{self._table.table}')}{shown}, '; ')"
        return f"(@keys:=IF(LENGTH(@keys)>{KEYS_BYTES}, @keys, {key})) IS NULL"

    def not_found(self, values: Mapping[int, str]) -> str:
        """Return an expression, never true, that records the key of a row that a statement does not find."""
        recorded = self.recorded(values)
        return f"(@missing:=@missing+1) IS NULL OR {recorded}" if self._force else recorded

    def after_rows(self) -> tuple[str, str]:
        """Return the text after a statement about many rows that counts them, and after their number.

        By force, a row that is as before already counts as undone, though the server changes nothing.
        """
        undone, left = self._undone, self._left
        done = "IF(@changed<0, 0, @rows-@missing)" if self._force else "GREATEST(@changed, 0)"
        start = "SET @missing=0;\n" if self._force else ""
        return ";\nSET @changed=ROW_COUNT(), @rows=", (
            f";\nSET {undone}={undone}+{done}, {left}={left}+@rows-{done};\n{start}"
        )


def _shown_without_key(table: SqlTable) -> tuple[int, ...]:
    """Return some columns by which people can find a row of a table without key."""
    plain = [index for index in table.writable if table.columns[index].type.kind not in _NOT_SHOWN]
    return tuple(plain[:_SHOWN_COLUMNS])


def _readable(table: SqlTable, index: int) -> tuple[str, str]:
    """Return SQL around a value to make it readable: bytes as digits; outside keys NULL, long values cut."""
    kind, key = table.columns[index].type.kind, index in table.key
    opening, closing = ("", "") if key else ("LEFT(", f", {_SHOWN_CHARACTERS})")
    if kind is Kind.BINARY:
        opening, closing = f"CONCAT('0x', HEX({opening}", f"{closing}))"
    elif table.columns[index].type.charset not in {None, DEFAULT_CHARSET}:
        # MariaDB joins texts of some character sets with no others.
        opening, closing = f"CONVERT({opening}", f"{closing} USING utf8mb4)"
    return (opening, closing) if key else (f"IFNULL({opening}", f"{closing}, 'NULL')")


def _failing(condition: str, message: str) -> str:
    """A statement that fails with a message if a condition holds; the message must have no comma."""
    return f"SET @@session.sql_mode=IF({condition}, {message}, @@session.sql_mode);\n"


def _literals(names: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(text_literal(db), text_literal(table)) for db, table in sorted(names)]


_Item = TypeVar("_Item")


def _parts_of(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    for first in range(0, len(items), size):
        yield items[first : first + size]
