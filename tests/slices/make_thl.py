"""Writes the listings that tests compare with: ``python -m tests.slices.make_thl``.

They were read against what the sources of Tungsten Replicator print; docs/thl.md says what differs.
"""

from __future__ import annotations

import io
from pathlib import Path

from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog
from binx.log.selection.selection import Selection
from binx.rows.ddl.catalog import Catalog
from binx.slices.search import Search
from binx.slices.thl import FRAGMENT_BYTES, write_thl
from tests.conftest import TESTDATA

FOLDER = Path(__file__).resolve().parent / "thl"
CASES = {
    "mysql-9.7/small/statements.binlog": FRAGMENT_BYTES,
    "mysql-9.7/small/compressed.binlog": 2_000,
    "mysql-9.7/small/load_data.binlog": FRAGMENT_BYTES,
    "mysql-9.7/small/row_image_minimal.binlog": FRAGMENT_BYTES,
    "mariadb-10.11/small/xa.binlog": FRAGMENT_BYTES,
}
"""Logs, and the size of their fragments."""


def listing(path: str | Path, fragment_bytes: int = FRAGMENT_BYTES) -> str:
    """A log as ``extract --format thl`` writes it."""
    output = io.BytesIO()
    with BinlogFile.open(str(path)) as file:
        search = Search([ChainLog.of(file)], Selection())
        write_thl(search.selected(), output, Catalog(), fragment_bytes=fragment_bytes)
    return output.getvalue().decode()


def golden(name: str) -> Path:
    """Where a log's listing is kept."""
    return FOLDER / f"{name.split('-', maxsplit=1)[0]}_{Path(name).stem}.thl"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, size in CASES.items():
        golden(name).write_text(listing(TESTDATA / name, size), "utf-8")
