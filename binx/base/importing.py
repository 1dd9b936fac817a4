"""Backups into a data set, each one whole or not at all: a dump, or the folder of mydumper or MySQL Shell.

In that of mydumper each database, each table and its rows have files of their own (mydumper's documentation,
"Output Files").
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from binx.base import mysqlshell
from binx.base.dump_text import open_text
from binx.base.mysqldump import SqlRows, read_mysqldump, server_of
from binx.base.source import Backup, BaseSource
from binx.dataset.chain import SourceReport
from binx.dataset.dataset import DataSet
from binx.dataset.options import ParquetOptions
from binx.errors import AbsentError, UnsupportedError
from binx.event.gtid.sources import DomainSource
from binx.log.backup_position import BackupPosition, read_backup_position

_HEAD_BYTES = 65_536
MYDUMPER, MYSQL_SHELL = "mydumper", "MySQL Shell"
_METADATA = "metadata"
_SQL = r"\.sql(?:\.gz|\.zst)?$"
_DATABASE = re.compile(r"^(?P<db>.+)-schema-create" + _SQL)
_TABLE = re.compile(r"^(?P<name>.+)-schema" + _SQL)
_VIEW = re.compile(r"^(?P<name>.+)-schema-view" + _SQL)
_OTHER = re.compile(r"-(?:schema|schema-\w+)" + _SQL)
_ROWS = re.compile(r"^(?P<name>.+?\..+?)" + _SQL)


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
        paths: dumps, plain or compressed, and folders of mydumper or MySQL Shell.
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
                readers = {MYDUMPER: _read_mydumper, MYSQL_SHELL: mysqlshell.read_mysqlshell}
                read = readers.get(backup.tool, partial(read_mysqldump, head=head))
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
    tools = {_METADATA: MYDUMPER, mysqlshell.NOTES: MYSQL_SHELL}
    notes = next((Path(path, name) for name in tools if Path(path, name).is_file()), None)
    if notes is None:
        raise UnsupportedError(
            "expected a dump of mysqldump or mariadb-dump, or a folder of mydumper (with metadata) or MySQL"
            " Shell (with @.json), found a folder of something else",
            path=path,
        )
    position = read_backup_position(path) if given is None else given
    size = sum(one.stat().st_size for one in Path(path).iterdir())
    return Backup(path, tools[notes.name], position, size, notes.read_bytes()), ""


def _reached(progress: Callable[[int], None], before: int, read: int) -> None:
    progress(before + read)


def _files_of(folder: str) -> list[tuple[Path, str]]:
    """The files that make tables and fill them, in that order, each with its database.

    Raises:
        AbsentError: no file has rows.
    """
    files = sorted(Path(folder).iterdir())
    databases = sorted((found["db"] for path in files if (found := _DATABASE.match(path.name))), key=len)

    def of(name: str) -> str:
        known = (db for db in reversed(databases) if name.startswith(f"{db}."))
        return next(known, name.partition(".")[0])

    made = [(path, found["db"]) for path in files if (found := _DATABASE.match(path.name))]
    # Of a view there is a table as well, which stands in for it while a dump is loaded.
    views = {found["name"] for path in files if (found := _VIEW.match(path.name))}
    tables = [(path, found["name"]) for path in files if (found := _TABLE.match(path.name))]
    made += [(path, of(name)) for path, name in tables if name not in views]
    filled = [path for path in files if _ROWS.match(path.name) and not _OTHER.search(path.name)]
    if not filled:
        raise AbsentError("has no rows: make the dump without --no-data", path=folder)
    return [*made, *((path, of(path.name)) for path in filled)]


def _read_mydumper(source: BaseSource, progress: Callable[[int], None]) -> None:
    """Take in the folder of a dump."""
    digests = hashlib.sha256()
    done = 0
    for path, db in _files_of(source.backup.path):
        with open_text(str(path)) as text:
            SqlRows(source, db).read(text, partial(_reached, progress, done))
            done += text.read
            digests.update(f"{path.name} {text.sha256}\n".encode())
    source.sha256 = digests.hexdigest()
