"""What mydumper writes: a folder in which each database, each table and its rows have files of their own.

Source: mydumper's documentation, "Output Files".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from binx.base.dump_text import open_text
from binx.base.mysqldump import SqlRows
from binx.base.source import BaseSource
from binx.errors import AbsentError

METADATA = "metadata"
_SQL = r"\.sql(?:\.gz|\.zst)?$"
_DATABASE = re.compile(r"^(?P<db>.+)-schema-create" + _SQL)
_TABLE = re.compile(r"^(?P<name>.+)-schema" + _SQL)
_VIEW = re.compile(r"^(?P<name>.+)-schema-view" + _SQL)
_OTHER = re.compile(r"-(?:schema|schema-\w+)" + _SQL)
_ROWS = re.compile(r"^(?P<name>.+?\..+?)" + _SQL)


def files_of(folder: str) -> list[tuple[Path, str]]:
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


def read_mydumper(source: BaseSource, progress: Callable[[int], None]) -> None:
    """Take in the folder of a dump."""
    digests = hashlib.sha256()
    done = 0
    for path, db in files_of(source.backup.path):
        with open_text(str(path)) as text:
            SqlRows(source, db).read(text, partial(_reached, progress, done))
            done += text.read
            digests.update(f"{path.name} {text.sha256}\n".encode())
    source.sha256 = digests.hexdigest()


def _reached(progress: Callable[[int], None], before: int, read: int) -> None:
    progress(before + read)
