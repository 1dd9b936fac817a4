"""Find the Parquet files of a backup and their tables."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from binx.errors import DamagedError, RefusedError, SourceError, UsageError
from binx.lake.base.source import Name
from binx.log.backup_position import reading_backup

STATE_METADATA = b"binx.table"
"""Key in the footer metadata of files from ``binx state``: the table and its definition statements."""

_MAGIC = b"PAR1"
_FOOT_BYTES = 64 * 1024
_READ_BYTES = 1 << 20
_CODEC = re.compile(r"\.(?:snappy|gz|gzip|zstd|zst|lz4|lz4_raw|lz4raw|brotli|uncompressed)$", re.IGNORECASE)
_NOT_FILES = {
    "_delta_log": "a Delta table, whose log says which files count: write its rows as plain Parquet",
    "_temporary": "the output of a Spark job that has not finished",
    "_manifest": "a data set of binx to-parquet, which is no backup",
    "_state.json": "what binx load wrote: write its tables with binx state",
}


class OwnNotes(NamedTuple):
    """The table name and definition statements that ``binx state`` stores in its files."""

    name: Name
    statements: list[str]


class ParquetPart(NamedTuple):
    """One file of a table; ``own`` is set if ``binx state`` wrote it."""

    name: Name
    path: Path
    own: OwnNotes | None


def is_parquet(path: Path) -> bool:
    """Whether a file begins with Parquet's magic bytes.

    Raises:
        SourceError: it cannot be read.
    """
    with reading_backup(path), path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def parquet_parts(path: str, table: Name | None, *, by_folders: bool) -> list[ParquetPart]:
    """Return the Parquet files of a file or folder, with their tables; empty if there are none.

    Files of ``binx state`` record their table. Otherwise it is taken from the innermost name of the form
    ``DB.TABLE`` among the file and the backup's folders, or from two folders ``DB/TABLE`` if CREATE TABLE
    statements can confirm them. Names that begin with ``.`` or ``_`` are skipped, as in Spark.

    Args:
        table: the table of all files; None to take it from the files.
        by_folders: whether to accept two folders ``DB/TABLE``.

    Raises:
        DamagedError: a file is not a complete Parquet file.
        RefusedError: the folder is of another kind.
        UsageError: the names do not give a table.
    """
    root = Path(path).absolute()
    if root.is_dir():
        files = [file for file in sorted(root.rglob("*")) if _is_data_file(file, root)]
    else:
        files = [root] if is_parquet(root) else []
    parts = []
    for file in files:
        own = _own_notes(file)
        parts.append(ParquetPart((own and own.name) or table or _table_of(file, root, by_folders), file, own))
        if own is not None and table not in (None, own.name):
            own_name = ".".join(own.name)
            raise UsageError(f"expected --as {own_name}, which binx state wrote there", path=str(file))
    return parts


def _own_notes(path: Path) -> OwnNotes | None:
    """Read what ``binx state`` stored about the table; None for files of other programs."""
    with open_parquet(path) as file:
        text = (file.metadata.metadata or {}).get(STATE_METADATA)
    if text is None:
        return None
    try:
        notes = json.loads(text)
        return OwnNotes((str(notes["db"]), str(notes["table"])), list(map(str, notes["statements"])))
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"expected notes of a table, found others: {error}", path=str(path)) from error


def _is_data_file(path: Path, root: Path) -> bool:
    """Whether a path in a folder is a Parquet file with rows."""
    names = path.relative_to(root).parts
    kind = _NOT_FILES.get(path.name)
    if path.name == "metadata" and any(path.glob("*.metadata.json")):
        kind = "an Iceberg table: write its rows as plain Parquet"
    if kind is not None:
        raise RefusedError(f"expected a folder of Parquet files, found {kind}", path=str(path))
    if any(name.startswith((".", "_")) for name in names) or not path.is_file():
        return False
    if path.suffix == ".parquet":
        return True
    return not path.suffix and is_parquet(path)


def _table_of(path: Path, root: Path, by_folders: bool) -> Name:
    folders = path.relative_to(root.parent).parts[-2::-1]
    for name in (path.name, *folders):
        stem = _CODEC.sub("", name.removesuffix(".parquet"))
        db, dot, table = stem.partition(".")
        if dot and db and table and "." not in table:
            return unquote(db), unquote(table)
    folders = (*folders, root.parent.name)
    if not by_folders or len(folders) < 2 or "=" in folders[0] + folders[1]:
        raise UsageError(
            "expected a file or folder called DB.TABLE, or with --schema folders DB/TABLE, found neither: say"
            " which table the files are of with --as DB.TABLE",
            path=str(path),
        )
    return unquote(folders[1]), unquote(folders[0])


def digest(parts: Sequence[ParquetPart]) -> bytes:
    """Return a digest of the files' names, sizes and footers.

    Raises:
        SourceError: a file cannot be read.
    """
    found = hashlib.sha256()
    for name, path, _ in parts:
        with reading_backup(path), path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _FOOT_BYTES))
            found.update(repr((name, path.name, size)).encode("utf-8", "replace") + file.read())
    return found.digest()


def open_parquet(path: Path) -> Any:
    """Open a Parquet file.

    Raises:
        DamagedError: it is not a Parquet file, or its footer is damaged.
        SourceError: it cannot be read.
    """
    try:
        # INT96 is in nanoseconds but spans years that 64-bit nanoseconds cannot represent.
        return pq.ParquetFile(
            path, coerce_int96_timestamp_unit="us", buffer_size=_READ_BYTES, pre_buffer=False
        )
    except pa.ArrowInvalid as error:
        what = str(error).splitlines()[0]
        raise DamagedError(f"expected a Parquet file, found it damaged ({what})", path=str(path)) from error
    except OSError as error:
        raise SourceError(f"cannot be read: {error}", path=str(path)) from error
