"""What a run of ``archive`` is asked to do, and what it tells of its logs and of itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from binx.archive.manifest import ArchivedLog
from binx.archive.writing import DamagedLogError
from binx.errors import BinxError
from binx.event.gtid.sets import GtidSet
from binx.source.names import printable
from binx.verify.report import ProblemKind

if TYPE_CHECKING:
    from binx.dataset.chain import SourceReport


class State(Enum):
    """What became of a log in a run."""

    ARCHIVED = "archived"
    WOULD_ARCHIVE = "would archive"
    """It would be, were this no dry run."""
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
    """It would be removed, were this no dry run."""
    EXPIRED = "expired"
    """It was removed from the archive."""
    WOULD_EXPIRE = "would expire"
    """It would be removed from it, were this no dry run."""
    PURGEABLE = "purgeable"
    """The archive holds it; the server that has it in its index can remove it."""


@dataclass(frozen=True, slots=True)
class ArchiveRequest:
    """What a run is to do.

    Attributes:
        source: a folder of logs, a server's index, or a log.
        archive: a folder, or a URI.
        decrypt: whether encrypted logs are taken, decrypted; where there are recipients, whether Parquet is
            written, which is not encrypted.
        recipients: whom what is archived is encrypted to; none: it is not encrypted.
        keep_damaged: whether damaged logs are taken, as they are.
        dry_run: whether nothing is written.
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
    """What became of one log.

    Attributes:
        archived: what the archive says of it; None where it does not hold it.
    """

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
        archived: of them those that were taken in this run; those that would be in a dry run.
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


class Finding(Enum):
    """What is wrong with an archive; what is wrong between its logs has the names that ``verify`` gives."""

    MANIFEST = "manifest"
    """A manifest cannot be read."""
    OBJECT_MISSING = "object_missing"
    """An object that a manifest lists is not there, or cannot be read."""
    OBJECT_CHANGED = "object_changed"
    """Its bytes are not those that were written."""
    DAMAGED = "damaged"
    """A log is kept as it was found, and its bytes were not those that its server wrote."""
    NOT_ARCHIVED = "not_archived"
    """A log of the source is not archived, though later ones are."""
    OVERLAP = "overlap"
    """Logs of one server hold the same GTIDs."""


_MISSING = frozenset(
    {Finding.OBJECT_MISSING.value, Finding.NOT_ARCHIVED.value, ProblemKind.MISSING_FILE.value}
)


@dataclass(frozen=True, slots=True)
class CheckProblem:
    """Something that is wrong.

    Attributes:
        kind: a Finding's name, or that of a kind of ``verify``.
        path: the object, or the log.
        message: what was expected, and what was found.
        gtid: the GTIDs that it is about.
    """

    kind: str
    path: str
    message: str
    gtid: str | None = None

    def as_dict(self) -> dict[str, object]:
        """The same for JSON."""
        return {"kind": self.kind, "path": printable(self.path), "message": self.message, "gtid": self.gtid}


@dataclass(frozen=True, slots=True)
class TailLog:
    """A log of the source that the archive does not hold."""

    log: str
    closed: bool
    bytes: int
    gtids: GtidSet

    def as_dict(self) -> dict[str, object]:
        """The same for JSON."""
        return {
            "log": printable(self.log),
            "closed": self.closed,
            "bytes": self.bytes,
            "gtid_set": str(self.gtids),
        }


@dataclass(slots=True)
class CheckReport:
    """What a check has found.

    Attributes:
        unopened: how many of these no identity that is at hand opens.
        missing: GTIDs that no log holds though earlier and later ones of their source are there.
        notes: what is normal and worth knowing, in sentences.
        tail: logs of the source that are not archived yet; None where no source was given.
    """

    logs: int = 0
    bytes: int = 0
    stored_bytes: int = 0
    transactions: int = 0
    encrypted: int = 0
    unopened: int = 0
    gtids: GtidSet = field(default_factory=GtidSet)
    missing: GtidSet = field(default_factory=GtidSet)
    problems: list[CheckProblem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tail: list[TailLog] | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def lacks(self) -> bool:
        """Whether something is not there."""
        return any(problem.kind in _MISSING for problem in self.problems)

    def as_dict(self) -> dict[str, object]:
        """The same for JSON."""
        return {
            "check": "missing" if self.lacks else "ok" if self.ok else "problems",
            "logs": self.logs,
            "bytes": self.bytes,
            "stored_bytes": self.stored_bytes,
            "transactions": self.transactions,
            "encrypted": self.encrypted,
            "unopened": self.unopened,
            "gtid_set": str(self.gtids),
            "missing_gtids": str(self.missing),
            "problems": [problem.as_dict() for problem in self.problems],
            "notes": self.notes,
            "tail": None if self.tail is None else [log.as_dict() for log in self.tail],
        }
