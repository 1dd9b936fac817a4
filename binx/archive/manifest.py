"""The manifest: an archive's record of one log, written after all objects that it lists."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from binx.errors import BinxError, DamagedError, NotABinlogError, SourceError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.binlog_file import BinlogFile
from binx.log.index.index_file import log_checksums
from binx.log.index.lookup import SUFFIX as INDEX_SUFFIX
from binx.source.log_names import ENCRYPTION_SUFFIX, ZSTD_SUFFIX
from binx.storage.contracts import Contract
from binx.storage.hashing import digest_of
from binx.storage.store import MANIFESTS, Store
from binx.version import __version__

CONTRACT = Contract(1, again="archive that log into another place")
"""The contract of an archive's manifests."""

LOG, INDEX = "log", "index"
"""Kinds of objects."""

UNKNOWN = "unknown"
"""The flavour of a log whose server is unknown."""

UNKNOWN_IDENTITY = "00000000"
"""The source identity of such a log."""

_SUFFIX = ".json"
_MANIFEST_MAXIMUM = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object listed in a manifest."""

    path: str
    kind: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ArchivedLog:
    """A log in the archive.

    Attributes:
        identity: of the source, as in the data set.
        objects: its stored objects; a damaged log has no index.
        damage: the damage found when it was archived, in sentences; its bytes are kept as they were.
        recipients: age recipients that its objects are encrypted to; empty if not encrypted.
        flavour: ``mysql`` or ``mariadb``; ``unknown`` if the first event is damaged.
        head_crc32: of the magic and the first event.
        create_timestamp: of the format description; not 0 if the log is the first after a server start.
        header_timestamp: when the log was begun, in seconds since 1970.
        unfinished_bytes: bytes after its last whole transaction.
        decrypted: whether the source was encrypted, and the archive is not.
        ended: when the ROTATE or STOP at its end was written, in seconds since 1970.
        gtid_list: MariaDB's list of GTIDs before the log.
        first_commit: the earliest commit time, in µs since 1970; None without transactions.
        problems: problems in a log whose bytes are as its server wrote them, in sentences.
    """

    name: str
    identity: str
    bytes: int
    sha256: str
    objects: tuple[StoredObject, ...]
    damage: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    flavour: str = UNKNOWN
    head_crc32: int = 0
    tail_bytes: int = 0
    tail_crc32: int = 0
    server_id: int = 0
    server_version: str = ""
    create_timestamp: int = 0
    header_timestamp: int = 0
    in_use: bool = False
    ending: str = UNKNOWN
    unfinished_bytes: int = 0
    decrypted: bool = False
    next_file: str | None = None
    ended: int | None = None
    previous_gtids: str | None = None
    gtid_list: str | None = None
    gtid_set: str = ""
    transactions: int = 0
    first_commit: int | None = None
    last_commit: int | None = None
    problems: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        """Common prefix of its objects' names."""
        return stem(self.name, self.identity, self.sha256)

    @property
    def log(self) -> StoredObject:
        """The compressed log."""
        return next(stored for stored in self.objects if stored.kind == LOG)

    @property
    def index(self) -> StoredObject | None:
        """Its index file; None if the log is damaged."""
        return next((stored for stored in self.objects if stored.kind == INDEX), None)

    @property
    def gtids(self) -> GtidSet:
        """The GTIDs of its whole transactions."""
        return GtidSet.parse(self.gtid_set)

    @property
    def gtids_before(self) -> GtidSet | None:
        """The GTIDs that it lists as logged before it, of MariaDB the last of each source; None for none."""
        text = self.gtid_list if self.previous_gtids is None else self.previous_gtids
        return None if text is None else GtidSet.parse(text)

    @property
    def is_unidentified(self) -> bool:
        """Whether its first event is damaged, so that no event can be parsed and its server is unknown."""
        return self.flavour == UNKNOWN

    @property
    def stored_bytes(self) -> int:
        """Total size of its objects."""
        return sum(stored.bytes for stored in self.objects)

    def looks_like(self, file: BinlogFile) -> bool:
        """Return whether name, source, size, first event and end match a log's; its middle is not read."""
        if (self.name, self.identity, self.bytes) != (file.name, file.identity, file.size):
            return False
        return (self.head_crc32, self.tail_bytes, self.tail_crc32) == log_checksums(file)


_TEXTS = ("problems", "damage", "recipients")
"""Fields that are lists of texts."""

_DIGEST = "manifest_sha256"
"""The last field: the hash of a manifest without it, so that a changed field is noticed."""


