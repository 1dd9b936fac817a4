"""Write the statements around row changes, which make logged transactions a runnable script."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from binx.event.format import Flavour, FormatDescription
from binx.event.header import HEADER_SIZE, parse_header
from binx.event.mariadb import parse_mariadb_gtid
from binx.kernels.render.transactions import TextColumn, TransactionTexts
from binx.kernels.transactions.table import GtidKind
from binx.rows.columns.schema import DEFAULT_CONTEXT
from binx.rows.ddl.tokens import NotUnderstoodError, TokenKind, tokens
from binx.rows.statements import Statement
from binx.slices.items import Begin, End, Frame, Heads, Item, RowTexts, Run, WholeTexts
from binx.slices.renaming import SAME_NAMES, DatabaseNames
from binx.slices.sql.literals import comment_text
from binx.slices.sql.refusals import PreparedXa, refuse_other_flavour, refuse_statement
from binx.slices.sql.session import SqlSession
from binx.source.wording import encoded

_CREATE_TABLE = re.compile(r"\s*create\s+(or\s+replace\s+)?table\b", re.IGNORECASE)
_XA_WORDS = ("XA PREPARE ", "XA COMMIT ", "XA ROLLBACK ")
_LOGGED = "SET @@session.sql_log_bin=1;\n"
_LOOSE_KINDS = frozenset({"dml", "rollback"})
_REMARK = [
    (b"\n-- ", TextColumn.COLUMN_FILE, b""),
    (b" ", TextColumn.COLUMN_START, b""),
    (b"-", TextColumn.COLUMN_END, b""),
    (b", ", TextColumn.COLUMN_TRANSACTION, b""),
    (b", committed ", TextColumn.COLUMN_COMMIT_TIMESTAMP, b""),
    (b", xid ", TextColumn.COLUMN_XID, b""),
    (b"\n", TextColumn.COLUMN_NOTHING, b""),
]
"""The comment before each transaction."""

_SETTINGS = [
    (b"SET TIMESTAMP=", TextColumn.COLUMN_BEGIN_SECOND, b";\n"),
    (b"SET @@session.gtid_domain_id=", TextColumn.COLUMN_GTID_DOMAIN, b""),
    (b", @@session.server_id=", TextColumn.COLUMN_GTID_SERVER, b""),
    (b", @@session.gtid_seq_no=", TextColumn.COLUMN_GTID_SEQUENCE, b";\n"),
]
"""What follows it before BEGIN in ordinary transactions; for MySQL, then the GTID."""

_NEXT = (b"SET @@session.gtid_next='", TextColumn.COLUMN_GTID_NEXT, b"';\n")

FACTS = ("transaction", "gtid", "xid", "kind", "start", "end", "begin_timestamp", "rows", "statements")
"""The facts about a transaction that a script uses."""


@dataclass(slots=True)
class _Open:
    """The current transaction.

    Attributes:
        begun: whether BEGIN or XA START is written.
        done: whether nothing may follow.
        written: whether a statement that uses its GTID is written.
        xid: the name of an XA transaction that is not prepared yet.
    """

    begin: Begin
    partial: bool = False
    introduced: bool = False
    begun: bool = False
    done: bool = False
    written: bool = False
    xid: str | None = None

    @property
    def loose(self) -> bool:
        """Whether more than one statement of this script changes non-transactional tables.

        A server logs each such statement immediately and as a transaction of its own, but there is only one
        GTID.
        """
        facts = self.begin.facts
        if self.partial:
            return False
        several = facts["rows"] and facts["rows"] + facts["statements"] > 1
        return bool(several and facts["xid"] is None and facts["kind"] in _LOOSE_KINDS and facts["gtid"])


PARTIAL = "Only chosen rows: transactions are not whole and have no GTIDs, and statements are left out."
"""Comment in the head of a script that does not have all rows of its transactions."""


class SqlScript:
    """Writes statements around row changes, and tracks the session state.

    Args:
        partial: whether only some rows of the transactions are written: they get no GTID, because a server
            that has it would skip the rest, and transactions without rows are left out.
    """

    def __init__(
        self, description: FormatDescription, *, partial: bool = False, databases: DatabaseNames = SAME_NAMES
    ) -> None:
        self.transactions = 0
        self._partial = partial
        self._databases = databases
        self._flavour = flavour = description.flavour
        self._session = SqlSession(description)
        self._gtid: str | None = None
        self._open: _Open | None = None
        self._prepared = PreparedXa()
        fields = [*_REMARK, *_SETTINGS, *([] if flavour is Flavour.MARIADB else [_NEXT])]
        self._texts = TransactionTexts(fields, b"BEGIN;\n", False, None, None)
        self._heads = Heads(self._texts, b"COMMIT;\n", comment_text, "{}.{}".format)
        remarks = TransactionTexts(_REMARK, b"", False, None, None)
        self._remarks = Heads(remarks, b"", comment_text, "{}.{}".format)

    def head(self) -> bytes:
        """Return the beginning of the script."""
        server, client = ("MariaDB", "mariadb") if self._flavour is Flavour.MARIADB else ("MySQL", "mysql")
        lines = [
            f"-- Transactions from binary logs of {server}, written by binx.",
            f"-- To run them: {client} --binary-mode --default-character-set=utf8mb4 < THIS_FILE",
            "-- Triggers fire, and their changes are in here too: drop them first, or use --format binlog.",
        ]
        if self._partial:
            lines.append(f"-- {PARTIAL}")
        return ("\n".join(lines) + "\n" + self._session.start()).encode()

    def foot(self) -> bytes:
        """Return the end of the script."""
        lines = ["", "SET TIMESTAMP=DEFAULT;"]
        if self._gtid is not None and self._flavour is Flavour.MYSQL:
            lines.append("SET @@session.gtid_next='AUTOMATIC';")
        return ("\n".join(lines) + "\n").encode()

    def take(self, item: Item) -> Iterable[bytes]:
        """Return the text of one item, in chunks.

        Raises:
            RefusedError: a statement cannot be written.
        """
        if isinstance(item, WholeTexts):
            self.transactions += item.count
            return item.text
        if self._flavour is Flavour.MARIADB:
            self._prepared.take(item)
        if isinstance(item, RowTexts):
            before = self._introduction() + self._begin() + self._session.for_rows(item.mark)
            return _prefixed(before, item.text()) if before else item.text()
        if isinstance(item, End):
            return (encoded(self._end()),)
        if isinstance(item, Begin):
            refuse_other_flavour(self._flavour, item)
            self._open = _Open(item, partial=self._partial)
            return () if self._partial else (encoded(self._introduction()),)
        refuse_statement(item)
        introduction = encoded(self._introduction())
        return (introduction, self._statement(self._databases.in_statement(item)))

    def frame(self, run: Run) -> Frame | None:
        """Return the frame of ordinary transactions; None if the next one is not ordinary."""
        mark, part = self._session.rows_mark, run.part
        if mark is None or self._prepared.is_prepared or part.file.format.flavour is not self._flavour:
            return None
        without_gtid = self._gtid is None or self._flavour is Flavour.MARIADB
        count = run.usual(commits=True, mark=mark, without_gtid=without_gtid)
        self._texts.second = self._session.second
        frame = self._heads.frame(run, count)
        if frame is not None:
            self._session.second = self._texts.second
            self._gtid = part.table.gtid(run.taken[run.first + count - 1]) or self._gtid
            self._prepared.ends_here = False
        return frame

    @property
    def _current(self) -> _Open:
        assert self._open is not None
        return self._open

    def _introduction(self) -> str:
        """Return the text before a transaction's first statement; empty if it is already written."""
        current = self._current
        if current.introduced:
            return ""
        current.introduced = True
        self.transactions += 1
        remark = self._remarks.text(current.begin).decode()
        return remark + self._session.at(current.begin.facts["begin_timestamp"])

    def _claim(self) -> str:
        """Set the GTID before the first statement that runs under it."""
        current = self._current
        if current.written:
            return ""
        current.written = True
        return self._set_gtid(current.begin)

    def _set_gtid(self, begin: Begin) -> str:
        if self._partial:
            return ""
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
        value = f"'{gtid}'" if kind == GtidKind.GTID_MYSQL else "'AUTOMATIC'"
        if self._flavour is Flavour.MARIADB or (self._gtid is None and kind != GtidKind.GTID_MYSQL):
            return ""
        self._gtid = value
        return f"SET @@session.gtid_next={value};\n"

    def _begin(self) -> str:
        current = self._current
        if current.begun:
            return ""
        current.begun = True
        if current.loose:
            current.written = True
            return f"{self._unlogged(current.begin)}{self._session.begin}"
        claim = self._claim()
        if self._flavour is Flavour.MARIADB and current.begin.facts["kind"] == "xa_prepare":
            current.xid = _mariadb_xid(current.begin)
            return f"{claim}XA START {current.xid};\n"
        return f"{claim}{self._session.begin}"

    def _unlogged(self, begin: Begin) -> str:
        """Exclude what follows from the binary log of the server that runs it."""
        automatic = "SET @@session.gtid_next='AUTOMATIC';\n" if _has_mysql_gtid(begin) else ""
        return f"{automatic}SET @@session.sql_log_bin=0;\n"

    def _statement(self, statement: Statement) -> bytes:
        if not statement.takes_effect:
            return self._without_effect(statement)
        if statement.kind == "other":
            return encoded(self._marker(statement))
        current = self._current
        alone = (
            statement.kind == "ddl" and not current.begun and _CREATE_TABLE.match(statement.sql) is not None
        )
        if current.begin.facts["kind"] != "ddl" and alone:
            return self._table_with_rows(statement)
        begin = self._claim() if current.begin.facts["kind"] == "ddl" else self._begin()
        return encoded(begin) + self._with_session(statement, statement.sql)

    def _without_effect(self, statement: Statement) -> bytes:
        """Comment out the START or ROLLBACK of a two-phase ALTER; a server running it assigns no number."""
        self._current.done = True
        phase = "failed" if statement.error_code else "begins, and takes effect where it is committed"
        return encoded(f"-- {phase}: {comment_text(statement.sql)}\n")

    def _marker(self, statement: Statement) -> str:
        """Write savepoints and the start and end of XA transactions."""
        current, sql = self._current, statement.sql
        if sql.startswith("XA START "):
            current.begun, current.xid = True, sql.removeprefix("XA START ")
        elif sql.startswith(_XA_WORDS):
            current.done, current.xid = True, None
        begin = self._claim() if current.done or current.begun else self._begin()
        # In a session with ANSI_QUOTES the server logged the savepoint's name in double quotes.
        return begin + (self._session.for_statement(statement) if '"' in sql else "") + _terminated(sql)

    def _table_with_rows(self, statement: Statement) -> bytes:
        """Write CREATE TABLE … SELECT, which is logged as one transaction with its rows.

        Statements cannot be one transaction. The table is created first, without being logged by the server
        that runs the script.
        """
        begin = self._current.begin
        text = self._with_session(statement, _without_start_transaction(statement))
        return encoded(self._unlogged(begin)) + text + encoded(_LOGGED)

    def _with_session(self, statement: Statement, sql: str) -> bytes:
        text = self._session.for_statement(statement)
        if statement.error_code:
            text += f"-- ended with error {statement.error_code} on its server\n"
        if statement.raw is None:
            return encoded(text + _terminated(sql))
        before, after = self._session.for_bytes(statement.charset)
        # Latin-1 maps each byte to a character, and delimiters to themselves.
        raw = _terminated(statement.raw.decode("latin-1")).encode("latin-1")
        return encoded(text + before) + raw + encoded(after)

    def _end(self) -> str:
        current, self._open = self._current, None
        if current.xid is not None:
            return f"XA COMMIT {current.xid} ONE PHASE;\n"
        if current.done:
            return ""
        if current.begun:
            rolled_back = current.begin.facts["kind"] == "rollback"
            text = "ROLLBACK;\n" if rolled_back else "COMMIT;\n"
            text += _LOGGED if current.loose else ""
            return text + self._empty(current.begin) if rolled_back or current.loose else text
        return "" if current.written else self._empty(current.begin)

    def _empty(self, begin: Begin) -> str:
        """Write an empty transaction, so that the GTID counts as executed; nothing if there is no GTID."""
        if self._partial or not _has_mysql_gtid(begin):
            return ""
        return f"{self._set_gtid(begin)}BEGIN;\nCOMMIT;\n"


