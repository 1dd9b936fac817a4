"""Findings in the figures that deserve a DBA's attention; ``docs/statistics.md`` explains each kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from binx.event.gtid.sets import GtidSet
from binx.event.rows_events import unmapped_rows
from binx.log.selection.times import MICROSECONDS
from binx.log.succession import ChainProblem
from binx.source.log_names import printable
from binx.source.wording import counted, listed, shortened
from binx.stats.sums import Record, TableTotals

HUGE_BYTES = 100 * 1024 * 1024
"""A larger transaction is always reported as huge."""

LONG_SECONDS = 60
"""A transaction that takes longer is reported as long."""

_HUGE_SHARE = 4
_SHARED_BYTES = 10 * 1024 * 1024
_NAMES_SHOWN = 5
_GTIDS_SHOWN = 200


class Evidence(NamedTuple):
    """Input of the findings; steps are in µs.

    Attributes:
        kinds: number of transactions of each kind.
        largest: the transactions with most bytes, at least four if there are as many.
        tables: information from table maps; empty if only the index was read.
        with_text: transactions that contain statements and are not DDL.
        unread: compressed transactions, if they were not decompressed.
        cascades: statements that define foreign keys with actions whose row changes are not logged.
        unmapped: rows events without a table map.
    """

    files: Sequence[Record]
    unknown_events: Mapping[int, int]
    problems: Sequence[ChainProblem]
    kinds: Mapping[str, int]
    largest: Sequence[Record]
    huge_count: int
    longest: Sequence[Record]
    long_count: int
    transaction_bytes: int
    tables: TableTotals
    with_text: int
    unread: int
    backward_steps: int
    largest_step: int
    missing_gtids: GtidSet
    cascades: int
    unmapped: int


ACTIONS: Final = {
    "damaged": "copy the file again; binx verify says what is damaged, --on-damage salvage reads the rest",
    "in_use": "copy it again after FLUSH BINARY LOGS, or after its server has closed it",
    "chain": "add the missing files, or give the logs of one server",
    "unknown_events": "look for a newer binx if the figures must be complete",
    "unknown_metadata": "look for a newer binx if columns are shown with wrong types",
    "uncounted_rows": "look for a newer binx; ALTER TABLE … FORCE renews MariaDB's old columns",
    "incident": "make new replicas and exports from a backup taken after that point",
    "missing_gtids": "on a server that neither filters nor is in a group: look for the logs that have them",
    "no_checksums": "SET PERSIST binlog_checksum = CRC32 (in MariaDB: SET GLOBAL, and the option file)",
    "no_primary_key": "add a primary key: replicas search the whole table for each row, and undo needs a key",
    "no_column_names": "SET PERSIST binlog_row_metadata = FULL, or give binx --schema",
    "statements_as_text": "SET PERSIST binlog_format = ROW, so that logs have the rows",
    "compressed_unread": "leave out --quick to read them",
    "rolled_back": "find them with binx ls --kind rollback; tables that are not InnoDB keep such changes",
    "huge_transaction": "commit in batches; binx ls --sort size shows whose transactions these are",
    "long_transaction": "commit more often; binx ls --sort duration shows whose transactions these are",
    "clock_back": "check the time synchronisation of the server, and select by GTID instead of by time",
    "cascades_not_logged": "compare tables below such keys with their server; binx state says which rows",
    "unmapped_rows": "compare tables below foreign keys with their server",
}
"""What to do about each kind of finding."""


def findings(evidence: Evidence) -> list[Record]:
    """Return all findings, losses first; the count is in the message's unit."""
    results = (*_about_files(evidence), *_about_tables(evidence), *_about_transactions(evidence))
    return [
        {"kind": kind, "message": printable(message), "count": count, "action": ACTIONS[kind]}
        for kind, count, message in results
        if count
    ]


