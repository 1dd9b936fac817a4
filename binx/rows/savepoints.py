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
from binx.event.query import Query
from binx.kernels.transactions.table import TransactionTable
from binx.log.events import transaction_events
from binx.log.file import BinlogFile

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
    """The rows events that marked transactions undid themselves, as ``RowDecoder.begin`` takes them."""
    found = bytearray()
    for index in table.undoing(mask):
        start, end = table.value("start", index), table.value("end", index)
        events = transaction_events(file, start, end, table.format)
        parts = (
            (header.type in _ROWS, event.text if isinstance(event, Query) else None)
            for header, event in events
        )
        for first, stop in undone_runs(parts):
            found += pack("=qqq", index, first, stop)
    return bytes(found)


def _name(marker: re.Match[str]) -> str:
    """The savepoint's name; servers write it between double quotes where the session has ANSI_QUOTES."""
    if marker["quoted"]:
        return marker["quoted"].replace("``", "`")
    return marker["ansi"].replace('""', '"') if marker["ansi"] else marker["bare"]


def undone_runs(events: Iterable[tuple[bool, str | None]]) -> Iterator[tuple[int, int]]:
    """The runs of rows events that are undone, ``[first, stop)`` by their number, in order and apart.

    Args:
        events: a transaction's events: whether it is a rows event, and the text where it is a statement.
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
        places = [place for place, (known, _) in enumerate(savepoints) if known == name]
        if marker["verb"].upper() == "SAVEPOINT":
            # The same name again moves the savepoint.
            savepoints = [*(entry for entry in savepoints if entry[0] != name), (name, count)]
        elif places and marker["verb"].upper().startswith("ROLLBACK"):
            first = savepoints[places[-1]][1]
            del savepoints[places[-1] + 1 :]
            while runs and runs[-1][0] >= first:
                runs.pop()
            if first < count:
                runs.append((first, count))
        elif places:
            del savepoints[places[-1] :]
    yield from runs
