"""Parameters of an ``archive`` run, and its reports on logs and on the run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from binx.archive.manifest import ArchivedLog
from binx.archive.writing import DamagedLogError
from binx.errors import BinxError

if TYPE_CHECKING:
    from binx.dataset.predecessors import SourceReport


class ArchiveLogState(Enum):
    """A log's state after a run; ``would …`` in a dry run."""

    ARCHIVED = "archived"
    WOULD_ARCHIVE = "would archive"
    DAMAGED = "damaged"
    """It was not archived because it is damaged."""
    KEPT = "kept damaged"
    """It was archived as it is, although it is damaged."""
    FAILED = "failed"
    """It could not be archived, or removed, for another reason."""
    TABLES = "tables written"
    """Its Parquet was written."""
    PRUNED = "pruned"
    """It was removed from the source, since the archive holds it."""
    WOULD_PRUNE = "would prune"
    EXPIRED = "expired"
    """It was removed from the archive."""
    WOULD_EXPIRE = "would expire"
    PURGEABLE = "purgeable"
    """The archive holds it; the server whose index lists it can purge it."""


@dataclass(frozen=True, slots=True)
class ArchiveRequest:
    """Parameters of a run.

    Attributes:
        source: a folder of logs, a server's index, or a log.
        decrypt: whether encrypted logs are decrypted and archived; with recipients, whether Parquet is
            written, which is not encrypted.
        recipients: age recipients for the archived objects; empty for no encryption.
        keep_damaged: whether damaged logs are archived as they are.
        max_files: maximum number of logs to archive; None for all.
        max_seconds: no log is begun after this many seconds; None for no limit.
        parquet: the folder or URI of a data set that is extended along with the archive; None for none.
        prune_days: remove logs that were not modified for this many days from the source if the archive
            provably holds them; None leaves the source unchanged.
    """

    source: str
    archive: str
    decrypt: bool = False
    keep_damaged: bool = False
    dry_run: bool = False
    max_files: int | None = None
    max_seconds: int | None = None
    parquet: str | None = None
    prune_days: int | None = None
    recipients: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArchiveLogReport:
    """Report on one log; ``archived`` is its manifest, if it is in the archive."""

    state: ArchiveLogState
    path: str
    archived: ArchivedLog | None = None
    error: BinxError | None = None
    tables: SourceReport | None = None

    def facts(self) -> dict[str, object]:
        """Return the members of ``archived_log`` that it has."""
        facts: dict[str, object] = {"path": self.path, "state": self.state}
        if (archived := self.archived) is not None:
            names = ("bytes", "stored_bytes", "transactions", "gtid_set", "sha256", "damage", "recipients")
            facts |= {name: getattr(archived, name) for name in names}
            # Those that it does not have are left out.
            facts |= {name: facts[name] or None for name in ("damage", "recipients")}
            facts |= {"archived_as": archived.stem, "findings": archived.problems}
        if self.tables is not None:
            facts |= {
                "source": self.tables.source,
                "rows": self.tables.rows,
                "losses": self.tables.losses,
            }
        if self.error is not None:
            facts["error"] = self.error.message
        if isinstance(self.error, DamagedLogError):
            facts["problems"] = self.error.problems
        return facts


@dataclass(slots=True)
class RunReport:
    """Report on a run.

    Attributes:
        archived: logs archived in this run, or that a dry run would archive.
        remaining: closed logs left for the next run because of a limit.
        damaged: damaged logs: not archived, or archived as they are.
        finding_count: what is wrong with archived logs whose bytes are as their server wrote them.
        exported: logs whose Parquet was written.
        loss_count: what Parquet lacks of these.
        pruned: logs removed from the source, or that a dry run would remove.
        purge: statement that purges the archived logs on the server; None if there are none.
    """

    held: int = 0
    archived: int = 0
    remaining: int = 0
    open: tuple[str, ...] = ()
    damaged: int = 0
    failed: int = 0
    finding_count: int = 0
    exported: int = 0
    loss_count: int = 0
    pruned: int = 0
    purge: str | None = None
    seconds: float = 0.0

    def count(self, log: ArchiveLogReport) -> None:
        """Count a log's state."""
        state = log.state
        self.failed += state is ArchiveLogState.FAILED
        self.damaged += state in (ArchiveLogState.DAMAGED, ArchiveLogState.KEPT)
        self.pruned += state in (ArchiveLogState.PRUNED, ArchiveLogState.WOULD_PRUNE)
        self.archived += state in (
            ArchiveLogState.ARCHIVED,
            ArchiveLogState.KEPT,
            ArchiveLogState.WOULD_ARCHIVE,
        )
        self.finding_count += 0 if log.archived is None else len(log.archived.problems)
        if log.tables is not None:
            self.exported += 1
            self.loss_count += len(log.tables.losses)

    @property
    def has_problems(self) -> bool:
        """Whether there are problems although nothing failed."""
        return bool(self.damaged or self.finding_count or self.loss_count)

    @property
    def is_idle(self) -> bool:
        """Whether no log was reported."""
        return not (
            self.archived or self.damaged or self.failed or self.pruned or self.purge or self.exported
        )

    @property
    def run(self) -> str:
        """How it ended."""
        return "failed" if self.failed else "problems" if self.has_problems else "ok"
