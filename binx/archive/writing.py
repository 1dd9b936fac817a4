"""Archive one log: verify, compress, index, read back, commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace

from binx.archive.manifest import (
    INDEX,
    LOG,
    UNKNOWN_IDENTITY,
    ArchivedLog,
    StoredObject,
    encode_manifest,
    manifest_name,
    object_names,
    stem,
)
from binx.archive.objects import ObjectWriter, Storage
from binx.errors import BinxError, DamagedError, OutputError, SourceError, UnsupportedError
from binx.event.format import Flavour
from binx.event.gtid.sets import GtidSet
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog
from binx.log.index.index_file import IndexFile, log_checksums
from binx.log.index.writer import write_index_to
from binx.log.scan import Scan
from binx.log.scanning import OnDamage
from binx.source import Source
from binx.source.opening import decompressed, is_encrypted
from binx.storage.hashing import digest_of, object_digest
from binx.storage.seekable import FRAME_BYTES, write_seekable
from binx.storage.store import Store
from binx.verify.content import ContentCheck
from binx.verify.problems import FileReport, LogProblemKind, Problem
from binx.verify.verification import link_problems

_DAMAGE = frozenset(
    {
        LogProblemKind.NOT_A_BINLOG,
        LogProblemKind.FORMAT,
        LogProblemKind.ENCRYPTED,
        LogProblemKind.CHECKSUM,
        LogProblemKind.STRUCTURE,
        LogProblemKind.CUT,
        LogProblemKind.UNKNOWN_EVENT,
    }
)
"""Problems that mean that the bytes differ from what the server wrote, or may differ."""

KEEP = "--on-damage keep archives it as it is"
"""Advice for a damaged log that nobody writes any more."""

LONGEST_FRAME = 64 * FRAME_BYTES
"""Frame size where the ends of transactions are unknown."""

_STEPS = 4
"""Number of passes over a log's bytes: hash, verify, compress, read back."""


class DamagedLogError(DamagedError):
    """A damaged log was not archived."""

    def __init__(self, problems: tuple[Problem, ...], path: str, advice: str = "") -> None:
        more = f" (and {len(problems) - 1:,} more)" if len(problems) > 1 else ""
        first = problems[0]
        super().__init__(f"damaged, not archived: {first.message}{more}; {first.action}{advice}", path=path)
        self.problems = problems


