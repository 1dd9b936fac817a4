"""Backups into a data set, each one whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from binx.base.dump_text import open_text
from binx.base.mysqldump import read_mysqldump, server_of
from binx.base.source import Backup, BaseSource
from binx.dataset.chain import SourceReport
from binx.dataset.dataset import DataSet
from binx.dataset.options import ParquetOptions
from binx.errors import SourceError
from binx.log.backup_position import BackupPosition, read_backup_position

_HEAD_BYTES = 65_536


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
        paths: dumps, plain or compressed.
        lake: the data set: a folder or a URI.
        position: where they stand in the logs; None: as they say.
        tables: patterns of ``db.table``; all where there are none.
        progress: called with the bytes of all backups that are read.

    Raises:
        UsageError: a backup does not say where it stands.
        BinxError: nothing of a backup was taken, and why.
    """
    backups = [_of_dump(path, position) for path in paths]
    dataset = DataSet(lake)
    with dataset.locked():
        done = 0
        for backup, head in backups:
            source = BaseSource(backup, dataset, options, tables)
            source.server_version = server_of(head)
            source.context = source.context._replace(mariadb="mariadb" in source.server_version.lower())
            before = done
            report = source.find_kept()
            if report is None:
                reached = partial(_reached, progress, before)
                report = source.write(partial(read_mysqldump, head=head, progress=reached))
            done += backup.size
            progress(done)
            yield report


def _of_dump(path: str, given: BackupPosition | None) -> tuple[Backup, str]:
    """A dump that is one file, and its first characters."""
    position = read_backup_position(path) if given is None else given
    try:
        size = Path(path).stat().st_size
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", path=path) from error
    with open_text(path) as text:
        head = text.head(_HEAD_BYTES)
    return Backup(path, "mysqldump", position, size, head), head.decode("utf-8", "replace")


def _reached(progress: Callable[[int], None], before: int, read: int) -> None:
    progress(before + read)
