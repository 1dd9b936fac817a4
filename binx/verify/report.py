"""The results of a verification."""

from __future__ import annotations

from typing import NamedTuple

from binx.source.json_text import json_text
from binx.verify.problems import Problem, ProblemKind


class FileReport(NamedTuple):
    """One file, as far as it was read; header, transaction, damaged and unfinished bytes add up to its size.

    Attributes:
        server_version: of the server that wrote it; None if the file is not a binary log.
        checksum: ``CRC32`` or ``OFF``.
        ending: ``closed``, ``open``, ``in use`` or ``damaged``.
        by_length: how many of them end where the length in their GTID event says; the others are delimited
            by their events only.
        events: number of events of complete transactions and of the file itself, including those in payloads.
        header_bytes: the magic and the events of the file itself.
        unfinished_bytes: an incomplete transaction at the end of a file in use.
    """

    path: str
    name: str
    bytes: int
    server_version: str | None = None
    server_id: int | None = None
    checksum: str | None = None
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

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def lacks_files(self) -> bool:
        """Whether a file of the chain is missing."""
        return any(problem.kind is ProblemKind.MISSING_FILE for problem in self.problems)

    @property
    def lost(self) -> int:
        """Minimum number of lost transactions: those hit by damage, and those that other files list."""
        counts: dict[str, list[int]] = {}
        for problem in self.problems:
            by_kind = counts.setdefault(problem.path, [0, 0])
            by_kind[problem.kind is ProblemKind.LOST_GTIDS] += problem.transactions
        return sum(map(max, counts.values()))

    @property
    def transactions(self) -> int:
        """Number of complete transactions of all files."""
        return sum(file.transactions for file in self.files)

    def to_json(self) -> str:
        """The report as a JSON object: ``ok``, ``files``, ``problems``, ``notes``, ``checksums``."""
        document = {
            "ok": self.ok,
            "checksums": self.checksums,
            "files": [file._asdict() for file in self.files],
            "problems": [problem.facts() for problem in self.problems],
            "notes": list(self.notes),
        }
        return json_text(document)
