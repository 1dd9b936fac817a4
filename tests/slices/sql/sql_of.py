"""SQL and JSON of whole logs, for tests."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.rows.ddl.catalog import Catalog
from binx.slices.json_lines import write_json
from binx.slices.search import Selected
from binx.slices.sql.load_files import LoadFiles
from binx.slices.sql.write import check_sql, write_sql


def everything(paths: Sequence[Path], *, verify: bool = True) -> Iterator[Selected]:
    """All transactions of some logs."""
    for path in paths:
        with BinlogFile.open(str(path)) as file:
            scan = Scan(file, Level.LEVEL_TABLES, verify=verify)
            for table in scan:
                yield Selected(scan, table, table.mask())


def sql_of(
    *paths: Path, catalog: Catalog | None = None, verify: bool = True, local_load: Path | None = None
) -> bytes:
    """The logs as SQL, checked before; files of LOAD DATA are written into a folder."""
    known = catalog or Catalog()
    check_sql(everything(paths, verify=verify), known, loads=local_load is not None)
    files, output = None if local_load is None else LoadFiles(str(local_load)), io.BytesIO()
    with files or nullcontext():
        write_sql(everything(paths, verify=verify), output, known, files=files)
    return output.getvalue()


def json_of(*paths: Path, rows: bool = False, verify: bool = True) -> bytes:
    """The logs as JSON lines."""
    output = io.BytesIO()
    write_json(everything(paths, verify=verify), output, Catalog(), rows=rows)
    return output.getvalue()
