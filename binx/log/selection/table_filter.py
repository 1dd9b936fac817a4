"""Patterns of databases and tables, and whether a transaction touches one of them.

Row changes name their table exactly. A statement is only text here: it counts as touching every table that it
names, so that a filter may select a transaction too many but never one too few.

The rows of an XA transaction are logged with its XA PREPARE; the XA COMMIT or XA ROLLBACK that decides about
them is a separate transaction, which names no table. Without it the rows would stay prepared and locked
wherever they are replayed, so it passes if the transaction that it ends does.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import translate

from binx.errors import UsageError
from binx.event.format import FormatDescription
from binx.event.mariadb import MariadbGtid
from binx.event.query_event import ExecuteLoadQuery, Query
from binx.kernels.transactions.table import Kind, TransactionTable
from binx.log.binlog_file import BinlogFile
from binx.log.transaction_events import transaction_events
from binx.source.wording import did_you_mean

_NAME_PART = re.compile(r"`((?:[^`]|``)*)`|([^`.]+)")
_IDENTIFIER = r'`(?:[^`]|``)+`|"(?:[^"]|"")+"|[0-9A-Za-z_$\u0080-\U0010ffff]+'
# A user variable is not a table.
_NAME = re.compile(rf"(?<![@0-9A-Za-z_$\u0080-\U0010ffff])({_IDENTIFIER})(?:\s*\.\s*({_IDENTIFIER}))?")

# Whatever precedes it: dumps write /*!40000 DROP DATABASE …*/, MariaDB has CREATE OR REPLACE DATABASE.
_DROPS_DATABASE = re.compile(
    r"\b(?:DROP|REPLACE)(?:\s|/\*(?:[^*]|\*(?!/))*\*/)+(?:DATABASE|SCHEMA)\b", re.IGNORECASE
)
_CHANGES_DATABASE = re.compile(_DROPS_DATABASE.pattern.replace("DROP", "DROP|CREATE|ALTER", 1), re.IGNORECASE)

Matcher = Callable[[str], object]


def database_pattern(text: str) -> Matcher:
    """Return the matcher for a pattern of database names.

    ``*``, ``?`` and ``[…]`` have their shell meaning; case is significant. Within backticks every character
    is literal; a backtick is doubled.
    """
    patterns = _part_patterns(text)
    if len(patterns) != 1:
        raise UsageError(
            f"expected a database's name or pattern, found {text!r}; quote a name with a dot: `a.b`"
        )
    return re.compile(patterns[0]).match


def table_pattern(text: str) -> tuple[Matcher, Matcher]:
    """Return the matchers for the database and the table of a pattern.

    The text is ``DB.TABLE``, each part as for :func:`database_pattern`.
    """
    patterns = _part_patterns(text)
    if len(patterns) != 2:
        raise UsageError(
            f"expected DB.TABLE, such as shop.orders, 'shop.*' or '*.orders', found {text!r};"
            " quote a name with a dot: `a.b`.`c`"
        )
    return re.compile(patterns[0]).match, re.compile(patterns[1]).match


def table_name(text: str) -> tuple[str, str]:
    """Split ``DB.TABLE`` into both names, each as it is or within backticks."""
    try:
        db, table = (plain if quoted is None else quoted for quoted, plain in _dotted(text))
    except (UsageError, ValueError):
        raise UsageError(
            f"expected DB.TABLE, such as shop.orders, found {text!r}; quote a name with a dot: `a.b`.`c`"
        ) from None
    return db, table


def quoted(name: str) -> str:
    """Return a name within backticks, in which no character is a wildcard."""
    return f"`{name.replace('`', '``')}`"


class TableFilter:
    """Patterns of databases and tables.

    A table passes if it matches one of the database patterns, if any, and one of the table patterns, if any,
    and none of the excluded ones.

    Args:
        makes: whether statements that make or alter a database count as those of each of its tables, whose
            character set they decide.
    """

    def __init__(
        self,
        databases: Iterable[str],
        tables: Iterable[str],
        excluded: Iterable[str] = (),
        *,
        makes: bool = False,
    ) -> None:
        self._about_database = _CHANGES_DATABASE if makes else _DROPS_DATABASE
        self._databases = [database_pattern(text) for text in databases]
        self._tables = [table_pattern(text) for text in tables]
        self._excluded = [table_pattern(text) for text in excluded]

    @property
    def takes_without_tables(self) -> bool:
        """Whether a transaction passes that touches no table."""
        return not self._databases and not self._tables

    def takes(self, database: str, table: str) -> bool:
        """Return whether a table passes."""
        return (
            self._takes_database(database)
            and (not self._tables or any(db(database) and name(table) for db, name in self._tables))
            and not any(db(database) and name(table) for db, name in self._excluded)
        )

    def _takes_database(self, database: str) -> bool:
        return not self._databases or any(matches(database) for matches in self._databases)

    def takes_statement(self, query: Query) -> bool:
        """Return whether a statement names a table that passes.

        Servers since MySQL 5.6 log the databases that a statement changes; otherwise the session's default
        database and those named in the text count.
        """
        return self.takes_text(query.text, query.database, query.status.updated_databases or ())

    def takes_text(self, sql: str, default: str, changed: Sequence[str] = ()) -> bool:
        """Return the same for a statement's text.

        Args:
            default: the session's default database.
            changed: the databases that it changes according to the log; empty if not logged.
        """
        names = list(_names(sql))
        if not self._tables:
            qualified = {first for first, second in names if second is not None}
            return any(map(self._takes_database, changed or {default, *qualified}))
        if about := self._about_database.search(sql):
            named = [first for first, _ in names]
            # ALTER DATABASE may leave out the name of the default one.
            named += [default] if about[0].upper().startswith("ALTER") else []
            if any(map(self.takes_any_of, named)):
                return True
        for first, second in names:
            pairs = [(default, first)]
            if second is not None:
                pairs.append((first, second))
            for database, table in pairs:
                # With lower_case_table_names, servers log what is changed in lower case.
                if changed and database not in changed and database.lower() not in changed:
                    continue
                if self.takes(database, table):
                    return True
                if changed and database not in changed and self.takes(database.lower(), table.lower()):
                    return True
        return False

    def takes_any_of(self, database: str) -> bool:
        """Return whether any table of a database may pass."""
        return self._takes_database(database) and (
            not self._tables or any(matches(database) for matches, _ in self._tables)
        )

    def takes_statements(
        self, file: BinlogFile, start: int, end: int, description: FormatDescription
    ) -> bool:
        """Return whether a statement of the transaction at ``[start, end)`` names a table that passes."""
        for _, event in transaction_events(file, start, end, description):
            query = event.query if isinstance(event, ExecuteLoadQuery) else event
            if isinstance(query, Query) and self.takes_statement(query):
                return True
        return False


class SoughtNames:
    """The databases and tables that a selection names without wildcards, and which of them logs have.

    A name that no log has may be misspelt.
    """

    def __init__(self, databases: Iterable[str], tables: Iterable[str]) -> None:
        self._databases = {name: text for text in databases if (name := _exact(text, 1)) is not None}
        self._tables = {name: text for text in tables if (name := _exact(text, 2)) is not None}
        self._others: dict[tuple[str, str], None] = {}

    def see(self, database: str, table: str) -> None:
        """Take notice of a table in a log."""
        if self._databases or self._tables:
            self._databases.pop((database,), None)
            self._tables.pop((database, table), None)
            self._others[database, table] = None

    def see_statements(self, takes: Callable[[TableFilter], bool]) -> None:
        """Take notice of statements that are only text.

        Args:
            takes: whether a filter takes one of them.
        """
        databases = {
            name: text for name, text in self._databases.items() if not takes(TableFilter([text], []))
        }
        tables = {name: text for name, text in self._tables.items() if not takes(TableFilter([], [text]))}
        self._databases, self._tables = databases, tables

    @property
    def unseen_tables(self) -> list[str]:
        """The tables not seen so far, as the selection has them."""
        return list(self._tables.values())

    def sentences(self, where: str) -> list[str]:
        """Return a sentence for each name that was not seen, with the name that may be meant."""
        databases = {database for database, _ in self._others}
        tables = [f"{database}.{table}" for database, table in self._others]
        return [
            *(
                f"no database {text} in {where}{did_you_mean(name[0], databases)}"
                for name, text in self._databases.items()
            ),
            *(
                f"no table {text} in {where}{did_you_mean('.'.join(name), tables)}"
                for name, text in self._tables.items()
            ),
        ]


_WILDCARDS = frozenset("*?[")


def _exact(text: str, parts: int) -> tuple[str, ...] | None:
    """Return the parts of a name without wildcards, or None."""
    names = _dotted(text)
    if len(names) != parts or any(quoted is None and _WILDCARDS & set(plain) for quoted, plain in names):
        return None
    return tuple(plain if quoted is None else quoted for quoted, plain in names)


def _part_patterns(text: str) -> list[str]:
    """The regular expressions of a dotted pattern's parts."""
    return [
        translate(plain) if quoted is None else re.escape(quoted) + r"\Z" for quoted, plain in _dotted(text)
    ]


