"""What a verification found."""

from __future__ import annotations

from typing import NamedTuple

from binx.verify.problems import Problem, ProblemKind


class FileReport(NamedTuple):
    """One file, as far as it was read; the three kinds of bytes, with the unfinished ones, are all of it.

    Attributes:
        path: as it was named.
        name: the binary log's own name.
        bytes: its size.
        server_version: of the server that wrote it; None where the file is no binary log.
        server_id: of that server.
        checksum: ``CRC32`` or ``OFF``.
        relay_log: whether it holds the events of another server's log.
        in_use: whether it is marked as being written.
        ending: ``closed``, ``open``, ``in use`` or ``damaged``.
        next_file: the name that its last event gives; None where it gives none.
        transactions: whole ones.
        by_length: how many of them have the length that their GTID event tells; the ends of the others are
            known by their events alone.
        events: those of whole transactions and about the file, within payloads included.
        gtid_set: of the whole transactions.
        previous_gtids: what the file says was there before it.
        header_bytes: of the magic and the events about the file itself.
        transaction_bytes: of whole transactions.
        damaged_bytes: of what could not be read.
        unfinished_bytes: of what a server has not written to its end yet.
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
    """All files.

    Attributes:
        files: in the order of their chain.
        problems: in the order of the files.
        notes: what is normal and worth knowing, in sentences.
        checksums: whether checksums were compared.
    """

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
        """Whether a file of the chain is not there."""
        return any(problem.kind is ProblemKind.MISSING_FILE for problem in self.problems)

    @property
    def lost(self) -> int:
        """Transactions that are lost, at least: what damage hit, and what other files know of."""
        counts: dict[str, list[int]] = {}
        for problem in self.problems:
            by_kind = counts.setdefault(problem.path, [0, 0])
            by_kind[problem.kind is ProblemKind.LOST_GTIDS] += problem.transactions
        return sum(map(max, counts.values()))

    @property
    def transactions(self) -> int:
        """Whole transactions of all files."""
        return sum(file.transactions for file in self.files)

    def to_json(self) -> str:
        """One object: ``ok``, ``files``, ``problems``, ``notes``, ``checksums``."""
        from binx.source.json_text import json_text

        document = {
            "ok": self.ok,
            "checksums": self.checksums,
            "files": [file._asdict() for file in self.files],
            "problems": [problem.facts() for problem in self.problems],
            "notes": list(self.notes),
        }
        return json_text(document)


__all__ = ["FileReport", "VerifyReport"]
