"""Backups into a data set, each one whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from binx.base.dump_text import open_text
from binx.base.mydumper import METADATA, files_of, read_mydumper
from binx.base.mysqldump import read_mysqldump, server_of
from binx.base.source import Backup, BaseSource
from binx.dataset.chain import SourceReport
from binx.dataset.dataset import DataSet
from binx.dataset.options import ParquetOptions
from binx.errors import UnsupportedError
from binx.event.gtid.sources import DomainSource
from binx.log.backup_position import BackupPosition, read_backup_position

_HEAD_BYTES = 65_536
MYDUMPER = "mydumper"


def import_bases(
    paths: Sequence[str],
    lake: str,
    options: ParquetOptions,
    *,
    position: BackupPosition | None = None,
    tables: Sequence[str] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> Iterator[SourceReport]:
    """Take in backups, one after another.

    Args:
        paths: dumps, plain or compressed, and folders of mydumper.
        lake: the data set: a folder or a URI.
        position: where they stand in the logs; None: as they say.
        tables: patterns of ``db.table``; all where there are none.
        progress: called with the bytes of all backups that are read.

    Raises:
        UsageError: a backup does not say where it stands.
        BinxError: nothing of a backup was taken, and why.
    """
    backups = [_found(path, position) for path in paths]
    dataset = DataSet(lake)
    with dataset.locked():
        done = 0
        for backup, head in backups:
            source = BaseSource(backup, dataset, options, tables)
            source.server_version = server_of(head)
            gtids = backup.position.gtids.sources
            is_mariadb = "mariadb" in head.lower() or any(isinstance(one, DomainSource) for one in gtids)
            source.context = source.context._replace(mariadb=is_mariadb)
            report = source.find_kept()
            if report is None:
                reached = partial(_reached, progress, done)
                read = read_mydumper if backup.tool == MYDUMPER else partial(read_mysqldump, head=head)
                report = source.write(partial(read, progress=reached))
            done += backup.size
            progress(done)
            yield report


def _found(path: str, given: BackupPosition | None) -> tuple[Backup, str]:
    """A backup, and its first characters.

    Raises:
        SourceError: it cannot be read.
        UnsupportedError: a folder that is not of a tool whose files are read.
        UsageError: it does not say where it stands.
    """
    if not Path(path).is_dir():
        position = read_backup_position(path) if given is None else given
        with open_text(path) as text:
            head = text.head(_HEAD_BYTES)
        size = Path(path).stat().st_size
        return Backup(path, "mysqldump", position, size, head), head.decode("utf-8", "replace")
    notes = Path(path, METADATA)
    if not notes.is_file():
        raise UnsupportedError(
            "expected a dump of mysqldump or mariadb-dump, or a folder of mydumper (with metadata), found a"
            " folder of something else",
            path=path,
        )
    position = read_backup_position(path) if given is None else given
    size = sum(one.stat().st_size for one, _ in files_of(path))
    return Backup(path, MYDUMPER, position, size, notes.read_bytes()), ""


def _reached(progress: Callable[[int], None], before: int, read: int) -> None:
    progress(before + read)
