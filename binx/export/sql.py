"""``extract --format sql``: transactions as statements that a server of the same kind replays to the same data.

Each transaction is what it was: its GTID, its time, BEGIN and COMMIT around its row changes and statements;
savepoints, XA transactions and those that ended in ROLLBACK too. A statement gets the session that it ran in, set where
it differs from what is in force.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from binx.errors import RefusedError
from binx.event.format import Flavour
from binx.event.header import HEADER_SIZE, parse_header
from binx.event.mariadb import MariadbGtidFlag, parse_mariadb_gtid
from binx.export.changes import Begin, End, Rendered, RowTexts, Selected, ordered_changes
from binx.export.output import Sink
from binx.export.sql_literals import identifier, text_literal
from binx.export.sql_rows import RowMark, SqlDialect, SqlRows, refuse_table
from binx.kernels.transactions import GtidKind
from binx.log.file import BinlogFile
from binx.log.moments import format_time
from binx.rows.batches import ChangeBatch
from binx.rows.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.statements import Statement

BUFFER_BYTES = 1024 * 1024
"""How much is collected before it is written."""

STRICT_MODE = "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES"
"""Zero and impossible dates are taken as they are, and a value that does not fit is an error, not another value."""

LENIENT_MODE = "NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES"

_CHARSET_OPTIONS = {"character_set_client": "utf8mb4"}
_ROW_OPTIONS = {
    **_CHARSET_OPTIONS,
    "character_set_connection": "utf8mb4",
    "sql_mode": STRICT_MODE,
    "time_zone": "+00:00",
    "foreign_key_checks": "1",
    "unique_checks": "1",
}
_ROW_OPTIONS_OF = {
    Flavour.MYSQL: _ROW_OPTIONS,
    Flavour.MARIADB: {**_ROW_OPTIONS, "check_constraint_checks": "1"},
}

_UNLESS_GIVEN = {
    "auto_increment_increment": "1",
    "auto_increment_offset": "1",
    "lc_time_names": "en_US",
    "collation_database": "DEFAULT",
}
"""What a statement's event leaves out where it has this value."""

_NOT_SET = frozenset({"autocommit", "character_set_client"})
"""``autocommit`` would commit, and BEGIN and COMMIT are written; the text is in utf8mb4 whatever the client spoke."""

_PLAIN_VALUE = re.compile(r"\d+|DEFAULT")
_CREATE_TABLE = re.compile(r"\s*create\s+(or\s+replace\s+)?table\b", re.IGNORECASE)
_START_TRANSACTION = re.compile(r"\s+START\s+TRANSACTION\s*\Z", re.IGNORECASE)
_XA_WORDS = ("XA PREPARE ", "XA COMMIT ", "XA ROLLBACK ")
_INCIDENT = "-- INCIDENT "
_LOGGED = "SET @@session.sql_log_bin=1;\n"
_XA_ENDS = frozenset({"xa_commit", "xa_rollback"})
_LOOSE_KINDS = frozenset({"dml", "rollback"})


def check_sql(selected: Iterable[Selected], catalog: Catalog) -> list[str]:
    """Find out whether the transactions can be written as SQL, without writing a byte.

    Args:
        selected: as :func:`write_sql` will get them, from scans of their own.
        catalog: the tables known beforehand; left as it is.

    Returns:
        Warnings about tables and statements, in sentences.

    Raises:
        RefusedError: a table's columns have no names, or a statement cannot be written.
        DamagedError, UnsupportedError: a transaction cannot be decoded.
    """

    def nothing(_: ChangeBatch, __: BinlogFile) -> Rendered:
        raise AssertionError("no rows are decoded")

    checked: set[int] = set()
    decoders: list[ChangeDecoder] = []
    items = ordered_changes(selected, catalog.copy(), nothing, resolve_only=True, decoders=decoders)
    prepared = _PreparedXa()
    for item in items:
        prepared.take(item)
        if isinstance(item, Statement):
            refuse_statement(item)
    for decoder in decoders:
        for changes in decoder.tables:
            if id(changes) not in checked:
                checked.add(id(changes))
                refuse_table(changes.resolved)
    return [warning for decoder in decoders for warning in decoder.report.warnings]


