"""The session that a script of SQL runs in: its variables are set where they differ from what is in force."""

from __future__ import annotations

import re
from collections.abc import Mapping

from binx.event.format import Flavour
from binx.export.sql_literals import identifier, text_literal
from binx.export.sql_marks import RowMark
from binx.rows.statements import Statement

STRICT_MODE = "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES"
"""Zero and impossible dates are taken as they are; a value that does not fit is an error."""

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
"""``autocommit`` would commit, and BEGIN and COMMIT are written; the text is in utf8mb4 by now."""

_MICROSECONDS = 1_000_000
_PLAIN_VALUE = re.compile(r"\d+|DEFAULT")


class SqlSession:
    """What is in force while a script runs; each method returns the statements that bring it about.

    Args:
        flavour: whose server runs it.
    """

    def __init__(self, flavour: Flavour) -> None:
        self._flavour = flavour
        self._values: dict[str, str] = {}
        self._database: str | None = None
        self._moment: int | None = None
        # What the last row changes asked for, where nothing was set since.
        self._rows_mark: int | None = None

    def start(self) -> str:
        """What all else relies on."""
        self._values.update(_CHARSET_OPTIONS)
        return "SET NAMES utf8mb4;\n" + self.for_rows(0)

    def for_rows(self, mark: int) -> str:
        """The session for row changes, with what a :class:`~binx.export.sql_marks.RowMark` asks for."""
        if mark == self._rows_mark:
            return ""
        options = dict(_ROW_OPTIONS_OF[self._flavour])
        if mark & RowMark.NO_FOREIGN_KEY_CHECKS:
            options["foreign_key_checks"] = "0"
        if mark & RowMark.LENIENT:
            options["sql_mode"] = LENIENT_MODE
        text = self._set(options)
        self._rows_mark = mark
        return text

    def for_statement(self, statement: Statement) -> str:
        """The session that a statement ran in."""
        options = {name: value for name, value in statement.options.items() if name not in _NOT_SET}
        for name, value in _UNLESS_GIVEN.items():
            if name not in options and name in self._values:
                options[name] = value
        moment = statement.timestamp * 1_000_000 + (statement.microseconds or 0)
        return self._use(statement) + self.at(moment) + self._set(options) + _single_use(statement)

    def at(self, moment: int) -> str:
        """The current time, in µs since 1970."""
        if moment == self._moment:
            return ""
        self._moment = moment
        seconds, fraction = divmod(moment, _MICROSECONDS)
        return f"SET TIMESTAMP={seconds}.{fraction:06d};\n" if fraction else f"SET TIMESTAMP={seconds};\n"

    @property
    def second(self) -> int:
        """The current time in seconds since 1970; -1 where none is set, or it has a fraction."""
        if self._moment is None or self._moment % _MICROSECONDS:
            return -1
        return self._moment // _MICROSECONDS

    @second.setter
    def second(self, second: int) -> None:
        self._moment = second * _MICROSECONDS

    @property
    def rows_mark(self) -> int | None:
        """The mark of row changes that can be run in the session as it is; None where none is known."""
        return self._rows_mark

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
        self._rows_mark = None
        if "collation_connection" in options:
            self._values.pop("character_set_connection", None)
        changes = {name: value for name, value in options.items() if self._values.get(name) != value}
        if not changes:
            return ""
        self._values.update(changes)
        if "character_set_connection" in changes:
            self._values.pop("collation_connection", None)
        return (
            "SET " + ", ".join(f"@@session.{name}={_value(value)}" for name, value in changes.items()) + ";\n"
        )


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


def _value(value: str) -> str:
    return value if _PLAIN_VALUE.fullmatch(value) else text_literal(value)