def _about_files(evidence: Evidence) -> Iterator[tuple[str, int, str]]:
    for file in evidence.files:
        size = file["damaged_bytes"]
        yield "damaged", size, f"{counted(size, 'byte')} could not be read: {file['error']}"
    for file in evidence.files:
        tail = f"; its last {file['unfinished_bytes']:,} bytes are an incomplete transaction"
        yield (
            "in_use",
            int(file["in_use"]),
            f"{file['file']} is open in its server, or was when the server crashed"
            + (tail if file["unfinished_bytes"] else ""),
        )
    for problem in evidence.problems:
        yield "chain", 1, f"{problem.kind.value}: {problem.message} (after {problem.before.path})"
    types, count = ", ".join(map(str, sorted(evidence.unknown_events))), sum(evidence.unknown_events.values())
    yield (
        "unknown_events",
        count,
        f"{counted(count, 'event')} of unknown types ({types}), marked as ignorable, skipped",
    )
    count = evidence.kinds.get("incident", 0)
    yield (
        "incident",
        count,
        f"the server recorded in {counted(count, 'place')} that changes are missing from its log",
    )
    unchecked = [file["file"] for file in evidence.files if file["checksum_algorithm"] == "OFF"]
    yield (
        "no_checksums",
        len(unchecked),
        f"events without checksums, where damage may go unnoticed: {_names(unchecked)}",
    )
    count = evidence.missing_gtids.count
    yield (
        "missing_gtids",
        count,
        f"{counted(count, 'GTID')} missing from these logs although later GTIDs of the same source are"
        " present (lost, filtered out, or never assigned):"
        f" {shortened(str(evidence.missing_gtids), _GTIDS_SHOWN)}",
    )


def _about_tables(evidence: Evidence) -> Iterator[tuple[str, int, str]]:
    tables = evidence.tables
    yield (
        "no_primary_key",
        len(tables.without_key),
        "tables changed without a primary key, so changes do not identify rows:"
        f" {_names(tables.without_key)}",
    )
    yield (
        "no_column_names",
        len(tables.without_names),
        "the log has no column names (binlog_row_metadata is not FULL), so they are known only from DDL:"
        f" {_names(tables.without_names)}",
    )
    yield (
        "uncounted_rows",
        len(tables.uncounted),
        f"rows not counted because the size of a column is not known: {_names(tables.uncounted)}",
    )
    for number, names in sorted(tables.unknown_metadata.items()):
        yield (
            "unknown_metadata",
            len(names),
            f"table maps with metadata of the unknown type {number}, which is ignored: {_names(names)}",
        )
    yield (
        "cascades_not_logged",
        evidence.cascades,
        f"{counted(evidence.cascades, 'statement')} with foreign key actions (CASCADE, SET NULL), whose row"
        " changes the server did not log",
    )
    yield "unmapped_rows", evidence.unmapped, "".join(unmapped_rows(evidence.unmapped))


def _about_transactions(evidence: Evidence) -> Iterator[tuple[str, int, str]]:
    yield (
        "statements_as_text",
        evidence.with_text,
        f"{counted(evidence.with_text, 'transaction')} with changes logged as statements; the rows they"
        " changed are not in the log",
    )
    yield (
        "compressed_unread",
        evidence.unread,
        f"{counted(evidence.unread, 'compressed transaction')} not decompressed (--quick): counted as dml,"
        " and to no connection",
    )
    count = evidence.kinds.get("rollback", 0) + evidence.kinds.get("xa_rollback", 0)
    yield (
        "rolled_back",
        count,
        f"{counted(count, 'transaction')} rolled back: only changes to non-transactional tables persist",
    )
    bound, count = HUGE_BYTES, evidence.huge_count
    if evidence.transaction_bytes >= _SHARED_BYTES and evidence.transaction_bytes // _HUGE_SHARE < bound:
        # At most three can have over a quarter each.
        bound = evidence.transaction_bytes // _HUGE_SHARE
        count = sum(record["bytes"] > bound for record in evidence.largest)
    for worst in evidence.largest[:1]:
        yield (
            "huge_transaction",
            count,
            f"{counted(count, 'transaction')} of over {bound:,} bytes, which delay replicas; the largest,"
            f" {worst['transaction']}, has {worst['bytes']:,}",
        )
    for worst in evidence.longest[:1]:
        yield (
            "long_transaction",
            evidence.long_count,
            f"{counted(evidence.long_count, 'transaction')} took over a minute from the first statement to"
            f" the commit, holding locks; the longest, {worst['transaction']}, took at least"
            f" {int(worst['duration'][0]):,} s",
        )
    yield (
        "clock_back",
        evidence.backward_steps,
        f"times go backwards by more than a second in {counted(evidence.backward_steps, 'place')}, by up to"
        f" {evidence.largest_step // MICROSECONDS:,} s: a clock was set back, logs of several servers are"
        " mixed, or, in logs without commit times, statements were long or sessions set their time",
    )


def _names(names: Iterable[str]) -> str:
    """Format the first names, and how many more there are."""
    return listed(sorted(names), _NAMES_SHOWN)
