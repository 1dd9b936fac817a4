"""Find rows that a transaction logged and then undid by ROLLBACK TO SAVEPOINT.

If it can, a server drops undone changes before it logs the transaction. MariaDB 10.11 does not
if a non-transactional or temporary table took part: SAVEPOINT, the rows and ROLLBACK TO are all
logged (testdata/mariadb-10.11/small/savepoints_rows.sql); MySQL 9.7 dropped them in the same cases. Rows of
non-transactional tables are not affected: both servers log them as transactions of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from struct import pack

from binx.event.header import EventType
from binx.event.query_event import Query
from binx.kernels.transactions.table import TransactionTable
from binx.log.binlog_file import BinlogFile
from binx.log.transaction_events import transaction_events

_MARKER = re.compile(
    r"(?P<verb>SAVEPOINT|ROLLBACK\s+(?:WORK\s+)?TO(?:\s+SAVEPOINT)?|RELEASE\s+SAVEPOINT)"
    r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|\"(?P<ansi>(?:[^\"]|\"\")+)\"|(?P<bare>[^\s`;]+))",
    re.IGNORECASE,
)

_ROWS = frozenset(
    number
    for number in EventType
    if any(f"{operation}_ROWS" in number.name for operation in ("WRITE", "UPDATE", "DELETE"))
)


def undone_rows(file: BinlogFile, table: TransactionTable, mask: bytearray) -> bytes:
    """Return the rows events that selected transactions undid, in the format of ``RowDecoder.begin``.

    Each entry has three native 64-bit integers: the transaction's index in the table, then the first of its
    rows events that was undone and the one after the last.
    """
    packed = bytearray()
    for index in table.undoing(mask):
        start, end = table.value("start", index), table.value("end", index)
        events = transaction_events(file, start, end, table.format)
        statements = (
            (header.type in _ROWS, event.text if isinstance(event, Query) else None)
            for header, event in events
        )
        for first, stop in undone_runs(statements):
            packed += pack("=qqq", index, first, stop)
    return bytes(packed)


def _name(marker: re.Match[str]) -> str:
    """Return the savepoint's name, unquoted; in sessions with ANSI_QUOTES, servers write double quotes."""
    if marker["quoted"]:
        return marker["quoted"].replace("``", "`")
    return marker["ansi"].replace('""', '"') if marker["ansi"] else marker["bare"]


def undone_runs(events: Iterable[tuple[bool, str | None]]) -> Iterator[tuple[int, int]]:
    """Yield the ranges ``[first, stop)`` of rows events that were undone, in order and without overlap.

    Rows events are numbered from 0 within their transaction.

    Args:
        events: for each event of a transaction, whether it is a rows event, and a statement's text or None.
    """
    savepoints: list[tuple[str, int]] = []
    runs: list[tuple[int, int]] = []
    count = 0
    for is_rows, text in events:
        count += is_rows
        marker = _MARKER.match(text) if text is not None else None
        if marker is None:
            continue
        name = _name(marker).casefold()
        indexes = [index for index, (savepoint, _) in enumerate(savepoints) if savepoint == name]
        if marker["verb"].upper() == "SAVEPOINT":
            # SAVEPOINT with an existing name moves the savepoint.
            savepoints = [*(entry for entry in savepoints if entry[0] != name), (name, count)]
        elif indexes and marker["verb"].upper().startswith("ROLLBACK"):
            first = savepoints[indexes[-1]][1]
            del savepoints[indexes[-1] + 1 :]
            while runs and runs[-1][0] >= first:
                runs.pop()
            if first < count:
                runs.append((first, count))
        elif indexes:
            del savepoints[indexes[-1] :]
    yield from runs