def write_sql(selected: Iterable[Selected], output: Sink, catalog: Catalog) -> int:
    """Write transactions as SQL.

    Args:
        selected: the transactions, in the order in which they shall be run.
        output: where to; see :func:`~binx.export.output.open_output`.
        catalog: the tables known beforehand; moved on by the schema statements met.

    Returns:
        How many transactions were written.

    Raises:
        RefusedError: see :func:`check_sql`, which finds most reasons before the first byte.
        DamagedError, UnsupportedError: a transaction cannot be decoded.
        OutputError: the output cannot be written.
    """
    buffer = bytearray()
    transactions = 0
    for chunk in sql_chunks(selected, catalog):
        if isinstance(chunk, Begin):
            transactions += 1
            continue
        buffer += chunk
        if len(buffer) >= BUFFER_BYTES:
            output.write(buffer)
            buffer = bytearray()
    output.write(buffer)
    return transactions


def sql_chunks(selected: Iterable[Selected], catalog: Catalog) -> Iterator[bytes | memoryview | Begin]:
    """The SQL piece by piece, each transaction's :class:`~binx.export.changes.Begin` before its text."""
    writer: SqlScript | None = None
    rows: SqlRows | None = None

    def render(changes: ChangeBatch, file: BinlogFile) -> Rendered:
        nonlocal rows
        if rows is None or rows.dialect != SqlDialect.of(file.format):
            rows = SqlRows(SqlDialect.of(file.format))
        return rows(changes, file)

    for item in ordered_changes(selected, catalog, render, raw_text=True):
        if isinstance(item, Begin):
            if writer is None:
                writer = SqlScript(item.file.format.flavour)
                yield writer.head()
            yield item
        assert writer is not None
        yield from writer.take(item)
    if writer is not None:
        yield writer.foot()


@dataclass(slots=True)
class _Open:
    """The transaction at hand.

    Attributes:
        begin: its facts.
        begun: whether BEGIN or XA START is written.
        done: whether nothing must follow.
        written: whether a statement is written that its GTID is for.
        xid: of an XA transaction that is not prepared yet, its name.
    """

    begin: Begin
    begun: bool = False
    done: bool = False
    written: bool = False
    xid: str | None = None

    @property
    def loose(self) -> bool:
        """Whether tables without transactions were changed by more than one statement of this script.

        A server logs each such statement at once and as a transaction of its own, and there is one GTID.
        """
        facts = self.begin.facts
        several = facts["rows"] and facts["rows"] + facts["statements"] > 1
        return bool(several and facts["xid"] is None and facts["kind"] in _LOOSE_KINDS and facts["gtid"])