def _dotted(text: str) -> list[tuple[str | None, str]]:
    """The parts of a dotted name or pattern: what stands within backticks, or None; else the part itself."""
    names = []
    position = 0
    while True:
        match = _NAME_PART.match(text, position)
        if match is None:
            raise UsageError(f"expected a name or pattern at character {position + 1} of {text!r}")
        names.append((None if match[1] is None else match[1].replace("``", "`"), match[2] or ""))
        position = match.end()
        if position == len(text):
            return names
        if text[position] != ".":
            raise UsageError(f"expected a dot or the end at character {position + 1} of {text!r}")
        position += 1


def _names(sql: str) -> Iterator[tuple[str, str | None]]:
    """Yield everything in a statement that can be a name, with the name after its dot."""
    for match in _NAME.finditer(sql):
        yield _unquoted(match[1]), None if match[2] is None else _unquoted(match[2])


def _unquoted(name: str) -> str:
    quote = name[0]
    return name[1:-1].replace(quote * 2, quote) if quote in '`"' else name


_STATEMENT = re.compile(r"\s*XA\s+(?:START|BEGIN|COMMIT|ROLLBACK)\s+(.+?)\s*\Z", re.IGNORECASE | re.DOTALL)


class XaEnds:
    """Pass ends of XA transactions if the transactions that they end pass.

    Args:
        all_pass: whether every end passes, so that logs and parts of logs can be filtered independently.
    """

    def __init__(self, *, all_pass: bool) -> None:
        self._all_pass = all_pass
        self._passed: dict[str, bool] = {}

    @staticmethod
    def steps(table: TransactionTable, mask: bytearray) -> array[int]:
        """Return the indexes of the marked transactions that prepare or end an XA transaction."""
        steps = bytearray(mask)
        table.keep_range(steps, "kind", Kind.KIND_XA_PREPARE, Kind.KIND_XA_ROLLBACK)
        return table.marked(steps)

    def passes(self, file: BinlogFile, table: TransactionTable, index: int, is_selected: bool) -> bool:
        """Return whether a step passes a filter; steps must come in the order of the chain.

        The end of a transaction whose XA PREPARE was not seen passes: it may be wanted.

        Args:
            is_selected: whether the filter selects the transaction for its contents.
        """
        is_end = table.value("kind", index) != Kind.KIND_XA_PREPARE
        if self._all_pass:
            return is_selected or is_end
        xid = xid_of(file, table, index)
        if is_end:
            return self._passed.pop(xid, True) or is_selected
        self._passed[xid] = is_selected
        return is_selected


def xid_of(file: BinlogFile, table: TransactionTable, index: int) -> str:
    """Return an XA transaction's name from the step's GTID event (MariaDB) or its first statement."""
    start, end = table.value("start", index), table.value("end", index)
    for _, event in transaction_events(file, start, end, table.format):
        if isinstance(event, MariadbGtid) and event.xid is not None:
            return str(event.xid)
        if isinstance(event, Query) and (match := _STATEMENT.match(event.text)):
            return match[1]
    return ""
