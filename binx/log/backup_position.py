"""Read the binary log position that a backup records.

Sources: Percona XtraBackup documentation, "xtrabackup_binlog_info" and "xtrabackup_info"; MariaDB knowledge
base, "Files Created by mariadb-backup"; ``do_show_master_status`` in client/mysqldump.cc; MySQL Shell manual,
"Instance Dump Utility" (``@.json``); mydumper's ``metadata``.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import zstandard

from binx.errors import BinxError, DamagedError, SourceError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.source.magic import is_gzip, is_zstd

_HEAD = 65_536
"""Bytes read at each end of a dump: the position is recorded before the first table, or at the end."""
_NOTE_MAXIMUM = 16 * 1024 * 1024
"""Maximum size of a file that holds only the position; a GTID set can have many intervals."""

_DUMP_POSITION = re.compile(
    r"^(?:-- )?[ \t]*CHANGE\s+(?:MASTER|REPLICATION\s+SOURCE)\s+TO\s+(?:MASTER|SOURCE)_LOG_FILE"
    r"\s*=\s*'([^']+)'\s*,\s*(?:MASTER|SOURCE)_LOG_POS\s*=\s*(\d+)(?=\D)",
    re.IGNORECASE | re.MULTILINE,
)
_DUMP_GTIDS = re.compile(
    r"^(?:-- |/\* )?[ \t]*SET\s+(?:@@GLOBAL\.|GLOBAL\s+)(?:GTID_PURGED|GTID_SLAVE_POS)\s*="
    r"\s*(?:/\*!\d+\s*'\+'\s*\*/\s*)?'\+?([^']+)'",
    re.IGNORECASE | re.MULTILINE,
)
_BACKUP_INFO = re.compile(
    r"^binlog_pos\s*=\s*filename '([^']*)', position '(\d+)'(?:, GTID of the last change '([^']*)')?",
    re.MULTILINE,
)
_MYDUMPER = {
    "file": re.compile(r"^#?[ \t]*(?:Log:|File\s*=)\s*\"?([^\"\n]+?)\"?\s*$", re.MULTILINE | re.IGNORECASE),
    "position": re.compile(r"^#?[ \t]*(?:Pos:|Position\s*=)\s*\"?(\d+)\"?\s*$", re.MULTILINE | re.IGNORECASE),
    "gtids": re.compile(
        r"^#?[ \t]*(?:GTID:|Executed_Gtid_Set\s*=)[ \t]*\"?([0-9a-f][^\"=\[]*?)\"?[ \t]*$",
        re.MULTILINE | re.IGNORECASE,
    ),
}

NOTES = (
    "xtrabackup_binlog_info",
    "mariadb_backup_binlog_info",
    "xtrabackup_info",
    "mariadb_backup_info",
    "@.json",
    "metadata",
)
"""Files of a backup folder that record its position; the first that has one counts."""


class BackupPosition(NamedTuple):
    """A backup's position in its server's logs: after the last transaction that the backup contains.

    Attributes:
        file: the log's name; empty if only GTIDs are known.
        gtids: the GTIDs that the backup contains; empty if the server has none or the backup does not record
            them. For MariaDB the last number of each domain, which stands for all before it.
    """

    file: str = ""
    offset: int = 0
    gtids: GtidSet = GtidSet()
    noted_in: str = ""

    def __bool__(self) -> bool:
        return bool(self.file or self.gtids)

    def __str__(self) -> str:
        parts = [f"{self.file}:{self.offset}"] if self.file else []
        return ", ".join([*parts, *([f"GTIDs {self.gtids}"] if self.gtids else [])])


def position_in_dump(head: str, tail: str = "") -> BackupPosition:
    """Return the position that mysqldump or mariadb-dump writes with ``--source-data`` or ``--master-data``.

    Args:
        head: the dump's first characters, up to the first table.
        tail: its last characters, where MariaDB's dumps record their GTIDs.
    """
    match = _DUMP_POSITION.search(head)
    gtid_match = _DUMP_GTIDS.search(head) or _DUMP_GTIDS.search(tail)
    gtids = GtidSet() if gtid_match is None else _parsed(gtid_match[1])
    return BackupPosition("", 0, gtids) if match is None else BackupPosition(match[1], int(match[2]), gtids)


def read_backup_position(path: str) -> BackupPosition:
    """Return a backup's position.

    Args:
        path: the folder of a backup by XtraBackup, mariadb-backup, MySQL Shell or mydumper; the file in it
            that records the position; or a dump, plain or compressed with gzip or zstd.
    """
    if not Path(path).is_dir():
        if position := _of_file(Path(path)):
            return position
        raise UsageError(
            "expected a backup that notes its position in the binary logs, found none: make dumps with"
            " --single-transaction --source-data=2 (--master-data=2 --gtid for MariaDB), give the folder of a"
            " physical backup, or say the position with --from FILE:POS or --from-gtid SET",
            path=path,
        )
    present = [note for name in NOTES if (note := Path(path, name)).is_file()]
    for note in present:
        if position := _of_file(note):
            return position
    raise UsageError(
        f"expected a folder with {', '.join(NOTES[:-1])} or {NOTES[-1]} that notes a position, found"
        f" {'none that does' if present else 'none of them'}; did the server write binary logs?",
        path=path,
    )


def _of_file(path: Path) -> BackupPosition:
    """Return the position recorded in one file, if any."""
    readers = {"@.json": _of_shell, "metadata": _of_mydumper}
    try:
        with reading_backup(path):
            if path.name not in NOTES:
                position = position_in_dump(*_ends_of_dump(path))
            elif path.name in readers:
                position = readers[path.name](_read(path, _NOTE_MAXIMUM))
            else:
                read = _of_binlog_info if path.name.endswith("binlog_info") else _of_backup_info
                position = read(_read(path, _NOTE_MAXIMUM))
    except BinxError as error:
        raise error.at(path=str(path)) from error.__cause__
    return position._replace(noted_in=str(path))


@contextmanager
def reading_backup(path: str | Path) -> Iterator[None]:
    """Convert errors of reading a backup's file, within the block, to errors that name it.

    Raises:
        DamagedError: compressed text is damaged.
        SourceError: the file cannot be read.
    """
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise DamagedError(f"expected compressed text, found it damaged ({error})", path=str(path)) from error
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", path=str(path)) from error


def _read(path: Path, size: int) -> str:
    with path.open("rb") as file:
        return _text(file.read(size))


def _ends_of_dump(path: Path) -> tuple[str, str]:
    """Return a dump's first and last characters; of a compressed dump only the first."""
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if is_gzip(magic):
            with gzip.open(file) as inflated:
                return _text(inflated.read(_HEAD)), ""
        if is_zstd(magic):
            with zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as inflated:
                return _text(inflated.read(_HEAD)), ""
        head = file.read(_HEAD)
        file.seek(max(0, path.stat().st_size - _HEAD))
        return _text(head), _text(file.read(_HEAD))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _of_binlog_info(text: str) -> BackupPosition:
    """Parse name, offset and GTIDs separated by tabs; a GTID set may continue on the next lines."""
    fields = text.split(maxsplit=2)
    if len(fields) < 2 or not fields[1].isdecimal():
        return BackupPosition()
    return BackupPosition(fields[0], int(fields[1]), _parsed(fields[2] if len(fields) > 2 else ""))


