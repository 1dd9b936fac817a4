"""Files of row changes, and the schema records that describe their columns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from binx.lake.dataset.spans import Span, without
from binx.lake.place import LakeStore
from binx.lake.table_name import TableName

# Python's errors for JSON of another shape, numbers such as Infinity, and too deeply nested brackets.
NOT_UNDERSTOOD = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


class Value(NamedTuple):
    """A column's value that is in no image; ``misfit`` is its text if the type cannot hold it."""

    value: str | None
    misfit: str | None = None


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of a schema record, with its types as Arrow and COLUMN_TYPE spell them.

    ``absent`` is the value of an inserted row whose image lacks the column, ``added`` the value that existing
    rows got when the column was added; both None if only the server knows. ``generated`` is ``virtual``,
    ``stored`` and so on. If ``changes_with`` is not None, an update's image may lack the column although its
    value changed with one of these columns, or with any if there are none.
    """

    name: str
    source_name: str
    arrow_type: str
    mysql_type: str = ""
    charset: str = ""
    absent: Value | None = None
    added: Value | None = None
    generated: str = ""
    changes_with: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """A schema record; ``key`` are Parquet names, ``valid_from`` is a commit version."""

    name: str
    columns: tuple[FileColumn, ...]
    key: tuple[str, ...] = ()
    valid_from: int = 0


@dataclass(frozen=True, slots=True)
class ChangesFile:
    """A file of row changes, in a data set or in ``history/``.

    Attributes:
        identity: its content hash from the manifest; identifies the file permanently.
        root: the data set's folder or URI; empty for a file of ``history/``, which is below the output.
        partial: whether images may lack columns.
        dropped: commit versions in between whose rows do not count (another chain or file has them).
        spans: if not empty, only rows within these count.
        lost: spans of its transactions that a server which took over never had; they do not count.
        by_rows: whether rows were selected by a condition, so that transactions may be incomplete.
        gone: whether it was removed from ``history/``, as all its rows are older than the history kept.
    """

    identity: str
    table: TableName
    version: str
    chain: str
    root: str
    path: str
    rows: int
    bytes: int
    first: int
    last: int
    partial: bool = True
    dropped: tuple[int, ...] = ()
    spans: tuple[Span, ...] = ()
    by_rows: bool = False
    gone: bool = False
    lost: tuple[Span, ...] = ()

    @property
    def day(self) -> str:
        """The day of the commits in a file of ``history/``, in ISO format."""
        return self.path.partition("/commit_date=")[2][:10]


def clipped(file: ChangesFile, spans: Sequence[Span]) -> ChangesFile | None:
    """Restrict a file to the rows within spans; None if there are none."""
    inside = [
        (max(first, file.first), min(last, file.last))
        for first, last in spans
        if first <= file.last and last >= file.first
    ]
    if not inside:
        return None
    if inside == [(file.first, file.last)]:
        return file
    return replace(file, first=inside[0][0], last=inside[-1][1], spans=tuple(inside))


def counting(file: ChangesFile) -> ChangesFile | None:
    """Return a file without its lost transactions; None if there are no others."""
    if not file.lost:
        return file
    spans = file.spans or ((file.first, file.last),)
    return clipped(file, [rest for span in spans for rest in without(span, file.lost)])


def read_version(name: str, content: bytes | None) -> Version:
    """Parse a schema record from JSON; raises an error of :data:`NOT_UNDERSTOOD` if it is malformed."""
    document: Mapping[str, Any] = json.loads(content or b"null")

    def value(column: Mapping[str, Any], fact: str) -> Value | None:
        entry = column.get(fact)
        return None if entry is None else Value(entry["value"], entry["misfit"])

    columns = (
        FileColumn(
            name=str(column["name"]),
            source_name=str(column.get("source_name") or column["name"]),
            arrow_type=str(column["arrow_type"]),
            mysql_type=str(column.get("mysql_type") or ""),
            charset=str(column.get("charset") or ""),
            absent=value(column, "absent"),
            added=value(column, "added"),
            generated=str(column.get("generated") or ""),
            changes_with=tuple(column["changes_with"]) if "changes_with" in column else None,
        )
        for column in document["columns"]
    )
    key = tuple(document.get("primary_key") or ())
    return Version(name, tuple(columns), key, int(document.get("valid_from") or 0))


def wrong_hash(root: str, path: str, expected: str) -> str:
    """Return why a file's hash differs from its manifest; empty if it matches."""
    place = LakeStore(root)
    try:
        with place.filesystem.open_input_stream(place.inside(path), compression=None) as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return f"{place.shown(path)} cannot be read: {error}"
    if digest == expected:
        return ""
    return (
        f"{place.shown(path)} has the hash {digest}, its manifest says {expected}: the file was changed after"
        " the export; export that binary log again"
    )
