"""Statements in a log: DDL, statement-based changes, and the events that set up their context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from binx.event.charset import DEFAULT_CHARSET
from binx.event.format import Flavour
from binx.event.header import EventFlag, EventHeader, EventType
from binx.event.parsers import parse_event
from binx.event.query_event import DuplicateHandling, ExecuteLoadQuery, LoadBlock, Query
from binx.event.replication import Incident
from binx.event.session_variables import session_options, sql_mode_number
from binx.event.statement import Intvar, IntvarType, Rand, RowsQuery, UserVar, XaPrepare
from binx.kernels.transactions.table import TransactionTable
from binx.log.binlog_file import BinlogFile
from binx.log.identifiers import id_at
from binx.rows.columns.charsets import charset_of_collation
from binx.rows.columns.schema import NO_BACKSLASH_ESCAPES, StatementContext
from binx.rows.ddl.catalog import Followed
from binx.rows.ddl.parse import first_word, is_schema_statement
from binx.rows.ddl.parsed_statements import CreateTable

ROWS = "rows"
"""The kind of a statement that is logged as row changes, with its text alongside."""

_DML_WORDS = ("insert", "update", "delete", "replace", "load", "select", "with", "call")
_TRANSACTION_WORDS = ("xa", "savepoint", "rollback", "release")


class LoadedFile(NamedTuple):
    """The file that a LOAD DATA read, as its log holds it.

    Attributes:
        bytes: how many bytes of it are in the log.
        position: offset of BEGIN_LOAD_QUERY, or of the payload around it; None if the log lacks it.
        file_id: the number of its blocks.
        name_start: index in the statement (its ``raw`` if that is not None, else its ``sql``) of the part
            with the file's name.
        name_end: the part's end.
    """

    bytes: int
    position: int | None
    file_id: int
    name_start: int = 0
    name_end: int = 0
    duplicates: DuplicateHandling = DuplicateHandling.ERROR


class Statement(NamedTuple):
    """A statement with everything needed to execute it again.

    Attributes:
        commit_version: its transaction's commit version.
        commit_timestamp: its transaction's commit time, µs since 1970.
        transaction: its transaction's ID.
        ordinal: its number among the transaction's statements, from 0; statements logged as rows are
            included.
        position: offset of its event.
        timestamp: the event's own time, seconds since 1970.
        kind: ``ddl``, ``dml`` or ``other`` (also for statements that do not take effect); ``rows`` for
            the text of a statement that is logged as rows.
        db: the session's default database.
        sql_is_text: whether the text holds every byte of the statement.
        options: session variables, with the names that SET statements use.
        insert_id: value for the first AUTO_INCREMENT column, if logged.
        last_insert_id: value of LAST_INSERT_ID(), if logged.
        rand_seeds: the two seeds of RAND(), if logged.
        user_vars: user variables as SQL literals.
        exec_time: seconds from its start to its end.
        error_code: the error with which it ended on its server, 0 for none.
        loaded: for LOAD DATA, its file; None for other statements.
        context: for DDL, the session state that the catalog needs.
        microseconds: the microseconds of its timestamp, if logged.
        uses_db: whether it runs in the default database; false for CREATE DATABASE and the like.
        unknown_variables: codes of status variables that binx does not know; the variables after one are not
            read.
        takes_effect: false for the START and ROLLBACK of a two-phase ALTER, which are
            of kind ``other``; see :attr:`~binx.event.query_event.Query.takes_effect`.
        uses_temporary: whether it uses a temporary table or other state of its connection.
        raw: the statement's bytes if the text does not hold all of them, else None.
        charset: the character set of these bytes.
        followed: for DDL, the parsed statement and its changes.
    """

    commit_version: int
    commit_timestamp: int
    transaction: str
    ordinal: int
    position: int
    timestamp: int
    kind: str
    db: str
    sql: str
    options: Mapping[str, str]
    user_vars: Mapping[str, str]
    sql_is_text: bool = True
    insert_id: int | None = None
    last_insert_id: int | None = None
    rand_seeds: tuple[int, int] | None = None
    thread_id: int | None = None
    exec_time: int | None = None
    error_code: int = 0
    loaded: LoadedFile | None = None
    context: StatementContext | None = None
    microseconds: int | None = None
    uses_db: bool = True
    unknown_variables: tuple[int, ...] = ()
    takes_effect: bool = True
    uses_temporary: bool = False
    raw: bytes | None = None
    charset: str = DEFAULT_CHARSET
    followed: Followed | None = None

    @property
    def hides_rows(self) -> bool:
        """Whether it changed rows that are not in the log."""
        parsed = None if self.followed is None else self.followed.parsed
        return self.kind == "dml" or (isinstance(parsed, CreateTable) and parsed.select)


class StatementReader:
    """Assembles statements from their events, in file order."""

    def __init__(self, file: BinlogFile) -> None:
        self._file = file
        self._log = f"{file.name}.{file.identity}"
        self._transaction = -1
        self._before: dict[str, Any] = {}
        """Attributes from the events before a statement that belong to it."""
        self._loaded: dict[int, LoadedFile] = {}

    def take(
        self,
        body: memoryview,
        header: EventHeader,
        table: TransactionTable,
        index: int,
        ids: tuple[bytes, bytes],
        ordinal: int,
    ) -> Statement | None:
        """Return the statement that an event completes; None for an event that only sets up a statement.

        Args:
            ids: the table's :func:`~binx.log.identifiers.transaction_ids`.
            ordinal: the number of earlier statements in its transaction.
        """
        start = table.value("start", index)
        if start != self._transaction:
            self._transaction = start
            self._before.clear()
            self._loaded.clear()
        parsed = parse_event(body, header, table.format)
        kind, sql = "other", ""
        query: Query | None = None
        load: ExecuteLoadQuery | None = None
        match parsed:
            case Intvar():
                is_own = parsed.type == IntvarType.INSERT_ID
                self._before["insert_id" if is_own else "last_insert_id"] = parsed.value
                return None
            case Rand():
                self._before["rand_seeds"] = (parsed.seed1, parsed.seed2)
                return None
            case UserVar():
                literal = parsed.literal(mariadb=table.format.flavour is Flavour.MARIADB)
                self._before.setdefault("user_vars", {})[parsed.name] = literal
                return None
            case LoadBlock():
                self._take_block(parsed, header)
                return None
            case Query():
                query = parsed
            case ExecuteLoadQuery():
                query, load = parsed.query, parsed
            case RowsQuery():
                kind, sql = ROWS, parsed.text
            case Incident():
                # In one line, which cannot end a comment.
                sql = f"-- INCIDENT {parsed.name}: {' '.join(parsed.message.split())}"
            case XaPrepare(one_phase=False):
                sql = f"XA PREPARE {parsed.xid}"
            case _:
                return None
        statement = Statement(
            commit_version=self._file.commit_version(start),
            commit_timestamp=table.value("commit_timestamp", index),
            transaction=id_at(ids, index),
            ordinal=ordinal,
            position=header.position,
            timestamp=header.timestamp,
            kind=kind,
            db="",
            sql=sql,
            options={},
            user_vars={},
        )
        return statement if query is None else self._of_query(statement, query, header, load)

    def _take_block(self, block: LoadBlock, header: EventHeader) -> None:
        """Count the bytes of a file that is loaded."""
        number, position = block.file_id, header.position
        begins = header.type == EventType.BEGIN_LOAD_QUERY
        before = None if begins else self._loaded.get(number)
        if before is None:
            before = LoadedFile(0, position if begins else None, number)
        self._loaded[number] = before._replace(bytes=before.bytes + len(block.data))

    def _file_of(self, load: ExecuteLoadQuery, *, in_bytes: bool) -> LoadedFile:
        """Return the file of a LOAD DATA."""
        start, end = load.file_name_start, load.file_name_end
        if not in_bytes:
            sql, charset = load.query.sql, load.query.charset
            start, end = len(charset.decode(sql[:start])), len(charset.decode(sql[:end]))
        found = self._loaded.pop(load.file_id, LoadedFile(0, None, load.file_id))
        return found._replace(name_start=start, name_end=end, duplicates=load.duplicates)

    def _of_query(
        self, statement: Statement, query: Query, header: EventHeader, load: ExecuteLoadQuery | None
    ) -> Statement:
        before, self._before = self._before, {}
        charset = query.charset
        exact = charset.decode_strictly(query.sql)
        sql = charset.decode(query.sql) if exact is None else exact
        is_ddl = query.takes_effect and is_schema_statement(sql)
        context = statement_context(query, header, self._log) if is_ddl else None
        return statement._replace(
            kind=_kind(sql, context or _version_context(query.flavour, query.version))
            if query.takes_effect
            else "other",
            db=query.database,
            sql=sql,
            sql_is_text=exact is not None,
            options=session_options(query),
            thread_id=query.thread_id,
            exec_time=query.execution_time,
            error_code=query.error_code,
            loaded=None if load is None else self._file_of(load, in_bytes=exact is None),
            context=context,
            microseconds=query.status.microseconds,
            uses_db=bool(query.database) and EventFlag.SUPPRESS_USE not in header.flags,
            unknown_variables=tuple(code for code, _ in query.status.unknown),
            takes_effect=query.takes_effect,
            uses_temporary=EventFlag.THREAD_SPECIFIC in header.flags,
            raw=query.sql if exact is None else None,
            charset=charset.name,
            **before,
        )


def _kind(sql: str, context: StatementContext) -> str:
    """Return ``dml`` for changes of data, ``other`` for transactions and ``ddl`` for all else, users too."""
    first = first_word(sql, context)
    if first in _TRANSACTION_WORDS:
        return "other"
    return "dml" if first in _DML_WORDS else "ddl"


EXPLICIT_DEFAULTS_SINCE = {Flavour.MYSQL: (8, 0, 2), Flavour.MARIADB: (10, 10, 0)}
"""Versions whose explicit_defaults_for_timestamp is ON where nobody set it."""


def statement_context(query: Query, header: EventHeader, log: str = "") -> StatementContext:
    """Return what the catalog needs to know of the session that ran a statement.

    Args:
        log: the name of the log that it stands in, with its identity.
    """
    context = session_context(session_options(query), query.flavour, query.version, by_server=query.by_server)
    return context._replace(
        client=query.charset.name,
        is_text=query.sql_is_text or query.charset.encode(query.text) == query.sql,
        failed=query.error_code != 0,
        committed=bool(query.status.ddl_xid or query.status.mariadb_xid),
        position=(log, header.position),
        connection=(header.server_id, query.thread_id),
        uses_temporary=EventFlag.THREAD_SPECIFIC in header.flags,
        seconds=header.timestamp,
        microseconds=query.status.microseconds,
    )


def session_context(
    options: Mapping[str, str], flavour: Flavour, version: tuple[int, int, int], *, by_server: bool
) -> StatementContext:
    """Return what a session's variables say of its statements, with the names that SET statements use.

    Args:
        by_server: whether the server wrote the statement itself: that is not read as the session's texts are.
    """
    written = options.get("sql_mode", "")
    mode = int(written) if written.isdecimal() else sql_mode_number(written, flavour)
    server, connection = map(options.get, ("collation_server", "collation_connection"))
    explicit = options.get("explicit_defaults_for_timestamp")
    return _version_context(flavour, version)._replace(
        sql_mode=mode & ~NO_BACKSLASH_ESCAPES if by_server else mode,
        server_collation=_known(server),
        explicit_defaults_for_timestamp=(
            version >= EXPLICIT_DEFAULTS_SINCE[flavour] if explicit is None else explicit == "1"
        ),
        literals=None if by_server else charset_of_collation(_known(connection)),
        client=options.get("character_set_client"),
        time_zone=options.get("time_zone", ""),
        collations=_default_collations(options),
    )


def _known(collation: str | None) -> str | None:
    """Return a collation's name; None for the number of an unknown one."""
    return None if collation is None or collation.isdecimal() else collation


def _default_collations(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the default collations of character sets in a session, other than the compiled ones."""
    collation = options.get("default_collation_for_utf8mb4", _COMPILED)
    own = () if collation == _COMPILED else (("utf8mb4", collation),)
    pairs = (pair.split("=") for pair in options.get("character_set_collations", "").split(",") if pair)
    return (*own, *((charset, name) for charset, name in pairs))


_COMPILED = "utf8mb4_0900_ai_ci"


def _version_context(flavour: Flavour, version: tuple[int, int, int]) -> StatementContext:
    """Return what decides which comments of a statement are executed."""
    major, minor, patch = version
    number = major * 10000 + minor * 100 + patch
    return StatementContext(mariadb=flavour is Flavour.MARIADB, version=number)
