"""One log on its way into the archive: verified, compressed, indexed, read back, committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

from binx.archive.digests import DigestSink, digest_of, object_digest
from binx.archive.manifest import INDEX, LOG, ArchivedLog, StoredObject, encode_manifest, manifest_name, stem
from binx.errors import BinxError, DamagedError, OutputError, SourceError
from binx.export.seekable import FRAME_BYTES, write_seekable
from binx.export.sidecar import SidecarWriter
from binx.export.store import Store
from binx.log.chain import FileEnds
from binx.log.file import BinlogFile
from binx.log.index_use import SUFFIX
from binx.log.sidecar import Sidecar, log_facts
from binx.source.encrypted import EncryptedFile
from binx.verify.content import ContentCheck
from binx.verify.problems import Problem, ProblemKind
from binx.verify.report import FileReport

_DAMAGE = frozenset(
    {
        ProblemKind.NOT_A_BINLOG,
        ProblemKind.FORMAT,
        ProblemKind.ENCRYPTED,
        ProblemKind.CHECKSUM,
        ProblemKind.STRUCTURE,
        ProblemKind.CUT,
        ProblemKind.UNKNOWN_EVENT,
    }
)
"""Problems that say that the bytes are not what the server wrote, or that nobody can tell."""

_STEPS = 4
"""How often a log's bytes are gone through: hashed, verified, compressed, read back."""


class DamagedLogError(DamagedError):
    """A log is not taken into the archive because it is damaged.

    Attributes:
        problems: what is wrong with it.
    """

    def __init__(self, problems: tuple[Problem, ...], path: str) -> None:
        more = f" (and {len(problems) - 1:,} more)" if len(problems) > 1 else ""
        first = problems[0]
        super().__init__(f"it is damaged and not archived: {first.message}{more}; {first.action}", path=path)
        self.problems = problems


def archive_log(
    ends: FileEnds, store: Store, progress: Callable[[int], None] = lambda position: None
) -> ArchivedLog:
    """Take one log into the archive.

    The log is hashed and verified, compressed in frames that end where transactions do, and read back: the
    restored bytes must have its hash, and the index is made of them. The manifest is written last.

    Args:
        ends: the log.
        store: where to.
        progress: called now and then with how much of the log's bytes is done.

    Raises:
        DamagedLogError: it is damaged; nothing was written.
        SourceError: it cannot be read, or changed meanwhile.
        OutputError: the archive cannot be written, or does not give back what was written.
    """
    file = ends.file
    size = file.size

    def step(number: int) -> Callable[[int], None]:
        return lambda position: progress((number * size + position) // _STEPS)

    sha256 = digest_of(file.source, step(0))
    check = ContentCheck(ends, checksums=True)
    report = check.run(step(1))
    damage = tuple(problem for problem in check.problems if problem.kind in _DAMAGE)
    if damage:
        raise DamagedLogError(damage, file.path)
    log_stem = stem(file.name, file.identity, sha256)
    log = _write_log(file, store, f"{log_stem}.zst", sha256)
    step(2)(size)
    index, first, last = _write_index(store, log, f"{log_stem}{SUFFIX}", sha256)
    archived = _described(ends, report, check.problems, sha256, (log, index), first, last)
    with store.writing(manifest_name(log_stem)) as sink:
        sink.write(encode_manifest(archived))
    progress(size)
    return archived


def _write_log(file: BinlogFile, store: Store, name: str, sha256: str) -> StoredObject:
    with store.writing(name) as sink:
        output = DigestSink(sink)
        written = write_seekable(file, _cuts(file), output)
        if written.sha256 != sha256:
            raise SourceError(
                "the log changed while it was archived; run again when nothing writes it any more",
                path=file.path,
            )
    return StoredObject(name, LOG, output.bytes, output.hexdigest())


def _cuts(file: BinlogFile) -> Iterator[int]:
    """Where transactions end, but not nearer to each other than frames are long."""
    last = 0
    for table in file.scan(verify=False):
        for end in memoryview(table.column("end")).cast("q"):
            if end - last >= FRAME_BYTES:
                yield end
                last = end


def _write_index(
    store: Store, log: StoredObject, name: str, sha256: str
) -> tuple[StoredObject, int | None, int | None]:
    """Read the compressed log back and make its index; gives the index, and first and last commit time."""
    try:
        _compare(store, log)
        with BinlogFile.open(store.path(log.path)) as back:
            if digest_of(back.source) != sha256:
                raise DamagedError("expected the bytes of the log, found others")
            with store.writing(name) as sink:
                output = DigestSink(sink)
                SidecarWriter(back).write(output)
            index = StoredObject(name, INDEX, output.bytes, output.hexdigest())
            _compare(store, index)
            times = [time for block in _blocks_of(store, name, back) for time in block]
    except OutputError:
        raise
    except BinxError as error:
        raise OutputError(
            f"the archive does not give back what was written to it: {error.message}; see to its storage, and"
            " run again",
            path=error.path or store.path(log.path),
        ) from error
    return index, min(times, default=None), max(times, default=None)


def _blocks_of(store: Store, name: str, back: BinlogFile) -> Iterator[tuple[int, int]]:
    """The commit times of the blocks of an index file, all of which are read."""
    with closing(Sidecar.read_from(store.open(name), back)) as sidecar:
        for block in sidecar.directory.blocks:
            sidecar.table(block)
            if block.records:
                yield block.times


def _compare(store: Store, stored: StoredObject) -> None:
    if object_digest(store, stored.path) != (stored.bytes, stored.sha256):
        raise DamagedError("expected the bytes that were written, found others", path=store.path(stored.path))


def _described(
    ends: FileEnds,
    report: FileReport,
    problems: list[Problem],
    sha256: str,
    objects: tuple[StoredObject, ...],
    first: int | None,
    last: int | None,
) -> ArchivedLog:
    file, description = ends.file, ends.file.format
    facts = log_facts(file, 0, 0)
    return ArchivedLog(
        name=file.name,
        identity=file.identity,
        bytes=file.size,
        sha256=sha256,
        head_crc32=facts.head,
        tail_bytes=facts.tail_bytes,
        tail_crc32=facts.tail,
        server_id=description.server_id,
        server_version=description.server_version,
        flavour=description.flavour.value,
        create_timestamp=description.create_timestamp,
        header_timestamp=description.header_timestamp,
        in_use=description.in_use,
        ending=report.ending,
        unfinished_bytes=report.unfinished_bytes,
        decrypted=is_encrypted(file),
        next_file=ends.next_file,
        previous_gtids=report.previous_gtids,
        gtid_set=report.gtid_set,
        transactions=report.transactions,
        first_commit=first,
        last_commit=last,
        problems=tuple(f"{one.kind.value}: {one.message}" for one in problems),
        objects=objects,
    )


def is_encrypted(file: BinlogFile) -> bool:
    """Whether a log's bytes are encrypted where it is."""
    return isinstance(file.source, EncryptedFile)


__all__ = ["DamagedLogError", "archive_log", "is_encrypted"]
