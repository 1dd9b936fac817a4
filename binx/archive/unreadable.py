"""Logs whose first event is damaged: no event of theirs can be read, and they are kept byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from binx.archive.digests import digest_of
from binx.archive.manifest import UNKNOWN, UNKNOWN_IDENTITY, ArchivedLog, object_names, stem
from binx.archive.sources import UnreadableLog
from binx.archive.storing import Storage
from binx.archive.writing import LONGEST_FRAME, commit, read_back, write_log
from binx.source.plain import PlainFile
from binx.verify.problems import ProblemKind


def keep_unreadable(
    unreadable: UnreadableLog, storage: Storage, held: Sequence[ArchivedLog]
) -> ArchivedLog | None:
    """Take such a log into the archive; None where it is there already.

    Raises:
        SourceError, NotABinlogError: it cannot be read, is empty, or changed meanwhile.
        OutputError: the archive cannot be written, or does not give back what was written.
    """
    with closing(PlainFile.open(unreadable.path)) as source:
        sha256 = digest_of(source)
        if any((log.name, log.sha256) == (source.name, sha256) for log in held):
            return None
        log_stem = stem(source.name, UNKNOWN_IDENTITY, sha256)
        cuts = range(LONGEST_FRAME, source.size, LONGEST_FRAME)
        name, _ = object_names(log_stem)
        log = write_log(source, cuts, storage, name, sha256)
        read_back(storage, log, None, sha256)
        archived = ArchivedLog(
            name=source.name,
            identity=UNKNOWN_IDENTITY,
            bytes=source.size,
            sha256=sha256,
            head_crc32=0,
            tail_bytes=0,
            tail_crc32=0,
            server_id=0,
            server_version="",
            flavour=UNKNOWN,
            create_timestamp=0,
            header_timestamp=0,
            in_use=False,
            ending=UNKNOWN,
            unfinished_bytes=0,
            decrypted=False,
            next_file=None,
            previous_gtids=None,
            gtid_set="",
            transactions=0,
            first_commit=None,
            last_commit=None,
            problems=(),
            objects=(log.stored,),
            damage=(f"{ProblemKind.FORMAT.value}: {unreadable.error.message}",),
        )
    storage.remove_unencrypted([name])
    return commit(storage, archived)