def archive_log(
    ends: ChainLog,
    storage: Storage,
    progress: Callable[[int], None] = lambda position: None,
    *,
    keep_damaged: bool = False,
) -> ArchivedLog:
    """Archive one log.

    The log is hashed and verified, compressed in frames that end where transactions do, and read back: the
    restored bytes must have its hash, and the index is made from them. The manifest is written last. A
    damaged log has no index, and its manifest describes the damage. If there are recipients, compressed log
    and index are encrypted to them.
    """
    file = ends.file
    size = file.size

    def step(number: int) -> Callable[[int], None]:
        return lambda position: progress((number * size + position) // _STEPS)

    sha256 = digest_of(file.source, step(0))
    check = ContentCheck(ends, checksums=True)
    report = check.run(step(1))
    problems = [*check.problems, *_lost_gtids(ends, check.gtids)]
    damage = tuple(problem for problem in problems if problem.kind in _DAMAGE)
    if damage and not keep_damaged:
        raise DamagedLogError(damage, file.path, f"; {KEEP}")
    names = object_names(stem(file.name, file.identity, sha256))
    log = _write_log(
        file.source, _cuts_of_damaged(file) if damage else _cuts(file), storage, names[0], sha256
    )
    step(2)(size)
    index, times = _read_back(storage, log, None if damage else names[1], sha256)
    archived = _archived_log(ends, report, problems, sha256, log.stored, index, times)
    if is_encrypted(file.source) and not storage.recipients:
        archived = replace(archived, decrypted=True)
    storage.remove_unencrypted(names)
    archived = _commit(storage, archived)
    progress(size)
    return archived


def _lost_gtids(ends: ChainLog, content: GtidSet) -> Iterator[Problem]:
    """Yield the problem that the next log lists GTIDs before it that neither this log nor its list has."""
    after = ends.file.successor
    if after is None:
        return
    for problem in link_problems(ends.facts, content, after, GtidSet()):
        if problem.kind is LogProblemKind.LOST_GTIDS:
            message = (
                f"{after.name} lists {problem.gtid} as logged before it, which it lacks: it was copied"
                " before it was complete, or its server crashed"
            )
            yield problem._replace(message=message)


def keep_unreadable(source: Source, sha256: str, error: BinxError, storage: Storage) -> ArchivedLog:
    """Archive a log that cannot be opened, as it is.

    Args:
        error: why it cannot be opened.
    """
    cuts = range(LONGEST_FRAME, source.size, LONGEST_FRAME)
    name, _ = object_names(stem(source.name, UNKNOWN_IDENTITY, sha256))
    log = _write_log(source, cuts, storage, name, sha256)
    _read_back(storage, log, None, sha256)
    archived = ArchivedLog(
        name=source.name,
        identity=UNKNOWN_IDENTITY,
        bytes=source.size,
        sha256=sha256,
        objects=(log.stored,),
        damage=(f"{LogProblemKind.FORMAT.value}: {error.message}",),
    )
    storage.remove_unencrypted([name])
    return _commit(storage, archived)


def damage_of_open(ends: ChainLog) -> DamagedLogError | None:
    """Return the damage of a log that may still be written; an incomplete end is none."""
    check = ContentCheck(ends, checksums=True)
    check.run(lambda position: None)
    damage = tuple(problem for problem in check.problems if problem.kind in _DAMAGE - {LogProblemKind.CUT})
    return DamagedLogError(damage, ends.file.path) if damage else None


def _commit(storage: Storage, archived: ArchivedLog) -> ArchivedLog:
    """Write a log's manifest after all objects that it lists; return it."""
    committed = replace(archived, recipients=storage.recipients)
    with storage.store.writing(manifest_name(committed.stem)) as sink:
        sink.write(encode_manifest(committed))
    return committed


def _write_log(source: Source, cuts: Iterable[int], storage: Storage, name: str, sha256: str) -> ObjectWriter:
    """Write a log's bytes, compressed; they must match the hash computed before."""
    with storage.writing(name, LOG) as output:
        if write_seekable(source, cuts, output.sink) != sha256:
            raise SourceError(
                "the log changed while it was archived; run again when nothing writes to it",
                path=source.path,
            )
    return output


def _cuts(file: BinlogFile, on_damage: OnDamage = OnDamage.STOP) -> Iterator[int]:
    """Yield the ends of transactions."""
    for table in Scan(file, verify=False, on_damage=on_damage):
        yield from memoryview(table.column("end")).cast("q")


def _cuts_of_damaged(file: BinlogFile) -> Iterator[int]:
    """Yield the ends of whole transactions, and evenly spaced offsets after what salvage can read."""
    last = 0
    with suppress(DamagedError, UnsupportedError):
        for last in _cuts(file, OnDamage.SALVAGE):
            yield last
    yield from range(last + LONGEST_FRAME, file.size, LONGEST_FRAME)


def _read_back(
    storage: Storage, log: ObjectWriter, name: str | None, sha256: str
) -> tuple[StoredObject | None, list[int]]:
    """Read the compressed log back, and make its index from it if that has a name.

    Returns:
        The index, and commit times including the first and the last.
    """
    try:
        _compare(storage.store, log.stored)
        with closing(decompressed(storage.open(log), of_logs=False)) as restored:
            if digest_of(restored) != sha256:
                raise DamagedError("expected the bytes of the log, found others")
        if name is None:
            return None, []
        with BinlogFile.inside(decompressed(storage.open(log))) as file:
            with storage.writing(name, INDEX) as output:
                write_index_to(file, output.sink)
            _compare(storage.store, output.stored)
            times = list(_commit_times(storage, output, file))
    except OutputError:
        raise
    except BinxError as error:
        raise OutputError(
            f"the archive does not return what was written to it: {error.message}; check its storage"
            " and run again",
            path=error.path or storage.store.path(log.stored.path),
        ) from error
    return output.stored, times


def _commit_times(storage: Storage, index: ObjectWriter, file: BinlogFile) -> Iterator[int]:
    """Yield the earliest and latest commit time of each row group of an index file, reading all of it."""
    with closing(IndexFile(storage.open(index), file)) as opened:
        opened.check()
        for table in opened:
            times = memoryview(table.column("commit_timestamp")).cast("q")
            yield min(times)
            yield max(times)


def _compare(store: Store, stored: StoredObject) -> None:
    if object_digest(store, stored.path) != (stored.bytes, stored.sha256):
        raise DamagedError("the bytes read back differ from those written", path=store.path(stored.path))


def _archived_log(
    ends: ChainLog,
    report: FileReport,
    problems: Sequence[Problem],
    sha256: str,
    log: StoredObject,
    index: StoredObject | None,
    times: list[int],
) -> ArchivedLog:
    file, description, before = ends.file, ends.file.format, ends.facts.gtids_before
    head, tail_bytes, tail = log_checksums(file)
    return ArchivedLog(
        name=file.name,
        identity=file.identity,
        bytes=file.size,
        sha256=sha256,
        objects=(log,) if index is None else (log, index),
        damage=tuple(_sentence(problem) for problem in problems if problem.kind in _DAMAGE),
        flavour=description.flavour.value,
        head_crc32=head,
        tail_bytes=tail_bytes,
        tail_crc32=tail,
        server_id=description.server_id,
        server_version=description.server_version,
        create_timestamp=description.create_timestamp,
        header_timestamp=description.header_timestamp,
        in_use=description.in_use,
        ending=report.ending,
        unfinished_bytes=report.unfinished_bytes,
        next_file=ends.facts.next_log,
        ended=ends.facts.ended,
        previous_gtids=report.previous_gtids,
        gtid_list=None if before is None or description.flavour is Flavour.MYSQL else str(before),
        gtid_set=report.gtid_set,
        transactions=report.transactions,
        first_commit=min(times, default=None),
        last_commit=max(times, default=None),
        problems=tuple(_sentence(problem) for problem in problems if problem.kind not in _DAMAGE),
    )


def _sentence(problem: Problem) -> str:
    return f"{problem.kind.value}: {problem.message}"
