"""Tables that are known before the first log is read: a dump of their definitions."""

from __future__ import annotations

from pathlib import Path

from binx.errors import SourceError
from binx.rows.catalog import Catalog
from binx.rows.schema import ChangeKind


def read_dump(path: str) -> tuple[Catalog, list[str]]:
    """Read table definitions as ``mysqldump --no-data`` writes them.

    Args:
        path: a file of SQL in UTF-8.

    Returns:
        The tables, and a sentence for each statement that could not be understood.

    Raises:
        SourceError: the file cannot be read, or defines no table.
    """
    try:
        text = Path(path).read_text("utf-8", "surrogateescape")
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", path=path) from error
    catalog = Catalog()
    changes = catalog.load_dump(text)
    if not len(catalog):
        raise SourceError("expected CREATE TABLE statements, found no table in it", path=path)
    return catalog, [
        f"{path}: table {change.table or '?'}: {change.reason}"
        for change in changes
        if change.kind is ChangeKind.UNPARSED
    ]


__all__ = ["read_dump"]