def _of_backup_info(text: str) -> BackupPosition:
    match = _BACKUP_INFO.search(text)
    if match is None:
        return BackupPosition()
    return BackupPosition(match[1], int(match[2]), _parsed(match[3] or ""))


def _of_shell(text: str) -> BackupPosition:
    try:
        notes = json.loads(text)
    except ValueError as error:
        raise DamagedError(f"expected JSON, found something else: {error}") from error
    if not isinstance(notes, dict):
        return BackupPosition()
    offset = notes.get("binlogPosition")
    gtids = _parsed(str(notes.get("gtidExecuted") or ""))
    file = notes.get("binlogFile")
    if not isinstance(file, str) or not isinstance(offset, int) or not file:
        return BackupPosition(gtids=gtids)
    return BackupPosition(file, offset, gtids)


def _of_mydumper(text: str) -> BackupPosition:
    """Parse mydumper's metadata; on a replica its own section comes before its source's, and counts."""
    matches = {name: pattern.search(text) for name, pattern in _MYDUMPER.items()}
    file, offset, gtids = (None if match is None else match[1] for match in matches.values())
    gtid_set = _parsed(gtids or "")
    return BackupPosition(file, int(offset), gtid_set) if file and offset else BackupPosition(gtids=gtid_set)


def _parsed(text: str) -> GtidSet:
    """Parse a GTID set as servers print it, possibly over several lines."""
    return GtidSet.parse("".join(text.split()))