def encode_manifest(log: ArchivedLog) -> bytes:
    """Serialize a manifest."""
    document = {"contract": CONTRACT.number, "binx": __version__, **asdict(log)}
    return _text(document | {_DIGEST: _digest(document)})


def _text(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(_text(document)).hexdigest()


def decode_manifest(data: bytes, path: str) -> ArchivedLog:
    """Parse a manifest.

    Raises:
        UnsupportedError: a newer version of binx wrote it.
    """
    try:
        document: dict[str, Any] = json.loads(data)
        digest = document.pop(_DIGEST, "")
        is_unchanged = digest == _digest(document)
        document = CONTRACT.migrated(document, path)
        if not is_unchanged:
            raise ValueError("its fields do not match their hash: it was changed")
        del document["contract"], document["binx"]
        document["objects"] = tuple(StoredObject(**entry) for entry in document["objects"])
        document |= {name: tuple(document[name]) for name in _TEXTS}
        log = ArchivedLog(**document)
        _check(log)
    except (ValueError, TypeError, KeyError, AttributeError, UsageError, RecursionError) as error:
        raise DamagedError(f"expected a manifest, found something else: {error}", path=path) from error
    return log


def _check(log: ArchivedLog) -> None:
    """Reject invalid names, and paths outside the archive."""
    for stored in log.objects:
        if "/" in stored.path or not stored.path.startswith(log.stem):
            raise ValueError(f"{stored.path!r} is not this log's")
        if stored.path.endswith(ENCRYPTION_SUFFIX) is not bool(log.recipients):
            raise ValueError(f"{stored.path!r} is encrypted, or not, as its recipients do not say")
    kinds = sorted(stored.kind for stored in log.objects)
    if kinds != ([LOG] if log.damage else [INDEX, LOG]):
        raise ValueError(f"objects of these kinds are listed: {', '.join(kinds)}")
    _ = log.gtids, log.gtids_before


def stem(name: str, identity: str, sha256: str) -> str:
    """Return the common prefix of a log's object names: its name, source identity, and content hash."""
    return f"{name}.{identity}-{sha256[:8]}"


def object_names(log_stem: str) -> tuple[str, str]:
    """Return the names of a log's unencrypted objects: the compressed log, and its index."""
    return f"{log_stem}{ZSTD_SUFFIX}", f"{log_stem}{INDEX_SUFFIX}"


def manifest_name(log_stem: str) -> str:
    """Return the manifest's name in the store."""
    return f"{MANIFESTS}/{log_stem}{_SUFFIX}"


def stem_of(manifest: str) -> str:
    """Return the prefix of the object names that belong to a manifest."""
    return manifest.removeprefix(f"{MANIFESTS}/").removesuffix(_SUFFIX)


def manifest_names(store: Store) -> list[str]:
    """Return the names of all manifests in the store, sorted."""
    names = [name for name in store.names(MANIFESTS) if name.endswith(_SUFFIX) and not name.startswith(".")]
    return [f"{MANIFESTS}/{name}" for name in names]


def read_manifest(store: Store, name: str) -> ArchivedLog:
    """Read the log of a manifest."""
    source = store.open(name)
    try:
        if source.size > _MANIFEST_MAXIMUM:
            raise SourceError("expected a manifest, found something larger", path=store.path(name))
        log = decode_manifest(bytes(source.window(0, source.size)), store.path(name))
    finally:
        source.close()
    if manifest_name(log.stem) != name:
        raise DamagedError(
            f"expected the manifest of this name, found that of {log.stem}", path=store.path(name)
        )
    return log


def read_manifests(
    store: Store, names: Iterable[str] | None = None
) -> tuple[list[ArchivedLog], list[BinxError]]:
    """Read the archive's manifests in name order; return the logs, and the errors of unreadable ones."""
    logs: list[ArchivedLog] = []
    errors: list[BinxError] = []
    for name in manifest_names(store) if names is None else names:
        try:
            logs.append(read_manifest(store, name))
        except (DamagedError, NotABinlogError, SourceError) as error:
            errors.append(error.at(path=store.path(name)))
    return logs, errors


def find_log(logs: Sequence[ArchivedLog], file: BinlogFile) -> ArchivedLog | None:
    """Return the archived log that matches a log, or None.

    The damaged copy of a log matches only if all bytes are equal: the source may have a whole copy by now.
    """
    matches = [log for log in logs if log.looks_like(file)]
    if all(log.damage for log in matches):
        sha256 = digest_of(file.source) if matches else None
        matches = [log for log in matches if log.sha256 == sha256]
    return min(matches, key=lambda log: bool(log.damage), default=None)
