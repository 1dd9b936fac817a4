"""The session of a QUERY event, as far as it decides what a schema statement means."""

from __future__ import annotations

from binx.event.collation import collation_charset, collation_name
from binx.event.format import Flavour
from binx.event.header import EventFlag, EventHeader
from binx.event.query import Query
from binx.rows.columns.schema import NO_BACKSLASH_ESCAPES, StatementContext

EXPLICIT_DEFAULTS_SINCE = {Flavour.MYSQL: (8, 0, 2), Flavour.MARIADB: (10, 10, 0)}
"""Versions whose explicit_defaults_for_timestamp is ON where nobody set it."""

_MARIADB_EXPLICIT_DEFAULTS = 1 << 24
"""MariaDB's bit for it in the session options (sql/sql_priv.h, OPTION_EXPLICIT_DEF_TIMESTAMP)."""


def statement_context(query: Query, header: EventHeader, log: str = "") -> StatementContext:
    """What the catalog needs to know of the session that ran a statement.

    Args:
        query: the statement.
        header: its event's.
        log: the name of the log that it stands in, with its identity.
    """
    mariadb = query.flavour is Flavour.MARIADB
    server, connection = query.status.collation_server, query.status.collation_connection
    major, minor, patch = query.version
    mode = query.status.sql_mode or 0
    return StatementContext(
        sql_mode=mode & ~NO_BACKSLASH_ESCAPES if query.by_server else mode,
        server_collation=None if server is None else collation_name(server, mariadb=mariadb),
        mariadb=mariadb,
        version=major * 10000 + minor * 100 + patch,
        explicit_defaults_for_timestamp=_explicit_defaults(query),
        # What the server writes itself is not read as the session's literals are.
        literals=None if connection is None or query.by_server else collation_charset(connection),
        client=query.charset.name,
        failed=query.error_code != 0,
        committed=bool(query.status.ddl_xid or query.status.mariadb_xid),
        place=(log, header.position),
        connection=(header.server_id, query.thread_id),
        uses_temporary=bool(header.flags & EventFlag.THREAD_SPECIFIC),
    )


def _explicit_defaults(query: Query) -> bool:
    if query.status.explicit_defaults_for_timestamp is not None:
        return query.status.explicit_defaults_for_timestamp
    since = query.version >= EXPLICIT_DEFAULTS_SINCE[query.flavour]
    if query.flavour is Flavour.MARIADB and since and query.status.flags2 is not None:
        return bool(query.status.flags2 & _MARIADB_EXPLICIT_DEFAULTS)
    return since