class SqlScript:
    """Statements around row changes, and the session that is in force."""

    def __init__(self, flavour: Flavour) -> None:
        self._flavour = flavour
        self._session: dict[str, str] = {}
        self._database: str | None = None
        self._timestamp: str | None = None
        self._gtid: str | None = None
        self._open: _Open | None = None
        self._prepared = _PreparedXa()

    def head(self) -> bytes:
        """What the script begins with."""
        server, client = ("MariaDB", "mariadb") if self._flavour is Flavour.MARIADB else ("MySQL", "mysql")
        lines = [
            f"-- Transactions out of binary logs of {server}, written by binx.",
            f"-- To run them: {client} --binary-mode --default-character-set=utf8mb4 < THIS_FILE",
            "SET NAMES utf8mb4;",
        ]
        self._session.update(_CHARSET_OPTIONS)
        return ("\n".join(lines) + "\n" + self._set(_ROW_OPTIONS_OF[self._flavour])).encode()

    def foot(self) -> bytes:
        """What the script ends with."""
        lines = ["", "SET TIMESTAMP=DEFAULT;"]
        if self._gtid is not None and self._flavour is Flavour.MYSQL:
            lines.append("SET @@session.gtid_next='AUTOMATIC';")
        return ("\n".join(lines) + "\n").encode()

    def take(self, item: Begin | RowTexts | Statement | End) -> Iterator[bytes | memoryview]:
        """The text of one item.

        Raises:
            RefusedError: a statement cannot be written.
        """
        self._prepared.take(item)
        if isinstance(item, Begin):
            self._open = _Open(item)
            yield _encoded(self._introduction(item))
        elif isinstance(item, RowTexts):
            yield _encoded(self._before_rows(item.mark))
            yield item.text
        elif isinstance(item, Statement):
            refuse_statement(item)
            yield _encoded(self._statement(item))
        else:
            yield _encoded(self._end())

    @property
    def _at_hand(self) -> _Open:
        assert self._open is not None
        return self._open

    def _introduction(self, begin: Begin) -> str:
        facts = begin.facts
        remarks = [
            f"{comment_text(facts['file'])} {facts['start']}-{facts['end']}",
            comment_text(facts["transaction"]),
        ]
        remarks.append(f"committed {format_time(facts['commit_timestamp'])}")
        if facts["xid"] is not None:
            remarks.append(f"xid {facts['xid']}")
        return f"\n-- {', '.join(remarks)}\n{self._set_timestamp(facts['begin_timestamp'])}"

    def _claim(self) -> str:
        """Set the GTID before the first statement that is run under it."""
        at_hand = self._at_hand
        if at_hand.written:
            return ""
        at_hand.written = True
        return self._set_gtid(at_hand.begin)

    def _set_gtid(self, begin: Begin) -> str:
        gtid = begin.facts["gtid"]
        kind = begin.table.value("gtid_kind", begin.index)
        if kind == GtidKind.GTID_MARIADB and self._prepared.ends_here:
            return ""
        if kind == GtidKind.GTID_MARIADB:
            domain, server, sequence = gtid.split("-")
            self._gtid = gtid
            return (
                f"SET @@session.gtid_domain_id={domain}, @@session.server_id={server},"
                f" @@session.gtid_seq_no={sequence};\n"
            )
        wanted = f"'{gtid}'" if kind == GtidKind.GTID_MYSQL else "'AUTOMATIC'"
        if self._flavour is Flavour.MARIADB or (self._gtid is None and kind != GtidKind.GTID_MYSQL):
            return ""
        self._gtid = wanted
        return f"SET @@session.gtid_next={wanted};\n"

    def _set_timestamp(self, moment: int) -> str:
        """Set the current time, in µs since 1970."""
        seconds, fraction = divmod(moment, 1_000_000)
        text = f"{seconds}.{fraction:06d}" if fraction else str(seconds)
        if text == self._timestamp:
            return ""
        self._timestamp = text
        return f"SET TIMESTAMP={text};\n"

    def _before_rows(self, mark: int) -> str:
        options = dict(_ROW_OPTIONS_OF[self._flavour])
        if mark & RowMark.NO_FOREIGN_KEY_CHECKS:
            options["foreign_key_checks"] = "0"
        if mark & RowMark.LENIENT:
            options["sql_mode"] = LENIENT_MODE
        return self._begin() + self._set(options)

    def _begin(self) -> str:
        at_hand = self._at_hand
        if at_hand.begun:
            return ""
        at_hand.begun = True
        if at_hand.loose:
            at_hand.written = True
            return f"{self._unlogged(at_hand.begin)}BEGIN;\n"
        claim = self._claim()
        if self._flavour is Flavour.MARIADB and at_hand.begin.facts["kind"] == "xa_prepare":
            at_hand.xid = _mariadb_xid(at_hand.begin)
            return f"{claim}XA START {at_hand.xid};\n"
        return f"{claim}BEGIN;\n"

    def _unlogged(self, begin: Begin) -> str:
        """Keep what follows out of the log of the server that runs it."""
        automatic = "SET @@session.gtid_next='AUTOMATIC';\n" if _has_mysql_gtid(begin) else ""
        return f"{automatic}SET @@session.sql_log_bin=0;\n"

    def _statement(self, statement: Statement) -> str:
        if statement.kind == "other":
            return self._marker(statement)
        at_hand = self._at_hand
        alone = (
            statement.kind == "ddl" and not at_hand.begun and _CREATE_TABLE.match(statement.sql) is not None
        )
        if at_hand.begin.facts["kind"] != "ddl" and alone:
            return self._table_with_rows(statement)
        begin = self._claim() if at_hand.begin.facts["kind"] == "ddl" else self._begin()
        return begin + self._with_session(statement, statement.sql)

    def _marker(self, statement: Statement) -> str:
        """Savepoints, and what begins and ends XA transactions."""
        at_hand, sql = self._at_hand, statement.sql
        if sql.startswith("XA START "):
            at_hand.begun, at_hand.xid = True, sql.removeprefix("XA START ")
        elif sql.startswith(_XA_WORDS):
            at_hand.done, at_hand.xid = True, None
        begin = self._claim() if at_hand.done or at_hand.begun else self._begin()
        return begin + _terminated(sql)

    def _table_with_rows(self, statement: Statement) -> str:
        """CREATE TABLE … SELECT: the server logs the table and its rows as one transaction, which no statements are.

        The table comes first, without a place in the log of the server that runs it.
        """
        begin = self._at_hand.begin
        text = self._with_session(statement, _START_TRANSACTION.sub("", statement.sql))
        return f"{self._unlogged(begin)}{text}{_LOGGED}"

    def _with_session(self, statement: Statement, sql: str) -> str:
        options = {name: value for name, value in statement.options.items() if name not in _NOT_SET}
        for name, value in _UNLESS_GIVEN.items():
            if name not in options and name in self._session:
                options[name] = value
        text = self._use(statement)
        moment = statement.timestamp * 1_000_000 + (statement.microseconds or 0)
        text += self._set_timestamp(moment) + self._set(options) + _single_use(statement)
        if statement.error_code:
            text += f"-- ended with error {statement.error_code} on its server\n"
        return text + _terminated(sql)

    def _use(self, statement: Statement) -> str:
        if not statement.uses_db or not statement.db:
            # What drops the default database leaves the session without one.
            self._database = None
            return ""
        if statement.db == self._database:
            return ""
        self._database = statement.db
        return f"USE {identifier(statement.db)};\n"

    def _set(self, options: Mapping[str, str]) -> str:
        """Set the session's variables that differ."""
        if "collation_connection" in options:
            self._session.pop("character_set_connection", None)
        changes = {name: value for name, value in options.items() if self._session.get(name) != value}
        if not changes:
            return ""
        self._session.update(changes)
        if "character_set_connection" in changes:
            self._session.pop("collation_connection", None)
        return (
            "SET " + ", ".join(f"@@session.{name}={_value(value)}" for name, value in changes.items()) + ";\n"
        )

    def _end(self) -> str:
        at_hand, self._open = self._at_hand, None
        if at_hand.xid is not None:
            return f"XA COMMIT {at_hand.xid} ONE PHASE;\n"
        if at_hand.done:
            return ""
        if at_hand.begun:
            rolled_back = at_hand.begin.facts["kind"] == "rollback"
            text = "ROLLBACK;\n" if rolled_back else "COMMIT;\n"
            text += _LOGGED if at_hand.loose else ""
            return text + self._empty(at_hand.begin) if rolled_back or at_hand.loose else text
        return "" if at_hand.written else self._empty(at_hand.begin)

    def _empty(self, begin: Begin) -> str:
        """An empty transaction, so that the GTID counts as run; nothing where it does already or there is none."""
        if not _has_mysql_gtid(begin):
            return ""
        return f"{self._set_gtid(begin)}BEGIN;\nCOMMIT;\n"


