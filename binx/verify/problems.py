"""Results of a verification: kinds of problems with their meaning and advice, and reports on files."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from binx.report.document import json_line
from binx.source.wording import counted


class LogProblemKind(Enum):
    """Kinds of problems."""

    NOT_A_BINLOG = "not_a_binlog"
    """The file is not a binary log, or has another format."""
    FORMAT = "format"
    """The first event, which describes the format of the others, is damaged."""
    ENCRYPTED = "encrypted"
    """The file, or the rest of it, is encrypted or not supported."""
    CHECKSUM = "checksum"
    """An event's checksum does not match its bytes."""
    STRUCTURE = "structure"
    """Bytes that are not an event, or an event that is not valid at its place."""
    CUT = "cut"
    """The file ends inside an event or a transaction, and no server is writing it."""
    UNKNOWN_EVENT = "unknown_event"
    """An event that binx does not support, though its bytes seem intact."""
    LENGTH = "length"
    """The length in a GTID event is not that of its transaction."""
    POSITION = "position"
    """Positions in headers are not those of their events."""
    CLOCK = "clock"
    """Sequence numbers do not ascend, or a transaction depends on itself or a later one."""
    BEHIND_THE_END = "behind_the_end"
    """Events follow the event that ends the file."""
    INCIDENT = "incident"
    """The server recorded that changes are missing."""
    DUPLICATE_GTID = "duplicate_gtid"
    """A transaction occurs twice, or is listed as logged before the file."""
    LOST_GTIDS = "lost_gtids"
    """GTIDs that a file lists as logged before it are not in the earlier files."""
    UNKNOWN_GTIDS = "unknown_gtids"
    """GTIDs of the earlier files are not in a file's list of previous GTIDs."""
    MISSING_FILE = "missing_file"
    """A file of the chain is missing."""
    NOT_CLOSED = "not_closed"
    """A file that is followed by another one has no end."""
    REPEATED = "repeated"
    """Two files are copies of the same log."""
    UNLOGGED_CHANGES = "unlogged_changes"
    """Rows were not, before a change, what earlier changes left."""


class Advice(NamedTuple):
    """What a kind of problem means, and what to do."""

    meaning: str
    action: str


_COPY = "copy the file again from its server, a replica or a backup"
_SALVAGE = "; if there is none, binx extract --on-damage salvage recovers the intact transactions"

ADVICE: Final = {
    LogProblemKind.NOT_A_BINLOG: Advice(
        "Nothing can be read from this file.",
        "leave it out; if it is a log whose beginning is damaged, give another one of its server with"
        " --format-from",
    ),
    LogProblemKind.FORMAT: Advice(
        "The format of the events is not known for certain, so none of them can be trusted.",
        f"{_COPY}; with --format-from, the first event of another log of its server stands in for this one",
    ),
    LogProblemKind.ENCRYPTED: Advice(
        "Its contents were not checked.", "give its key or decrypt it, as the message says"
    ),
    LogProblemKind.CHECKSUM: Advice(
        "The bytes were changed after the server wrote them, for example by a bad disk or a bad copy.",
        _COPY + _SALVAGE,
    ),
    LogProblemKind.STRUCTURE: Advice(
        "Part of the file was overwritten, never written, removed or inserted.", _COPY + _SALVAGE
    ),
    LogProblemKind.CUT: Advice(
        "The end is missing: the file was copied while it was written, the copy was interrupted, or"
        " the disk was full.",
        f"copy it again after its server has closed it, or after FLUSH BINARY LOGS{_SALVAGE}",
    ),
    LogProblemKind.UNKNOWN_EVENT: Advice(
        "The server wrote it in a way that binx does not support; the transaction cannot be extracted.",
        "see the message, look for a newer binx, or extract this transaction with the server's"
        " mysqlbinlog; extract or to-parquet with --on-damage salvage recovers the others",
    ),
    LogProblemKind.LENGTH: Advice(
        "Readers that trust the length, including replicas, go wrong here; binx reads on event by event.",
        "do not apply the file to a server; binx extract writes the transactions with correct lengths",
    ),
    LogProblemKind.POSITION: Advice(
        "The events were copied from another log, or bytes before them are missing; replicas and tools"
        " that rely on positions go wrong.",
        "search by GTID instead of by position; binx extract writes correct positions",
    ),
    LogProblemKind.CLOCK: Advice(
        "A replica that applies transactions in parallel would apply these in the wrong order.",
        "apply the file with one worker, or use binx extract, which renumbers the transactions",
    ),
    LogProblemKind.BEHIND_THE_END: Advice(
        "Two files were concatenated, or something was written after the end of one.",
        "copy the file again from its server; readers may stop at the first end",
    ),
    LogProblemKind.INCIDENT: Advice(
        "Changes were made on the server that are in no file; a replica stops here.",
        "restore replicas and exports from a backup made after this point",
    ),
    LogProblemKind.DUPLICATE_GTID: Advice(
        "Files of several servers or runs are mixed, or a file contains part of another one.",
        "give the files of one server, each once; a server applies such a transaction only once",
    ),
    LogProblemKind.LOST_GTIDS: Advice(
        "These transactions are in none of the files, although the server had logged them, or they"
        " were marked as executed (gtid_purged).",
        "look for them on the server or a replica: SELECT GTID_SUBSET(…, @@gtid_executed)",
    ),
    LogProblemKind.UNKNOWN_GTIDS: Advice(
        "The later file is from another run or another server, or transactions of the earlier one were"
        " discarded.",
        "use SHOW BINARY LOGS to find out which files are the server's current ones",
    ),
    LogProblemKind.MISSING_FILE: Advice(
        "Transactions between the two files are not checked, and exports of them are incomplete.",
        "add that file, or restore it from a backup",
    ),
    LogProblemKind.NOT_CLOSED: Advice(
        "The server crashed, or the file was copied before its end was written: its last transactions"
        " may be missing.",
        "compare its size with the server's file, or its last GTID with the previous GTIDs of the next file",
    ),
    LogProblemKind.REPEATED: Advice(
        "Their common contents are counted and exported twice.", "give only one of them"
    ),
    LogProblemKind.UNLOGGED_CHANGES: Advice(
        "Rows were changed without a log: with sql_log_bin = 0, by foreign keys on servers that do not log"
        " that, or in a log that is missing. Replicas, exports and recovery from these logs differ from the"
        " server.",
        "compare the table with its replicas, and restore them and exports of it from a backup made since",
    ),
}


