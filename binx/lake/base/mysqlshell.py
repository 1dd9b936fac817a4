r"""Import folders of MySQL Shell's dump utilities: metadata in JSON, definitions in SQL, rows as lines.

``@.json`` records the dump's options; ``@.done.json``, written last, lists the files with rows. Each schema
has a ``SCHEMA.json`` that lists its tables, each table a ``SCHEMA@TABLE.json`` and ``.sql``. Row fields are
separated by tabs, with ``\N`` for NULL; binary fields are in base64 or hexadecimal digits.

Sources: MySQL Shell manual, "Instance Dump Utility, Schema Dump Utility, and Table Dump Utility" and "Dump
Loading Utility"; modules/util/dump/dumper.cc of MySQL Shell 8.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from binx.errors import AbsentError, DamagedError, RefusedError, SourceError
from binx.kernels.text.tuples import Encoding
from binx.lake.base.dump_text import DumpText, FolderFiles
from binx.lake.base.mysqldump import SqlDumpRows
from binx.lake.base.source import BaseSource
from binx.rows.columns.types import Kind

NOTES = "@.json"
_DONE = "@.done.json"
_ENCODINGS = {"FROM_BASE64": Encoding.BASE64, "UNHEX": Encoding.HEXADECIMAL}
_LINES = {
    "fieldsTerminatedBy": "\t",
    "fieldsEnclosedBy": "",
    "fieldsEscapedBy": "\\",
    "linesTerminatedBy": "\n",
    "defaultCharacterSet": "utf8mb4",
}
"""The default format of rows."""

_CHUNK = r"(?:@@?(\d+))?"


def read_notes(folder: str, name: str) -> dict[str, Any]:
    """Read a metadata file.

    Raises:
        AbsentError: it does not exist, as after an interrupted dump.
        DamagedError: it is not a JSON object.
        SourceError: it cannot be read.
    """
    path = Path(folder, name)
    try:
        notes = json.loads(path.read_bytes())
        if not isinstance(notes, dict):
            raise ValueError(f"it is a {type(notes).__name__}")
    except FileNotFoundError:
        raise AbsentError("is not there: the dump is not whole; make it again", path=str(path)) from None
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", path=str(path)) from error
    except ValueError as error:
        raise DamagedError(
            f"expected a JSON object, found something else: {error}", path=str(path)
        ) from error
    return notes


def read_mysqlshell(source: BaseSource, progress: Callable[[int], None]) -> None:
    """Import a MySQL Shell dump folder.

    Raises:
        BinxError: it is incomplete, or something in it cannot be imported.
    """
    folder = source.backup.path
    notes, done = read_notes(folder, NOTES), read_notes(folder, _DONE)
    source.server_version = str(notes.get("serverVersion", ""))
    files = list(_field(done, "chunkFileBytes", dict, _DONE))
    texts = FolderFiles(folder, progress)
    for schema, table, basename in _tables(folder, notes):
        facts = read_notes(folder, f"{basename}.json")
        if not source.wants((schema, table)):
            continue
        texts.read(f"{basename}.sql", SqlDumpRows(source, schema).read)
        if not facts.get("includesData", True):
            source.leave_out((schema, table), "the dump has only its CREATE TABLE")
            continue
        lines = _TableFiles(source, schema, table, facts, is_utc=bool(notes.get("tzUtc", False)))
        for name in _files_of(basename, facts, files):
            texts.read(name, lines.read)
    source.sha256 = texts.sha256


def _tables(folder: str, notes: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield schema, name and file name prefix of each table."""
    schemas = _field(notes, "basenames", dict, NOTES)
    for schema in _field(notes, "schemas", list, NOTES):
        name = f"{schemas.get(schema, schema)}.json"
        facts = read_notes(folder, name)
        basenames = _field(facts, "basenames", dict, name)
        for table in _field(facts, "tables", list, name):
            yield schema, table, basenames.get(table, f"{schemas.get(schema, schema)}@{table}")


def _files_of(basename: str, facts: dict[str, Any], files: list[str]) -> list[str]:
    """Return the files with a table's rows, grouped by partition, in chunk order."""
    extension = re.escape(_field(facts, "extension", str, f"{basename}.json"))
    chunks = []
    for prefix in {basename, *facts.get("basenames", {}).values()}:
        pattern = re.compile(rf"{re.escape(prefix)}{_CHUNK}\.{extension}")
        matches = ((name, pattern.fullmatch(name)) for name in files)
        chunks += [(prefix, int(match[1] or 0), name) for name, match in matches if match is not None]
    if not chunks:
        raise DamagedError(f"expected files with the rows of {basename}, found none in {_DONE}")
    return [name for _, _, name in sorted(chunks)]


class _TableFiles:
    """Imports the rows of a table from its files."""

    def __init__(
        self, source: BaseSource, db: str, table: str, facts: dict[str, Any], *, is_utc: bool
    ) -> None:
        options = _field(facts, "options", dict, f"{db}.{table}")
        self._source = source
        for option, expected in _LINES.items():
            if options.get(option, expected) != expected:
                raise RefusedError(
                    f"expected {option} {expected!r} of {db}.{table}, found {options[option]!r}: make the"
                    " dump in the default dialect and with defaultCharacterSet utf8mb4",
                    path=source.backup.path,
                )
        decoded = options.get("decodeColumns", {})
        unknown = sorted(set(decoded.values()) - set(_ENCODINGS))
        if unknown:
            raise RefusedError(
                f"expected columns of {db}.{table} in base64 or hexadecimal digits, found {unknown[0]}",
                path=source.backup.path,
            )
        encodings = {name: _ENCODINGS[function] for name, function in decoded.items()}
        self._rows = source.rows_of(db, table, options.get("columns"), encodings=encodings)
        kinds = {column.type.kind for column in self._rows.table.resolved.columns}
        if Kind.TIMESTAMP in kinds and not is_utc:
            raise RefusedError(
                f"{db}.{table} has TIMESTAMP columns, and the dump does not say that it writes them in UTC:"
                " make it with tzUtc",
                path=source.backup.path,
            )

    def read(self, text: DumpText, progress: Callable[[int], None]) -> None:
        """Import one file.

        Raises:
            BinxError: it cannot be read, or a line is not a row of the table.
        """
        while not text.lines(self._rows.tuples, *self._source.batch_limits):
            self._source.take(self._rows)
            progress(text.read)


def _field(notes: dict[str, Any], name: str, kind: type[Any], where: str) -> Any:
    """Return a required field of a metadata file."""
    value = notes.get(name)
    if not isinstance(value, kind):
        raise DamagedError(f"expected {name} in the notes of {where}, found {value!r}")
    return value
