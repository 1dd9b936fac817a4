"""Session variables of a statement, with the names and values that SET statements use.

Sources: MySQL's sql/query_options.h (``OPTIONS_WRITTEN_TO_BIN_LOG``) and
sql/sql_lex.h, MariaDB's sql/log_event.h; output of mysqlbinlog and mariadb-binlog;
for the names of SQL modes and locales, the servers' answers to numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta, timezone, tzinfo
from functools import lru_cache

from binx.event.charset import collation_to_charset
from binx.event.collation import collation_name
from binx.event.format import Flavour
from binx.event.query_event import Query, QueryStatus

_AUTO_IS_NULL = 1 << 14
_NOT_AUTOCOMMIT = 1 << 19
_NO_FOREIGN_KEY_CHECKS = 1 << 26
_RELAXED_UNIQUE_CHECKS = 1 << 27

_MARIADB_NO_CHECK_CONSTRAINT_CHECKS = 1 << 15
_MARIADB_EXPLICIT_DEFAULTS_FOR_TIMESTAMP = 1 << 24
_MARIADB_IF_EXISTS = 1 << 28
_MARIADB_INSERT_HISTORY = 1 << 30

_COMMON_MODES = """
    REAL_AS_FLOAT PIPES_AS_CONCAT ANSI_QUOTES IGNORE_SPACE IGNORE_BAD_TABLE_OPTIONS ONLY_FULL_GROUP_BY
    NO_UNSIGNED_SUBTRACTION NO_DIR_IN_CREATE POSTGRESQL ORACLE MSSQL DB2 MAXDB NO_KEY_OPTIONS NO_TABLE_OPTIONS
    NO_FIELD_OPTIONS MYSQL323 MYSQL40 ANSI NO_AUTO_VALUE_ON_ZERO NO_BACKSLASH_ESCAPES STRICT_TRANS_TABLES
    STRICT_ALL_TABLES NO_ZERO_IN_DATE NO_ZERO_DATE ALLOW_INVALID_DATES ERROR_FOR_DIVISION_BY_ZERO TRADITIONAL
    NO_AUTO_CREATE_USER HIGH_NOT_PRECEDENCE NO_ENGINE_SUBSTITUTION PAD_CHAR_TO_FULL_LENGTH
"""
_SQL_MODES = {
    Flavour.MYSQL: (*_COMMON_MODES.split(), "TIME_TRUNCATE_FRACTIONAL", "INTERPRET_UTF8_AS_UTF8MB4"),
    Flavour.MARIADB: (
        *_COMMON_MODES.split(),
        "EMPTY_STRING_IS_NULL",
        "SIMULTANEOUS_ASSIGNMENT",
        "TIME_ROUND_FRACTIONAL",
    ),
}

_LOCALES = """
    en_US en_GB ja_JP sv_SE de_DE fr_FR ar_AE ar_BH ar_JO ar_SA ar_SY be_BY bg_BG ca_ES cs_CZ da_DK de_AT
    es_ES et_EE eu_ES fi_FI fo_FO gl_ES gu_IN he_IL hi_IN hr_HR hu_HU id_ID is_IS it_CH ko_KR lt_LT lv_LV
    mk_MK mn_MN ms_MY nb_NO nl_NL pl_PL pt_BR pt_PT ro_RO ru_RU ru_UA sk_SK sl_SI sq_AL sr_RS ta_IN te_IN
    th_TH tr_TR uk_UA ur_PK vi_VN zh_CN zh_TW ar_DZ ar_EG ar_IN ar_IQ ar_KW ar_LB ar_LY ar_MA ar_OM ar_QA
    ar_SD ar_TN ar_YE de_BE de_CH de_LU en_AU en_CA en_IN en_NZ en_PH en_ZA en_ZW es_AR es_BO es_CL es_CO
    es_CR es_DO es_EC es_GT es_HN es_MX es_NI es_PA es_PE es_PR es_PY es_SV es_US es_UY es_VE fr_BE fr_CA
    fr_CH fr_LU it_IT nl_BE no_NO sv_FI zh_HK el_GR rm_CH ka_GE