class _PreparedXa:
    """MariaDB's session between XA PREPARE and the end: it takes nothing else, not even a GTID (error 1953).

    The number that the server gives next is the one in the log where the end follows at once.

    Attributes:
        ends_here: whether the transaction at hand ends the XA transaction that the one before it prepared.
    """

    def __init__(self) -> None:
        self.ends_here = False
        self._prepared = False
        self._mariadb = False

    def take(self, item: Begin | RowTexts | Statement | End) -> None:
        """Follow the transactions.

        Raises:
            RefusedError: another transaction comes before the end.
        """
        if isinstance(item, Begin):
            ends = item.facts["kind"] in _XA_ENDS
            if self._prepared and not ends:
                raise RefusedError(
                    f"transaction {item.facts['transaction']} was run while an XA transaction was prepared, which one"
                    " session of a MariaDB server cannot do; take --format binlog, or leave one of them out"
                )
            self.ends_here, self._prepared = self._prepared and ends, False
            self._mariadb = item.file.format.flavour is Flavour.MARIADB
        elif isinstance(item, Statement) and self._mariadb:
            self._prepared = self._prepared or (item.kind == "other" and item.sql.startswith("XA PREPARE "))


def refuse_statement(statement: Statement) -> None:
    """Raise RefusedError for a statement that SQL text cannot carry."""
    where = f"transaction {statement.transaction}"
    if statement.file_bytes is not None:
        raise RefusedError(
            f"{where} is a LOAD DATA, and SQL cannot hold the {statement.file_bytes} bytes of the file that it read;"
            " take --format binlog, or leave the transaction out"
        )
    if not statement.sql_is_text:
        raise RefusedError(
            f"{where} has a statement with bytes that are no text in its character set; take --format binlog, or"
            " leave the transaction out"
        )
    if statement.sql.startswith(_INCIDENT) and statement.thread_id is None:
        raise RefusedError(
            f"{where} says that the server lost events ({statement.sql.removeprefix(_INCIDENT)}), so what replays"
            " it would not be equal; leave the transaction out"
        )