class Problem(NamedTuple):
    """A problem found."""

    kind: LogProblemKind
    path: str
    message: str
    start: int | None = None
    end: int | None = None
    gtid: str | None = None
    transactions: int = 0

    @property
    def meaning(self) -> str:
        """What the problem means."""
        return ADVICE[self.kind].meaning

    @property
    def action(self) -> str:
        """What to do."""
        return ADVICE[self.kind].action


class FileReport(NamedTuple):
    """One file, as far as it was read; header, transaction, damaged and unfinished bytes add up to its size.

    Attributes:
        server_version: of the server that wrote it; None if the file is not a binary log.
        file: its name, as its server calls it.
        checksum_algorithm: ``CRC32`` or ``OFF``.
        ending: ``closed``, ``open``, ``in use`` or ``damaged``.
        by_length: how many of them end where the length in their GTID event puts it; the others are delimited
            by their events only.
        events: number of events of complete transactions and of the file itself, including those in payloads.
        header_bytes: the magic and the events of the file itself.
        unfinished_bytes: an incomplete transaction at the end of a file in use.
    """

    path: str
    file: str
    bytes: int
    server_version: str | None = None
    server_id: int | None = None
    checksum_algorithm: str | None = None
    relay_log: bool = False
    in_use: bool = False
    ending: str = "damaged"
    next_file: str | None = None
    transactions: int = 0
    by_length: int = 0
    events: int = 0
    gtid_set: str = ""
    previous_gtids: str | None = None
    header_bytes: int = 0
    transaction_bytes: int = 0
    damaged_bytes: int = 0
    unfinished_bytes: int = 0


class VerifyReport(NamedTuple):
    """The results for all files."""

    files: tuple[FileReport, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    checksums: bool

    def __repr__(self) -> str:
        found = "ok" if self.ok else counted(len(self.problems), "problem")
        counts = f"{counted(len(self.files), 'log')}, {counted(self.transactions, 'transaction')}"
        return f"<{type(self).__name__} {found}: {counts}>"

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def lacks_files(self) -> bool:
        """Whether a file of the chain is missing."""
        return any(problem.kind is LogProblemKind.MISSING_FILE for problem in self.problems)

    @property
    def lost(self) -> int:
        """Minimum number of lost transactions: those hit by damage, and those that other files list."""
        counts: dict[str, list[int]] = {}
        for problem in self.problems:
            by_kind = counts.setdefault(problem.path, [0, 0])
            by_kind[problem.kind is LogProblemKind.LOST_GTIDS] += problem.transactions
        return sum(map(max, counts.values()))

    @property
    def transactions(self) -> int:
        """Number of complete transactions of all files."""
        return sum(file.transactions for file in self.files)

    def to_json(self) -> str:
        """The report as a JSON object."""
        return json_line("verification", self)
