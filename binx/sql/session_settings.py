"""The session settings of a SQL script, for statements and for single row changes.

Variables are set only when they differ from the current values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntFlag

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.charset import DEFAULT_CHARSET
from binx.event.format import Flavour, FormatDescription
from binx.event.rows_events import RowsFlag
from binx.event.session_variables import sql_mode_number
from binx.rows.change_groups import BatchImages
from binx.rows.columns.types import Kind
from binx.rows.ddl.parse import sets_mode
from binx.rows.ddl.tokens import identifier
from binx.rows.logged_statements import EXPLICIT_DEFAULTS_SINCE, Statement
from binx.sql.literals import text_literal

STRICT_MODE = "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES"
"""Zero and invalid dates are accepted; a value that does not fit is an error."""

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
    Flavour.MARIADB: {**_ROW_OPTIONS, "check_constraint_checks": "0"},
}
"""Rows passed CHECK constraints when they were logged, or their session had these off."""

_UNLESS_GIVEN = {
    "auto_increment_increment": "1",
    "auto_increment_offset": "1",
    "lc_time_names": "en_US",
    "collation_database": "DEFAULT",
}
"""Variables that an event leaves out if they have this value."""

_NOT_SET = frozenset({"autocommit", "character_set_client"})
"""``autocommit`` would commit, and the script has BEGIN and COMMIT; its text is in utf8mb4."""

_REMOVED_MODES = frozenset(
    {
        *("POSTGRESQL", "ORACLE", "MSSQL", "DB2", "MAXDB", "MYSQL323", "MYSQL40"),
        *("NO_KEY_OPTIONS", "NO_TABLE_OPTIONS", "NO_FIELD_OPTIONS", "NO_AUTO_CREATE_USER"),
    }
)
"""Modes that MySQL 8.0.5 removed; setting one is an error since then."""

_WITHOUT_REMOVED = "/*!80005 &~0x1003ff00*/"
"""Masks their bits like mysqlbinlog (MySQL's sql/log_event.cc, ``Query_log_event::print_query_header``)."""

_DEFAULTS_NOT_EXPLICIT = {
    Flavour.MYSQL: "/*!50700 SET @@session.explicit_defaults_for_timestamp=0 */;\n",
    Flavour.MARIADB: "/*M!101000 SET @@session.explicit_defaults_for_timestamp=0 */;\n",
}
"""For statements of servers that do not log the variable; its default there is OFF.

MySQL 5.6 has it read-only.
"""

_AS_REPLICATED = {
    Flavour.MYSQL: "",
    Flavour.MARIADB: (
        "/*M!110201 SET @@session.character_set_collations='' */;\n"
        "/*M!100302 SET @@session.system_versioning_alter_history=1 */;\n"
    ),
}
"""What logs lack. Collations, for servers that do not know the variable: each character set has its compiled
default there, and those that know it log it with each statement that depends on it (MariaDB's MDEV-30164).
And what lets an ALTER of a versioned table run, as on a replica.
"""

_MICROSECONDS = 1_000_000
_PLAIN_VALUE = re.compile(r"\d+|DEFAULT")


class SqlSession:
    """The session state while a script runs; each method returns the statements that establish it."""

    def __init__(self, description: FormatDescription) -> None:
        self._description = description
        self._flavour = description.flavour
        self._values: dict[str, str] = {}
        self._database: str | None = None
        self._moment: int | None = None
        # The mark of the last row changes, if nothing was set since.
        self._rows_mark: int | None = None

    def start(self) -> str:
        """Set what everything else relies on."""
        self._values.update(_CHARSET_OPTIONS)
        since = EXPLICIT_DEFAULTS_SINCE[self._flavour]
        explicit = "" if self._description.version >= since else _DEFAULTS_NOT_EXPLICIT[self._flavour]
        return f"SET NAMES utf8mb4;\n{explicit}{_AS_REPLICATED[self._flavour]}{self.for_rows(0)}"

    def for_rows(self, mark: int) -> str:
        """Set the session for row changes with a :class:`~binx.sql.session_settings.RowMark`."""
        if mark == self._rows_mark:
            return ""
        options = dict(_ROW_OPTIONS_OF[self._flavour])
        if "pseudo_thread_id" in self._values:
            # A connection's temporary table must not receive the rows of the table that it hides.
            options["pseudo_thread_id"] = "0"
        if mark & RowMark.NO_FOREIGN_KEY_CHECKS:
            options["foreign_key_checks"] = "0"
        if mark & RowMark.LENIENT:
            options["sql_mode"] = LENIENT_MODE
        text = self._set(options)
        self._rows_mark = mark
        return text

    @property
    def begin(self) -> str:
        """The statement that begins a transaction; BEGIN begins a block in MariaDB's Oracle mode."""
        modes = self._values.get("sql_mode", "").split(",")
        return "START TRANSACTION;\n" if "ORACLE" in modes else "BEGIN;\n"

    def for_statement(self, statement: Statement) -> str:
        """Set the session that a statement ran in."""
        options = {name: value for name, value in statement.options.items() if name not in _NOT_SET}
        if sets_mode(statement.sql):
            options["sql_mode"] = ""
        for name, value in _UNLESS_GIVEN.items():
            if name not in options and name in self._values:
                options[name] = value
        if statement.thread_id is not None:
            options["pseudo_thread_id"] = str(statement.thread_id)
        moment = statement.timestamp * 1_000_000 + (statement.microseconds or 0)
        return self._use(statement) + self.at(moment) + self._set(options) + _single_use(statement)

    def for_bytes(self, charset: str) -> tuple[str, str]:
        """Return the text before and after a statement that is not valid in its character set.

        The client must not mistake a byte of a character for a quote or a backslash, so its character set is
        changed too, as by mysqlbinlog.
        """
        if charset == DEFAULT_CHARSET:
            return "", ""
        collation = self._values.pop("collation_connection", None)
        self._values.pop("character_set_connection", None)
        self._rows_mark = None
        connection = "" if collation is None else f", @@session.collation_connection={_value(collation)}"
        before = f"/*!\\C {charset} */;\nSET @@session.character_set_client='{charset}'{connection};\n"
        return before, f"/*!\\C {DEFAULT_CHARSET} */;\nSET NAMES {DEFAULT_CHARSET};\n"

    def at(self, moment: int) -> str:
        """Set the current time, in µs since 1970."""
        if moment == self._moment:
            return ""
        self._moment = moment
        seconds, fraction = divmod(moment, _MICROSECONDS)
        return f"SET TIMESTAMP={seconds}.{fraction:06d};\n" if fraction else f"SET TIMESTAMP={seconds};\n"

    @property
    def second(self) -> int:
        """The current time in seconds since 1970; -1 if none is set or it has a fraction."""
        if self._moment is None or self._moment % _MICROSECONDS:
            return -1
        return self._moment // _MICROSECONDS

    @second.setter
    def second(self, second: int) -> None:
        self._moment = second * _MICROSECONDS

    @property
    def rows_mark(self) -> int | None:
        """The mark of row changes that can run in the current session; None if none is known."""
        return self._rows_mark

    def _use(self, statement: Statement) -> str:
        if not statement.uses_db or not statement.db:
            # Dropping the default database leaves the session without one.
            self._database = None
            return ""
        if statement.db == self._database:
            return ""
        self._database = statement.db
        return f"USE {identifier(statement.db)};\n"

    def _set(self, options: Mapping[str, str]) -> str:
        self._rows_mark = None
        if "collation_connection" in options:
            self._values.pop("character_set_connection", None)
        changes = {name: value for name, value in options.items() if self._values.get(name) != value}
        if not changes:
            return ""
        self._values.update(changes)
        if "character_set_connection" in changes:
            self._values.pop("collation_connection", None)
        assignments = [f"@@session.{name}={self._assigned(name, value)}" for name, value in changes.items()]
        return f"SET {', '.join(assignments)};\n"

    def _assigned(self, name: str, value: str) -> str:
        """Return a value in a form that servers of all versions accept for the variable."""
        modes = name == "sql_mode" and self._flavour is Flavour.MYSQL
        if not modes or _REMOVED_MODES.isdisjoint(value.split(",")):
            return _value(value)
        return f"{sql_mode_number(value, self._flavour)}{_WITHOUT_REMOVED} /* {value} */"


def _single_use(statement: Statement) -> str:
    """Set variables that apply to the next statement only, and user variables."""
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


def _value(value: str) -> str:
    return value if _PLAIN_VALUE.fullmatch(value) else text_literal(value)


class RowMark(IntFlag):
    """The session settings that a row change requires."""

    NO_FOREIGN_KEY_CHECKS = 1
    LENIENT = 2
    """It has an ENUM's error value, or lacks a NOT NULL column, which a strict session rejects."""


_ERROR_VALUE = 0
"""The number of an ENUM's error value, and its index among the names."""


def row_marks(images: BatchImages) -> pa.Array | None:
    """Return the session settings that each row requires; None if no row requires any."""
    unchecked = unchecked_rows(images)
    marks = None if unchecked is None else marked(unchecked, RowMark.NO_FOREIGN_KEY_CHECKS)
    for index, column in enumerate(images.columns):
        if column.type.kind is Kind.ENUM and column.type.members is not None:
            values = images.column(index)
            codes = values if pa.types.is_integer(values.type) else values.indices
            errors = pc.fill_null(pc.equal(codes, pa.scalar(_ERROR_VALUE, codes.type)), False)
            if pc.any(errors).as_py():
                lenient = marked(errors, RowMark.LENIENT)
                marks = lenient if marks is None else pc.bit_wise_or(marks, lenient)
    return marks


def unchecked_rows(images: BatchImages) -> pa.BooleanArray | None:
    """Return which row changes were made without foreign key checks; None if none was."""
    return flagged_rows(images, RowsFlag.NO_FOREIGN_KEY_CHECKS)


def flagged_rows(images: BatchImages, any_of: RowsFlag) -> pa.BooleanArray | None:
    """Return which row changes have any of some flags; None if none has."""
    flags = images.changes.rows_flags
    if flags is None:
        return None
    masked = pc.bit_wise_and(flags, pa.scalar(int(any_of), pa.uint8()))
    flagged = pc.not_equal(masked, pa.scalar(0, pa.uint8()))
    return flagged if flagged.true_count else None


def marked(rows: pa.BooleanArray, mark: RowMark) -> pa.Array:
    """Return a mark for some rows, and 0 for the others."""
    return pc.if_else(rows, pa.scalar(int(mark), pa.uint8()), pa.scalar(0, pa.uint8()))