def comment_text(text: str) -> str:
    """Text that stays within its line."""
    return "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in text)


def _single_use(statement: Statement) -> str:
    """What holds for the next statement alone, and the user's variables."""
    lines = []
    if statement.insert_id is not None:
        lines.append(f"SET INSERT_ID={statement.insert_id};")
    if statement.last_insert_id is not None:
        lines.append(f"SET LAST_INSERT_ID={statement.last_insert_id};")
    if statement.rand_seeds is not None:
        first, second = statement.rand_seeds
        lines.append(f"SET @@RAND_SEED1={first}, @@RAND_SEED2={second};")
    lines += [f"SET @{identifier(name)}:={literal};" for name, literal in statement.user_vars.items()]
    return "".join(f"{line}\n" for line in lines)


def _terminated(sql: str) -> str:
    """The statement with what ends it; the client is told of another end where the text holds a semicolon."""
    if ";" not in sql:
        return f"{sql}\n;\n" if "--" in sql or "#" in sql else f"{sql};\n"
    end = "$$"
    while end in sql:
        end += "$"
    return f"DELIMITER {end}\n{sql}\n{end}\nDELIMITER ;\n"


def _value(value: str) -> str:
    return value if _PLAIN_VALUE.fullmatch(value) else text_literal(value)


def _mariadb_xid(begin: Begin) -> str:
    """MariaDB names an XA transaction in its GTID event alone."""
    file = begin.file
    start, end = begin.facts["start"], begin.facts["end"]
    window = file.source.window(start, end)
    header = parse_header(window, start, origin=start)
    body = window[HEADER_SIZE : header.size - begin.table.format.checksum_size]
    gtid = parse_mariadb_gtid(body, header, begin.table.format)
    assert MariadbGtidFlag.PREPARED_XA in gtid.flags
    return str(gtid.xid)


def _has_mysql_gtid(begin: Begin) -> bool:
    return begin.table.value("gtid_kind", begin.index) == GtidKind.GTID_MYSQL


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


__all__ = ["check_sql", "sql_chunks", "write_sql"]
