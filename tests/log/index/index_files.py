"""Logs with index files, made in a folder of the test."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from binx.errors import BinxError
from binx.kernels.transactions.table import TransactionTable
from binx.log.binlog_file import BinlogFile, TransactionScan
from binx.log.chain.inputs import open_logs
from binx.log.index.index_file import IndexFile
from binx.log.index.lookup import IndexUse, index_path
from binx.log.index.transactions import index_batch, index_schema
from binx.log.index.writer import write_index
from tests.conftest import TESTDATA
from tests.log.searching import Bytes

SMALL = sorted(
    path
    for server in ("mysql-9.7", "mariadb-10.11")
    for path in (TESTDATA / server / "small").glob("*.binlog")
)
IN_USE = [TESTDATA / server / "in-use" / "mysql-bin.000001" for server in ("mysql-9.7", "mariadb-10.11")]
SHOPS = [
    path
    for server in ("mysql-9.7", "mariadb-10.11")
    for path in sorted((TESTDATA / server / "shop").glob("mysql-bin.0*"))
]
EVERY = [*SMALL, *IN_USE, *SHOPS]


def name_of(path: Path) -> str:
    return "/".join(path.parts[-3:])


def indexed(log: Path, folder: Path) -> Path:
    """A copy of a log with its index file beside it; the copy's path."""
    copy = Path(shutil.copy(log, folder / log.name))
    with BinlogFile.open(str(copy)) as file:
        write_index(file, index_path(file))
    return copy


@contextmanager
def opened(log: Path) -> Iterator[BinlogFile]:
    """A log with its index in use, which must be true of it."""
    warnings: list[BinxError] = []
    with open_logs([str(log)], IndexUse(warn=warnings.append)) as (file,):
        assert file.index is not None
        assert not warnings
        yield file


def index_of(log: Path) -> Path:
    """Where the index file of a log is."""
    return log.with_name(f"{log.name}.binx")


def is_true(data: bytes, file: BinlogFile) -> bool:
    """Whether the bytes of an index file are taken for true, read whole."""
    try:
        index = IndexFile(Bytes(data), file)
        index.check()
        for _ in index:
            pass
    except BinxError:
        return False
    return True


def index_table(
    file: BinlogFile,
    scan: TransactionScan,
    tables: Iterable[TransactionTable] | None = None,
    *,
    epoch: int = 0,
    first_seqno: int = 0,
) -> pa.Table:
    """All transactions of a scan as Arrow, or those of the tables that it gave."""
    batches = []
    seqno = first_seqno
    for table in scan if tables is None else tables:
        batches.append(index_batch(file, scan, table, epoch=epoch, first_seqno=seqno))
        seqno += len(table)
    return pa.Table.from_batches(batches, schema=index_schema())
