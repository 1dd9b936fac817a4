"""Logs as a data set, and what stands in a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from binx.dataset.options import ParquetOptions
from binx.dataset.parquet import to_parquet
from binx.dataset.predecessors import SourceReport
from binx.log.binlog_file import open_files
from binx.log.selection.selection import Selection, Selector


def export(
    folder: Path | str, paths: Sequence[Path | str], selection: Selection | None = None, **settings: Any
) -> list[SourceReport]:
    """Put the changes of logs into a data set; the settings are those of ParquetOptions."""
    files = open_files([str(path) for path in paths])
    try:
        selector = Selector(selection or Selection(), [file.name for file in files])
        return list(to_parquet(files, folder, selector, options=ParquetOptions(**settings)))
    finally:
        for file in files:
            file.close()


def contents(folder: Path) -> dict[str, str]:
    """What stands in a folder, by hash; locks are no content."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "_lock"
    }