def _without_start_transaction(statement: Statement) -> str:
    """Remove START TRANSACTION, which servers accept only from logs, from a CREATE TABLE … SELECT."""
    sql, context = statement.sql, statement.context or DEFAULT_CONTEXT
    try:
        words = [token for token in tokens(sql, context) if token.kind is not TokenKind.NAME]
    except NotUnderstoodError:
        return sql
    for first, second in pairwise(words):
        if (first.upper, second.upper) == ("START", "TRANSACTION"):
            return sql[: first.start].rstrip() + sql[second.end :]
    return sql


def _terminated(sql: str) -> str:
    """Terminate a statement, with another DELIMITER if its text contains a semicolon."""
    if ";" not in sql:
        return f"{sql}\n;\n" if "--" in sql or "#" in sql else f"{sql};\n"
    end = "$$"
    while end in sql:
        end += "$"
    return f"DELIMITER {end}\n{sql}\n{end}\nDELIMITER ;\n"


def _mariadb_xid(begin: Begin) -> str:
    """Return the name of an XA transaction, which MariaDB records only in its GTID event."""
    file = begin.file
    start, end = begin.facts["start"], begin.facts["end"]
    window = file.events_window(start, end)
    header = parse_header(window, start, origin=start)
    body = window[HEADER_SIZE : header.size - begin.table.format.checksum_size]
    gtid = parse_mariadb_gtid(body, header, begin.table.format)
    return str(gtid.xid)


def _has_mysql_gtid(begin: Begin) -> bool:
    return begin.table.value("gtid_kind", begin.index) == GtidKind.GTID_MYSQL


def _prefixed(before: str, text: Iterator[bytes]) -> Iterator[bytes]:
    yield encoded(before)
    yield from text
