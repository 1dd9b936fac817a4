"""Counts what the servers' own readers print (``-vv --base64-output=decode-rows``)."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from binx.event.format import Flavour
from binx.event.header import EventType, event_name
from binx.log.binlog_file import BinlogFile
from binx.stats.gather import gather
from testdata.programs import find_mariadb, find_mysql

_EVENT = re.compile(
    rb"^#\d{6} [ \d]\d:\d\d:\d\d server id \d+  end_log_pos \d+(?: CRC32 0x[0-9a-f]+)? ?\t"
    rb"(Gtid list|Binlog checkpoint|XA PREPARE|XID(?= = X')|[\w-]+)([^\n]*)$"
    rb"|^#(Begin_load_query|Append_block): file_id: \d+  block_len: \d+$",
    re.MULTILINE,
)
_CHANGE = re.compile(rb"^### (INSERT INTO|UPDATE|DELETE FROM) `(.*)`\.`(.*)`$", re.MULTILINE)
_OPERATIONS = (b"INSERT INTO", b"UPDATE", b"DELETE FROM")
_DELIMITER = b"/*!*/;"
_NO_STATEMENT = re.compile(rb"SAVEPOINT|ROLLBACK\s+TO|RELEASE\s+SAVEPOINT|XA\s+END", re.IGNORECASE)

_NAMES = {
    "Start": "FORMAT_DESCRIPTION",
    "Previous-GTIDs": "PREVIOUS_GTIDS",
    "Gtid list": "GTID_LIST",
    "XID": "XA_PREPARE",
    "XA PREPARE": "XA_PREPARE",
    "Write_rows_old": "WRITE_ROWS",
    "Update_rows_old": "UPDATE_ROWS",
    "Delete_rows_old": "DELETE_ROWS",
    "Update_rows_partial": "PARTIAL_UPDATE_ROWS",
    "Write_compressed_rows": "WRITE_ROWS_COMPRESSED",
    "Update_compressed_rows": "UPDATE_ROWS_COMPRESSED",
    "Delete_compressed_rows": "DELETE_ROWS_COMPRESSED",
}
"""Where an upper-case name is not all that the readers' names lack."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What is in a log."""

    transactions: int
    events: dict[str, int]
    rows: dict[str, tuple[int, int, int]]


def count_listing(text: bytes) -> Counts:
    """Count what a reader printed."""
    found = list(_EVENT.finditer(text))
    events: Counter[str] = Counter()
    boundaries = _Boundaries()
    for event, following in zip(found, [*found[1:], None], strict=True):
        printed = (event[1] or event[3]).decode()
        name = _NAMES.get(printed, printed.upper().replace(" ", "_"))
        events[name] += 1
        segment = text[event.end() : following.start() if following else len(text)]
        boundaries.take(name, event[2] or b"", segment)
    rows: dict[str, list[int]] = {}
    for operation, database, table in _CHANGE.findall(text):
        counts = rows.setdefault(f"{database.decode()}.{table.decode()}", [0, 0, 0])
        counts[_OPERATIONS.index(operation)] += 1
    gtids = events["GTID"] + events["ANONYMOUS_GTID"]
    return Counts(
        gtids or boundaries.transactions,
        dict(events),
        {table: (inserts, updates, deletes) for table, (inserts, updates, deletes) in rows.items()},
    )


class _Boundaries:
    """Transactions of logs without GTIDs: BEGIN to COMMIT, and each statement outside of that."""

    def __init__(self) -> None:
        self.transactions = 0
        self._open = False
        self._bare = False

    def take(self, name: str, line: bytes, segment: bytes) -> None:
        if name == "XID":
            self._open = False
        elif name == "QUERY":
            self._take_statement(segment)
        elif name == "EXECUTE_LOAD_QUERY":
            self.transactions += not self._open
        elif name == "TABLE_MAP" and not self._open and not self._bare:
            self.transactions += 1
            self._bare = True
        elif b"STMT_END_F" in line:
            self._bare = False

    def _take_statement(self, segment: bytes) -> None:
        parts = [part.strip() for part in segment.split(_DELIMITER)]
        statement = next(part for part in reversed(parts) if part and not part.startswith(b"#"))
        if statement == b"BEGIN":
            self.transactions += not self._open
            self._open = True
        elif statement in {b"COMMIT", b"ROLLBACK"}:
            self.transactions += not self._open
            self._open = False
        elif not _NO_STATEMENT.match(statement):
            self.transactions += not self._open


def count_with_binx(path: Path, *, verify: bool = True) -> Counts:
    """Count the same with binx."""
    with BinlogFile.open(str(path)) as file:
        figures = gather([file], verify=verify)
    events: Counter[str] = Counter()
    for one in figures["event_types"]:
        events[_plain_name(one["event_type"])] += one["events"] + one["compressed_events"]
    rows = {}
    for one in figures["tables"]:
        changes = (one["inserts"], one["updates"], one["deletes"])
        if any(changes):
            rows[f"{one['db']}.{one['table']}"] = changes
    return Counts(figures["transactions"], dict(events), rows)


def _plain_name(name: str) -> str:
    if name == event_name(EventType.GTID_TAGGED):
        return "GTID"
    return re.sub(r"^MARIADB_|_V[01]$", "", name)


def find_reader(path: Path) -> list[str] | None:
    """The words that start the reader that can judge a log; None where this machine has it not.

    It is MySQL's for logs of MySQL from 5.6 on, and MariaDB's for all others.
    """
    with BinlogFile.open(str(path)) as file:
        description = file.format
    if description.flavour is Flavour.MYSQL and description.version >= (5, 6, 0):
        mysql = find_mysql()
        return None if mysql is None else mysql.command("mysqlbinlog")
    mariadb = find_mariadb()
    return None if mariadb is None else mariadb.command("mariadb-binlog")


def print_log(reader: list[str], path: Path, folder: Path, *options: str) -> tuple[bytes, str]:
    """What a reader prints of a log, and what it complains of."""
    usual = ["--no-defaults", "-vv", "--base64-output=decode-rows", f"--local-load={folder}"]
    command = [*reader, *usual, *options, str(path)]
    result = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "TZ": "UTC"})
    complaints = [line for line in result.stderr.decode(errors="replace").splitlines() if "ERROR" in line]
    return result.stdout, "; ".join(complaints) or ("" if result.returncode == 0 else "no reason given")