"""


def session_options(query: Query) -> Mapping[str, str]:
    """Return the session variables recorded in a statement's event, by name, with values for SET statements.

    Collations, locales and modes are written as names; unknown ones as numbers, which servers accept as
    well. Variables that the event does not record are absent.
    """
    return _options(query.status, query.flavour, query.version)


# A session's statements repeat its variables.
@lru_cache(maxsize=1024)
def _options(status: QueryStatus, flavour: Flavour, version: tuple[int, int, int]) -> Mapping[str, str]:
    options: dict[str, str] = {}
    if status.flags2 is not None:
        options.update(_flag_options(status.flags2, flavour, version))
    if status.sql_mode is not None:
        options["sql_mode"] = sql_mode_names(status.sql_mode, flavour)
    options.update(_charset_options(status, flavour))
    for name, value in (
        ("auto_increment_increment", status.auto_increment_increment),
        ("auto_increment_offset", status.auto_increment_offset),
        ("explicit_defaults_for_timestamp", status.explicit_defaults_for_timestamp),
        ("sql_require_primary_key", status.sql_require_primary_key),
        ("default_table_encryption", status.default_table_encryption),
        ("enable_cascade_triggers", status.enable_cascade_triggers),
    ):
        if value is not None:
            options[name] = str(int(value))
    if status.time_zone is not None:
        options["time_zone"] = status.time_zone
    if status.lc_time_names is not None:
        options["lc_time_names"] = locale_name(status.lc_time_names)
    return options


def time_zone(name: str) -> tzinfo | None:
    """Return a session's time zone; None if its name does not tell it, as SYSTEM does not."""
    if match := _OFFSET.fullmatch(name):
        sign, hours, minutes = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        return timezone(-offset if sign == "-" else offset)
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


_OFFSET = re.compile(r"([+-])(\d{1,2}):(\d{2})")


def sql_mode_names(mode: int, flavour: Flavour) -> str:
    """Return the SQL mode as its variable shows it: names joined by commas; a number if a bit is unknown."""
    names = _SQL_MODES[flavour]
    if mode >> len(names):
        return str(mode)
    return ",".join(name for bit, name in enumerate(names) if mode >> bit & 1)


def sql_mode_number(names: str, flavour: Flavour) -> int:
    """Return the number of a SQL mode given as names joined by commas."""
    known = _SQL_MODES[flavour]
    return sum(1 << known.index(name) for name in names.split(",") if name)


def locale_name(number: int) -> str:
    """Return the locale of ``lc_time_names``, or its number if unknown."""
    locales = _LOCALES.split()
    return locales[number] if number < len(locales) else str(number)


def _flag_options(flags: int, flavour: Flavour, version: tuple[int, int, int]) -> dict[str, str]:
    options = {
        "foreign_key_checks": _bit(not flags & _NO_FOREIGN_KEY_CHECKS),
        "sql_auto_is_null": _bit(flags & _AUTO_IS_NULL),
        "unique_checks": _bit(not flags & _RELAXED_UNIQUE_CHECKS),
        "autocommit": _bit(not flags & _NOT_AUTOCOMMIT),
    }
    if flavour is Flavour.MARIADB:
        for since, name, value in (
            ((10, 2, 1), "check_constraint_checks", not flags & _MARIADB_NO_CHECK_CONSTRAINT_CHECKS),
            ((10, 5, 2), "sql_if_exists", flags & _MARIADB_IF_EXISTS),
            (
                (10, 10, 0),
                "explicit_defaults_for_timestamp",
                flags & _MARIADB_EXPLICIT_DEFAULTS_FOR_TIMESTAMP,
            ),
            ((10, 11, 0), "system_versioning_insert_history", flags & _MARIADB_INSERT_HISTORY),
        ):
            if version >= since:
                options[name] = _bit(value)
    return options


def _charset_options(status: QueryStatus, flavour: Flavour) -> dict[str, str]:
    options: dict[str, str] = {}
    if status.character_set_client is not None:
        options["character_set_client"] = _charset(status.character_set_client)
    for name, number in (
        ("collation_connection", status.collation_connection),
        ("collation_server", status.collation_server),
        ("collation_database", status.collation_database),
        ("default_collation_for_utf8mb4", status.default_collation_for_utf8mb4),
    ):
        if number is not None:
            options[name] = _collation(number, flavour)
    if status.mariadb_character_set_collations is not None:
        options["character_set_collations"] = ",".join(
            f"{_charset(compiled)}={_collation(default, flavour)}"
            for compiled, default in status.mariadb_character_set_collations
        )
    return options


def _charset(collation: int) -> str:
    charset = collation_to_charset(collation)
    return str(collation) if charset is None else charset.name


def _collation(number: int, flavour: Flavour) -> str:
    return collation_name(number, mariadb=flavour is Flavour.MARIADB) or str(number)


def _bit(value: int) -> str:
    return "1" if value else "0"
