"""Import backups into a data set, each atomically: dumps, mydumper or MySQL Shell folders, Parquet files.

In a mydumper folder, each database, each table and each table's rows have separate files (mydumper's
documentation, "Output Files").
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from binx.dataset.dataset import DataSet
from binx.dataset.options import ParquetOptions
from binx.dataset.predecessors import SourceReport
from binx.errors import AbsentError, UnsupportedError, UsageError
from binx.event.gtid.sources import DomainSource
from binx.lake.base import mysqlshell
from binx.lake.base.dump_text import FolderFiles, open_text
from binx.lake.base.mysqldump import SqlDumpRows, read_mysqldump, server_of
from binx.lake.base.parquet_backup import ParquetPart, digest, parquet_parts
from binx.lake.base.parquet_rows import ParquetTables
from binx.lake.base.source import Backup, BaseSource, Name
from binx.log.backup_position import BackupPosition, read_backup_position, reading_backup
from binx.log.selection.times import parse_time

_HEAD_BYTES = 65_536
_ODD_TIMES, _NEVER = parse_time("2000-01-01"), parse_time("9999-12-31")
MYDUMPER, MYSQL_SHELL, PARQUET = "mydumper", "MySQL Shell", "Parquet"
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
    schema: str | None = None,
    table: tuple[str, str] | None = None,
    needs_all: bool = True,
    progress: Callable[[int], None] = lambda _: None,
) -> Iterator[SourceReport]:
    """Import backups in order.

    Args:
        paths: plain or compressed dumps, mydumper or MySQL Shell folders, and Parquet files or folders.
        lake: the data set: a folder or a URI.
        position: the backups' position in the logs; None to read it from each backup.
        tables: patterns of ``db.table``; empty for all tables.
        schema: a file with CREATE TABLE statements for Parquet files.
        table: database and name of the table of all Parquet files; None to take it from the files.
        needs_all: whether each backup must have a table for each pattern.
        progress: called with the number of bytes read from all backups.

    Raises:
        UsageError: a backup does not record its position, or two backups have the same table.
        BinxError: a backup cannot be imported; nothing of it was committed.
    """
    inputs = [
        _parquet_input(path, position, table, by_folders=schema is not None) or _dump_input(path, position)
        for path in paths
    ]
    seen: dict[Name, str] = {}
    for entry in inputs:
        for name in {part.name for part in entry.parts}:
            if name in seen:
                raise UsageError(
                    f"expected the files of {'.'.join(name)} in one folder, found {seen[name]} and"
                    f" {entry.backup.path}: give the folder"
                )
            seen[name] = entry.backup.path
        if not entry.parts and (schema is not None or table is not None):
            raise UsageError(
                "expected Parquet files with --schema or --as, found another backup", path=entry.backup.path
            )
    text = None
    if schema is not None:
        with reading_backup(schema):
            text = Path(schema).read_text("utf-8-sig", "surrogateescape")
    further: dict[str, Any] = {} if table is None else {"as": list(table)}
    if text is not None:
        further["schema"] = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    dataset = DataSet(lake)
    with dataset.locked():
        done = 0
        for backup, head, parts in inputs:
            source = BaseSource(backup, dataset, options, tables, further)
            source.needs_all = needs_all
            source.server_version = server_of(head)
            gtid_sources = backup.position.gtids.sources
            notes = (head or (text or "")[:_HEAD_BYTES]).lower()
            is_mariadb = "mariadb" in notes or any(isinstance(key, DomainSource) for key in gtid_sources)
            source.context = source.context._replace(mariadb=is_mariadb)
            report = source.find_committed()
            if report is None:
                readers: dict[str, Callable[..., None]] = {
                    MYDUMPER: _read_mydumper,
                    MYSQL_SHELL: mysqlshell.read_mysqlshell,
                    PARQUET: ParquetTables(parts, options.decoder.arrow, text, schema or "").read,
                }
                read = readers.get(backup.tool, partial(read_mysqldump, head=head))
                report = source.write(partial(read, progress=partial(_reached, progress, done)))
            done += backup.size
            progress(done)
            yield report


class _Input(NamedTuple):
    """A backup, its first characters, and its Parquet files, if it has any."""

    backup: Backup
    head: str = ""
    parts: Sequence[ParquetPart] = ()


def _parquet_input(
    path: str, position: BackupPosition | None, table: Name | None, *, by_folders: bool
) -> _Input | None:
    """Return a Parquet file or folder; None if the path is another kind of backup.

    Raises:
        UsageError: no position is given.
    """
    if Path(path).is_dir() and any(Path(path, name).is_file() for name in (_METADATA, mysqlshell.NOTES)):
        return None
    parts = parquet_parts(path, table, by_folders=by_folders)
    if not parts:
        return None
    if position is None:
        raise UsageError(
            "Parquet files do not say where they stand in the logs: say it with --from-gtid SET or --from"
            " FILE:POS",
            path=path,
        )
    size, written = _extent([part.path for part in parts])
    return _Input(Backup(path, PARQUET, position, size, written, digest(parts)), "", parts)


def _dump_input(path: str, position: BackupPosition | None) -> _Input:
    """Return a dump or a folder of a dump tool.

    Raises:
        SourceError: it cannot be read.
        UnsupportedError: the folder is not of a supported tool.
        UsageError: it does not record its position.
    """
    if not Path(path).is_dir():
        position = read_backup_position(path) if position is None else position
        with open_text(path) as text:
            head = text.head(_HEAD_BYTES)
        backup = Backup(path, "mysqldump", position, *_extent([Path(path)]), head)
        return _Input(backup, head.decode("utf-8-sig", "replace"))
    tools = {_METADATA: MYDUMPER, mysqlshell.NOTES: MYSQL_SHELL}
    notes = next((Path(path, name) for name in tools if Path(path, name).is_file()), None)
    if notes is None:
        raise UnsupportedError(
            "expected a dump of mysqldump or mariadb-dump, Parquet files, or a folder of these, of mydumper"
            " (with metadata) or MySQL Shell (with @.json), found a folder of something else",
            path=path,
        )
    position = read_backup_position(path) if position is None else position
    extent = _extent(Path(path).iterdir())
    return _Input(Backup(path, tools[notes.name], position, *extent, notes.read_bytes()))


def _extent(files: Iterable[Path]) -> tuple[int, int]:
    """Return the total size of files in bytes, and when the last one was written, in µs since 1970."""
    stats = [file.stat() for file in files]
    written = max(stat.st_mtime_ns for stat in stats) // 1000
    # Some archives and object stores give files no time, or one at the beginning of all time.
    return sum(stat.st_size for stat in stats), written if written > _ODD_TIMES else _NEVER


def _reached(progress: Callable[[int], None], before: int, read: int) -> None:
    progress(before + read)


def _files_of(folder: str) -> list[tuple[Path, str]]:
    """Return the files with definitions, then those with rows, each with its database.

    Raises:
        AbsentError: no file has rows.
    """
    files = sorted(Path(folder).iterdir())
    databases = sorted((match["db"] for path in files if (match := _DATABASE.match(path.name))), key=len)

    def db_of(name: str) -> str:
        matching = (db for db in reversed(databases) if name.startswith(f"{db}."))
        return next(matching, name.partition(".")[0])

    definitions = [(path, match["db"]) for path in files if (match := _DATABASE.match(path.name))]
    # A view has a table file too, as a placeholder while the dump is loaded.
    views = {match["name"] for path in files if (match := _VIEW.match(path.name))}
    tables = [(path, match["name"]) for path in files if (match := _TABLE.match(path.name))]
    definitions += [(path, db_of(name)) for path, name in tables if name not in views]
    row_files = [path for path in files if _ROWS.match(path.name) and not _OTHER.search(path.name)]
    if not row_files:
        raise AbsentError("has no rows: make the dump without --no-data", path=folder)
    return [*definitions, *((path, db_of(path.name)) for path in row_files)]


def _read_mydumper(source: BaseSource, progress: Callable[[int], None]) -> None:
    texts = FolderFiles(source.backup.path, progress)
    for path, db in _files_of(source.backup.path):
        texts.read(path.name, SqlDumpRows(source, db).read)
    source.sha256 = texts.sha256
