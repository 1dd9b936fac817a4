"""What a run of ``archive`` is asked to do, and what it tells of its logs and of itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING

from binx.archive.manifest import ArchivedLog
from binx.archive.writing import DamagedLogError
from binx.errors import BinxError
from binx.source.names import printable

if TYPE_CHECKING:
    from binx.dataset.chain import SourceReport


class State(Enum):
    """What became of a log in a run; ``would …`` in a dry run."""

    ARCHIVED = "archived"
    WOULD_ARCHIVE = "would archive"
    DAMAGED = "damaged"
    """It was not taken, as its bytes are not what its server wrote."""
    KEPT = "kept damaged"
    """It was taken as it is, though its bytes are not what its server wrote."""
    FAILED = "failed"
    """It could not be taken, or removed, for another reason."""
    TABLES = "tables written"
    """Its Parquet was written."""
    PRUNED = "pruned"
    """It was removed from the source, as the archive holds it."""
    WOULD_PRUNE = "would prune"
    EXPIRED = "expired"
    """It was removed from the archive."""
    WOULD_EXPIRE = "would expire"
    PURGEABLE = "purgeable"
    """The archive holds it; the server that has it in its index can remove it."""


@dataclass(frozen=True, slots=True)
class ArchiveRequest:
    """What a run is to do.

    Attributes:
        source: a folder of logs, a server's index, or a log.
        decrypt: whether encrypted logs are taken, decrypted; where there are recipients, whether Parquet is
            written, which is not encrypted.
        recipients: whom what is archived is encrypted to; none: it is not encrypted.
        keep_damaged: whether damaged logs are taken, as they are.
        max_files: logs taken at most; None for all.
        max_seconds: after so many seconds no log is begun; None for no limit.
        parquet: the folder, or URI, of a data set that grows with the archive; None for none.
        prune_days: logs that were not written to for so many days are removed from the source, as far as
            the archive proves to hold them; None: the source is left as it is.
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
class LogReport:
    """What became of one log; ``archived`` is what the archive says of it, where it holds it."""

    state: State
    log: str
    archived: ArchivedLog | None = None
    error: BinxError | None = None
    tables: SourceReport | None = None

    def as_dict(self) -> dict[str, object]:
        """The same for JSON."""
        facts: dict[str, object] = {"log": printable(self.log), "state": self.state.value}
        if self.archived is not None:
            one = self.archived
            facts |= {
                "name": one.stem,
                "bytes": one.bytes,
                "stored_bytes": one.stored_bytes,
                "transactions": one.transactions,
                "gtid_set": one.gtid_set,
                "sha256": one.sha256,
                "problems": list(one.problems),
                **({"damage": list(one.damage)} if one.damage else {}),
                **({"recipients": list(one.recipients)} if one.recipients else {}),
            }
        if self.tables is not None:
            facts |= {
                "source": self.tables.source,
                "rows": self.tables.rows,
                "losses": list(self.tables.manifest["losses"]),
            }
        if self.error is not None:
            facts["error"] = self.error.message
        if isinstance(self.error, DamagedLogError):
            facts["problems"] = [problem.facts() for problem in self.error.problems]
        return facts


@dataclass(slots=True)
class RunReport:
    """What a run has done.

    Attributes:
        archived: logs that were taken in this run; those that would be in a dry run.
        remaining: closed logs that are left for the next run, because of a limit.
        damaged: logs that are damaged: not taken, or taken as they are.
        losses: what Parquet lacks of the logs that it was written of.
        pruned: logs that were removed from the source; those that would be in a dry run.
        purge: what removes on the server the logs that the archive holds; None where there are none.
    """

    held: int = 0
    archived: int = 0
    remaining: int = 0
    open: tuple[str, ...] = ()
    damaged: int = 0
    failed: int = 0
    problems: int = 0
    tables: int = 0
    losses: int = 0
    pruned: int = 0
    purge: str | None = None
    seconds: float = 0.0

    def count(self, log: LogReport) -> None:
        """Count what became of a log."""
        state = log.state
        self.failed += state is State.FAILED
        self.damaged += state in (State.DAMAGED, State.KEPT)
        self.pruned += state in (State.PRUNED, State.WOULD_PRUNE)
        self.archived += state in (State.ARCHIVED, State.KEPT, State.WOULD_ARCHIVE)
        self.problems += 0 if log.archived is None else len(log.archived.problems)
        if log.tables is not None:
            self.tables += 1
            self.losses += len(log.tables.manifest["losses"])

    @property
    def has_problems(self) -> bool:
        """Whether something is wrong though nothing failed."""
        return bool(self.damaged or self.problems or self.losses)

    @property
    def is_idle(self) -> bool:
        """Whether no log has told anything."""
        return not (self.archived or self.damaged or self.failed or self.pruned or self.purge or self.tables)

    def as_dict(self) -> dict[str, object]:
        """The same for JSON."""
        return {
            "run": "failed" if self.failed else "problems" if self.has_problems else "ok",
            **asdict(self),
            "open": [printable(path) for path in self.open],
            "seconds": round(self.seconds, 3),
        }
