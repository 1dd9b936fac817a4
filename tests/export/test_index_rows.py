"""The transaction index as Parquet without Arrow is what it is with Arrow."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.export.file_columns import with_statistics
from binx.export.index_rows import INDEX_COLUMNS, INDEX_STATISTICS, gather, index_group
from binx.export.parquet_format.arrow_schema import columns_of
from binx.export.parquet_format.file import ParquetFile
from binx.export.parquet_format.schema import FileSchema
from binx.kernels.index_columns import IndexColumns
from binx.kernels.scan import Level
from binx.log.file import BinlogFile
from binx.log.index import index_schema, index_table
from tests.conftest import TESTDATA

LOGS = sorted(path for path in TESTDATA.glob("*/shop/*-bin.0*") if path.suffix[1:].isdigit())


def test_its_columns_are_those_of_arrow() -> None:
    schema = index_schema(dictionaries=True)
    assert list(INDEX_COLUMNS) == columns_of(schema)
    assert list(INDEX_STATISTICS) == with_statistics(schema)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: "/".join(path.parts[-3:]))
def test_its_rows_are_those_of_arrow(path: Path) -> None:
    stream = io.BytesIO()
    with BinlogFile.open(str(path)) as file:
        written = ParquetFile(stream, FileSchema(INDEX_COLUMNS), statistics=INDEX_STATISTICS)
        scan = file.scan(Level.LEVEL_TABLES)
        gathered, seqno = IndexColumns(), 5
        for table in scan:
            gather(gathered, file, table, epoch=3, first_seqno=seqno)
            written.write_rows(*index_group(file, scan, gathered))
            seqno += len(table)
        written.close({})
        expected = index_table(file, file.scan(Level.LEVEL_TABLES), epoch=3, first_seqno=5)
    found = pq.read_table(io.BytesIO(stream.getvalue()))
    assert found.to_pylist() == expected.to_pylist()
    assert found.drop_columns("tables").schema == expected.drop_columns("tables").schema
    assert pa.types.is_list(found.schema.field("tables").type)
