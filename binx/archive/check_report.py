"""What a check of an archive has found."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from binx.event.gtid.sets import GtidSet
from binx.source.names import printable
from binx.verify.problems import ProblemKind


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
        logs: how many the archive holds.
        bytes: of these logs.
        stored_bytes: of their objects.
        transactions: whole ones.
        encrypted: how many of the logs are.
        unopened: how many of these no identity that is at hand opens.
        gtids: of all of them.
        missing: GTIDs that no log holds though earlier and later ones of their source are there.
        problems: what is wrong.
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
