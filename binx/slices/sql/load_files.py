"""The files that LOAD DATA statements of a script read, as mysqlbinlog's ``--local-load`` writes them.

Their names say where in which log the statement stands. A file that is there already is never overwritten: it
is kept if it has the same bytes, as after an earlier run, and refused otherwise.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from binx.errors import DamagedError, RefusedError
from binx.event.query_event import DuplicateHandling
from binx.log.transaction_events import loaded_blocks
from binx.rows.logged_statements import Statement
from binx.slices.items import Begin
from binx.sql.literals import text_literal
from binx.storage.output import OutputStream
from binx.storage.output_errors import output_errors

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST_LOG_NAME = 150
_HANDLING = {
    DuplicateHandling.ERROR: "",
    DuplicateHandling.IGNORE: " IGNORE",
    DuplicateHandling.REPLACE: " REPLACE",
}


class LoadFiles:
    """Writes the files into a folder; when the block is left with an error, it removes those that it made."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._made: list[Path] = []
        if not text_literal(folder).startswith("'") or not folder.isprintable():
            raise RefusedError(
                "LOAD DATA cannot name a folder with backslashes or control characters in its path;"
                " choose another for --local-load",
                path=folder,
            )

    def __enter__(self) -> LoadFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for path in self._made:
                with suppress(OSError):
                    path.unlink()

    def write(self, statement: Statement, begin: Begin) -> Statement:
        """Write a statement's file; return the statement, which reads this file.

        Raises:
            DamagedError: the log lacks the file, or a part of it.
            RefusedError: another file has its name.
            OutputError: it cannot be written.
        """
        loaded = statement.loaded
        assert loaded is not None
        if loaded.position is None:
            raise DamagedError(
                "expected the BEGIN_LOAD_QUERY of a LOAD DATA in its transaction, found none",
                path=begin.file.path,
                offset=statement.position,
                event="EXECUTE_LOAD_QUERY",
                gtid=begin.facts["gtid"],
            )
        log = _UNSAFE.sub("_", begin.file.name)[:_LONGEST_LOG_NAME]
        path = self._folder / f"{log}.{begin.file.identity}-{loaded.position}.load"
        blocks = loaded_blocks(
            begin.file, loaded.position, begin.facts["end"], begin.table.format, loaded.file_id
        )
        with output_errors(path):
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            except FileExistsError:
                _check_same(path, blocks)
            else:
                self._made.append(path)
                with os.fdopen(descriptor, "wb", buffering=0) as file:
                    stream = OutputStream(file, str(path))
                    for block in blocks:
                        stream.write(block)
                    os.fsync(file.fileno())
        source = f" LOCAL INFILE {text_literal(str(path))}{_HANDLING[loaded.duplicates]} INTO"
        return _reading(statement, source)


def _check_same(path: Path, blocks: Iterator[memoryview]) -> None:
    """Check that a file has these bytes.

    Raises:
        RefusedError: it has others.
    """
    with path.open("rb") as file:
        if all(_next_is(file, block) for block in blocks) and not file.read(1):
            return
    raise RefusedError(
        "exists and is another file; files of LOAD DATA are never overwritten: remove it, or choose another"
        " folder for --local-load",
        path=str(path),
    )


def _next_is(file: BinaryIO, block: memoryview) -> bool:
    return file.read(len(block)) == block


def _reading(statement: Statement, source: str) -> Statement:
    """Return a LOAD DATA with another source of its rows."""
    loaded = statement.loaded
    assert loaded is not None
    start, end = loaded.name_start, loaded.name_end
    if statement.raw is not None:
        return statement._replace(raw=statement.raw[:start] + os.fsencode(source) + statement.raw[end:])
    return statement._replace(sql=statement.sql[:start] + source + statement.sql[end:])
