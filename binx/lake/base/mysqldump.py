"""Import dumps of mysqldump and mariadb-dump: statements, and rows in INSERTs.

Sources: client/mysqldump.cc of MySQL 9.7 and client/mysqldump.c of MariaDB 10.11.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from binx.errors import DamagedError, RefusedError
from binx.lake.base.dump_text import DumpText, Insert, Note, Sql, open_text
from binx.lake.base.dump_values import UTF8MB3
from binx.lake.base.source import BaseSource
from binx.log.backup_position import position_in_dump
from binx.log.selection.times import parse_time
from binx.rows.columns.types import Kind
from binx.rows.ddl.dump_statements import used_database

_DATABASE = re.compile(r"^-- Host: .*?\s+Database: (.*)$", re.MULTILINE)
_SERVER = re.compile(r"^-- Server version\s+(\S+)", re.MULTILINE)
_SET = r"(?:/\*M?!\d*\s*)?SET\s+(?:SESSION\s+|@@SESSION\.)?"
_NAMES = re.compile(_SET + r"NAMES\s+'?(\w+)", re.IGNORECASE)
_ZONE = re.compile(_SET + r"TIME_ZONE\s*=\s*'([^']*)'", re.IGNORECASE)
_INSERT = re.compile(r"(?:INSERT|REPLACE)\s", re.IGNORECASE)
_COMMENTED = re.compile(r"^-- (?:MySQL|MariaDB) dump ", re.MULTILINE)
_COMPLETED = re.compile(r"\n-- Dump completed(?: on (\d+-\d\d-\d\d) +(\d+:\d\d:\d\d))?")
_ZONES = 14 * 3600 * 1_000_000
"""The most that local time differs from UTC, in µs."""
_FILLED = re.compile(r"-- Dumping data for table (?:`((?:[^`]|``)+)`|(.+))$")
_CHARSETS = frozenset({"utf8mb4", "binary", *UTF8MB3})
_SHOWN = 80
_UTC = frozenset({"+00:00", "UTC"})


def server_of(head: str) -> str:
    """Return the server version recorded in a dump's head, or an empty string."""
    match = _SERVER.search(head)
    return "" if match is None else match[1]


def database_of(head: str) -> str:
    """Return the database recorded in a dump's head; empty if the dump has several."""
    match = _DATABASE.search(head)
    return "" if match is None else match[1].strip()


class SqlDumpRows:
    """Imports tables and rows from SQL files.

    Args:
        db: the default database until a USE statement.
    """

    def __init__(self, source: BaseSource, db: str) -> None:
        self._source = source
        self._db = db
        self._zone = ""
        self._charset = "utf8mb4"
        self._table = ""

    def read(self, text: DumpText, progress: Callable[[int], None] = lambda _: None) -> None:
        """Import one file.

        Raises:
            BinxError: the file cannot be read, or something in it cannot be imported.
        """
        for statement in text.statements():
            if isinstance(statement, Insert):
                self._take_rows(statement, text, progress)
            elif isinstance(statement, Note):
                self._take_note(statement.text)
            else:
                self._follow(statement, text)
            progress(text.read)

    def _take_note(self, note: str) -> None:
        match = _FILLED.match(note)
        if match is None:
            self._source.leave_out((self._db, self._table), f"the dump has only some of them ({note[3:]})")
            return
        self._table = match[2] if match[1] is None else match[1].replace("``", "`")
        self._source.filled.add((self._db, self._table))

    def _follow(self, statement: Sql, text: DumpText) -> None:
        used = used_database(statement.text)
        names, zone = _NAMES.match(statement.text), _ZONE.match(statement.text)
        if used is not None:
            self._db = used
        elif names is not None and names[1].lower() in _CHARSETS:
            self._charset = names[1].lower()
        elif names is not None:
            raise RefusedError(
                f"expected text in utf8mb4, found SET NAMES {names[1]}: make the dump with"
                " --default-character-set=utf8mb4",
                path=text.path,
                offset=statement.offset,
            )
        elif zone is not None:
            self._zone = zone[1]
        elif _INSERT.match(statement.text) and self._source.wants((self._db, "")):
            raise RefusedError(
                f"expected INSERT INTO a table VALUES, found {statement.text[:_SHOWN]}: make the dump without"
                " --compatible",
                path=text.path,
                offset=statement.offset,
            )
        else:
            self._source.statement(statement.text, self._db, statement.offset)

    def _take_rows(self, insert: Insert, text: DumpText, progress: Callable[[int], None]) -> None:
        db = self._db if insert.db is None else insert.db
        if not self._source.wants((db, insert.table)):
            text.skip_rows()
            return
        if not db:
            raise RefusedError(
                f"expected the database of the table {insert.table} (USE, or comments), found none:"
                " make the dump with --databases, or without --skip-comments and --compact",
                path=text.path,
                offset=insert.offset,
            )
        rows = self._source.rows_of(db, insert.table, insert.columns, charset=self._charset)
        self._source.filled.add((rows.table.db, rows.table.name))
        kinds = {column.type.kind for column in rows.table.resolved.columns}
        if Kind.TIMESTAMP in kinds and self._zone not in _UTC:
            raise RefusedError(
                f"{db}.{insert.table} has TIMESTAMP columns, and the dump does not say that it writes them in"
                " UTC (SET TIME_ZONE='+00:00'): make it without --skip-tz-utc",
                path=text.path,
                offset=insert.offset,
            )
        rows.tuples.begin()
        while not text.rows(rows.tuples, *self._source.batch_limits):
            self._source.take(rows)
            progress(text.read)


def read_mysqldump(source: BaseSource, head: str, progress: Callable[[int], None]) -> None:
    """Import a dump that is one file."""
    with open_text(source.backup.path) as text:
        SqlDumpRows(source, database_of(head)).read(text, progress)
        completed = _COMPLETED.search(text.tail)
        if _COMMENTED.search(head) and completed is None:
            raise DamagedError(
                "expected -- Dump completed at the end, found none: the dump is cut off; make it again",
                path=text.path,
                offset=text.position,
            )
        if completed is not None and completed[1]:
            # A copy of the file may have another time; the note is in local time.
            noted = parse_time(f"{completed[1]} {completed[2]:0>8}")
            source.written = max(noted - _ZONES, min(source.written, noted + _ZONES))
        source.leave_out_unfilled()
        source.sha256 = text.sha256
        # MariaDB's dumps of all databases have GTIDs at the end, unread until now in a compressed dump.
        source.gtids = source.gtids or position_in_dump("", text.tail).gtids
