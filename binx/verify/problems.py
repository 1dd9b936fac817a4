"""What can be wrong with binary logs: its kinds, and for each what it means and what to do about it."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple


class ProblemKind(Enum):
    """What is wrong."""

    NOT_A_BINLOG = "not_a_binlog"
    """The file is none, or of another format."""
    FORMAT = "format"
    """The first event, which tells how to read the others, is damaged."""
    ENCRYPTED = "encrypted"
    """The file, or the rest of it, is encrypted or needs what binx does not know."""
    CHECKSUM = "checksum"
    """An event's bytes are not those that its checksum was made of."""
    STRUCTURE = "structure"
    """Bytes that are no event, or an event where none of its kind can stand."""
    CUT = "cut"
    """The file ends within an event or a transaction, and no server is writing it."""
    UNKNOWN_EVENT = "unknown_event"
    """An event that binx cannot read, in bytes that are whole as far as can be told."""
    LENGTH = "length"
    """A GTID event tells another length than its transaction has."""
    POSITION = "position"
    """Headers tell other positions than their events have."""
    CLOCK = "clock"
    """Sequence numbers do not ascend, or a transaction waits for itself or a later one."""
    BEHIND_THE_END = "behind_the_end"
    """Events follow the event that ends the file."""
    INCIDENT = "incident"
    """The server itself says that changes are missing."""
    DUPLICATE_GTID = "duplicate_gtid"
    """A transaction is there twice, or was there before the file."""
    LOST_GTIDS = "lost_gtids"
    """A file says that there were transactions before it that the files before it do not hold."""
    UNKNOWN_GTIDS = "unknown_gtids"
    """A file does not know transactions that the files before it hold."""
    MISSING_FILE = "missing_file"
    """A file of the chain is not there."""
    NOT_CLOSED = "not_closed"
    """A file that another one follows has no end."""
    REPEATED = "repeated"
    """Two files are copies of one."""


class Advice(NamedTuple):
    """What a problem means, and what to do."""

    meaning: str
    action: str


_COPY = "take the file anew from its server, a replica or a backup"
_SALVAGE = "; where there is none, --on-damage salvage of extract and to-parquet takes out what is whole"

ADVICE: Final = {
    ProblemKind.NOT_A_BINLOG: Advice(
        "Nothing can be read from this file.", "leave it out, or see what the message says of its format"
    ),
    ProblemKind.FORMAT: Advice(
        "How the events are written is not known for certain, so that none of them is believed.",
        f"{_COPY}; the first event of another file of the same server and version can stand in for this one",
    ),
    ProblemKind.ENCRYPTED: Advice(
        "What it holds was not looked at.", "give its key, or let it be decrypted, as the message says"
    ),
    ProblemKind.CHECKSUM: Advice(
        "The bytes were changed after the server wrote them, as by a bad disk or a bad copy.",
        _COPY + _SALVAGE,
    ),
    ProblemKind.STRUCTURE: Advice(
        "A part of the file was overwritten, never written, cut out or put in.", _COPY + _SALVAGE
    ),
    ProblemKind.CUT: Advice(
        "The end is missing: the file was copied while it was written, the copy broke off, or the disk was"
        " full.",
        f"copy it again when its server has closed it, or after FLUSH BINARY LOGS{_SALVAGE}",
    ),
    ProblemKind.UNKNOWN_EVENT: Advice(
        "The server wrote it in a way that binx does not read, as a newer one may; the transaction around it"
        " cannot be taken out.",
        "see what the message says, look for a newer binx, or take this transaction with the server's own"
        " mysqlbinlog; --on-damage salvage of extract and to-parquet takes out the others",
    ),
    ProblemKind.LENGTH: Advice(
        "Readers that trust the length, replicas among them, go astray here; binx reads on event by event.",
        "do not feed the file to a server; binx extract writes the transactions with right lengths",
    ),
    ProblemKind.POSITION: Advice(
        "The events were copied out of another log, or bytes before them are missing; replicas and tools that"
        " go by position go astray.",
        "find by GTID, not by position; binx extract writes right positions",
    ),
    ProblemKind.CLOCK: Advice(
        "A replica that applies in parallel would order these transactions wrongly.",
        "apply the file with one worker, or through binx extract, which numbers transactions anew",
    ),
    ProblemKind.BEHIND_THE_END: Advice(
        "Two files were joined, or one was written on after its end.",
        "take the file anew from its server; readers may stop at the first end",
    ),
    ProblemKind.INCIDENT: Advice(
        "Changes were made on the server that no file holds; a replica stops here.",
        "bring replicas and exports up to date from a backup that is newer than this place",
    ),
    ProblemKind.DUPLICATE_GTID: Advice(
        "Files of several servers or runs are mixed, or a file holds a part of another one.",
        "give the files of one server, each once; a server applies such a transaction only once",
    ),
    ProblemKind.LOST_GTIDS: Advice(
        "These transactions are in none of the files, though the server had logged them or was told"
        " (gtid_purged) to take them for done.",
        "look for them on the server or a replica: SELECT GTID_SUBSET(…, @@gtid_executed)",
    ),
    ProblemKind.UNKNOWN_GTIDS: Advice(
        "The later file is of another run or another server, or transactions of the earlier one were"
        " discarded.",
        "find out with SHOW BINARY LOGS which files are the server's own now",
    ),
    ProblemKind.MISSING_FILE: Advice(
        "Transactions between the two files are not looked at, and no export of them is complete.",
        "name that file too, or bring it back from a backup",
    ),
    ProblemKind.NOT_CLOSED: Advice(
        "The server died, or the file was copied before its end was written: its last transactions may be"
        " missing.",
        "compare its size with the server's file, or its last GTID with what the next file knows",
    ),
    ProblemKind.REPEATED: Advice("What both hold is counted and exported twice.", "name only one of them"),
}


class Problem(NamedTuple):
    """Something that is wrong.

    Attributes:
        kind: see ProblemKind.
        path: the file.
        message: what was expected, and what was found.
        start: offset where it begins; None where it is about the whole file.
        end: offset where it ends; None where that is not known.
        gtid: of the transaction that it hits, or the GTIDs that it is about.
        transactions: how many transactions are lost by it at least.
    """

    kind: ProblemKind
    path: str
    message: str
    start: int | None = None
    end: int | None = None
    gtid: str | None = None
    transactions: int = 0

    @property
    def meaning(self) -> str:
        """What follows from it."""
        return ADVICE[self.kind].meaning

    @property
    def action(self) -> str:
        """What to do about it."""
        return ADVICE[self.kind].action

    def facts(self) -> dict[str, object]:
        """As plain JSON values."""
        return {
            "kind": self.kind.value,
            "path": self.path,
            "start": self.start,
            "end": self.end,
            "gtid": self.gtid,
            "transactions": self.transactions,
            "message": self.message,
            "meaning": self.meaning,
            "action": self.action,
        }


__all__ = ["ADVICE", "Advice", "Problem", "ProblemKind"]
